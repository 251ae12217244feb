"""A store is set back to what it was, while clouds have it open."""

import sqlite3
from contextlib import closing, contextmanager


@contextmanager
def backup(database, postgres=None, *, file=None):
    """Taken at once; yields what restores it. ``postgres``: the server of a shared store; ``file``: that of one cloud's."""
    if not postgres:
        with closing(sqlite3.connect(":memory:")) as copy, closing(sqlite3.connect(file)) as store:
            store.backup(copy)
            yield lambda: copy.backup(store)
        return
    name = database.row("SELECT current_database()")[0]
    alone = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    postgres.run(alone, f"CREATE DATABASE {name}_copy TEMPLATE {name}")
    yield lambda: postgres.run(alone, f"ALTER DATABASE {name} RENAME TO {name}_lost", f"ALTER DATABASE {name}_copy RENAME TO {name}")
