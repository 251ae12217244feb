"""The store that several clouds share: PostgreSQL, from 15 on (ADR 37)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.rows import no_result
from psycopg_pool import ConnectionPool, PoolTimeout

from shared.errors import DiskFull, SettingsError, StoreAway, StoreError
from shared.sqlite import migrations_of

SCHEMA = "dgrag"  # all tables stand in it: a database may hold other things
WRITERS = 0x6467726167  # key of the advisory lock that the one writer of all clouds holds ("dgrag")
READERS = 8  # connections of one cloud, beside its writer's
CONNECT_S = 2.0  # longest wait for a connection before a request is told to come again
STATEMENT_MS = 30_000  # longest run of one statement; a writer waits as long for its turn
OPTIONS = (
    f"-c search_path={SCHEMA} -c statement_timeout={STATEMENT_MS} -c lock_timeout={STATEMENT_MS}"
    f" -c idle_in_transaction_session_timeout={STATEMENT_MS} -c synchronous_commit=on"
)


class NamedRow(tuple[Any, ...]):
    """A row whose values are found by place and by the column's name.

    >>> row = NamedRow.of(("edge", "version"))(("ward", 7))
    >>> row["version"], row[0], list(row)
    (7, 'ward', ['ward', 7])
    """

    _places: dict[str, int]

    @staticmethod
    def of(names: Sequence[str]) -> Callable[[Sequence[Any]], NamedRow]:
        """What makes rows with these columns."""
        places = {name: place for place, name in enumerate(names)}

        def made(values: Sequence[Any]) -> NamedRow:
            row = NamedRow(values)
            row._places = places
            return row

        return made

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._places[key] if isinstance(key, str) else key)


def named_rows(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], NamedRow]:
    """Psycopg's way to be told how rows are made."""
    return no_result if cursor.description is None else NamedRow.of([column.name for column in cursor.description])


@lru_cache(maxsize=512)
def translated(sql: str) -> str:
    """Our SQL with psycopg's placeholders.

    >>> translated("SELECT edge FROM edges WHERE edge = ? AND epoch != ''")
    "SELECT edge FROM edges WHERE edge = %s AND epoch != ''"
    """
    return sql.replace("%", "%%").replace("?", "%s")


@contextmanager
def told() -> Iterator[None]:
    """Psycopg's errors as ours. One that only a mistake of ours causes stays as it is."""
    try:
        yield
    except psycopg.errors.DiskFull as error:
        raise DiskFull("PostgreSQL") from error
    except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
        raise StoreAway(" ".join(str(error).split())[:200]) from error


class Writer:
    """A transaction that is open. ``PostgresDatabase`` documents the errors."""

    def __init__(self, connection: psycopg.Connection[NamedRow]) -> None:
        self._connection = connection

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> psycopg.Cursor[NamedRow]:
        """One statement, in the SQL that both stores read."""
        return self._connection.execute(translated(sql), arguments)

    def executemany(self, sql: str, arguments: Iterable[Sequence[Any]], /) -> None:
        """One statement for each row of values, sent together."""
        with self._connection.cursor() as cursor:
            cursor.executemany(translated(sql), list(arguments))


class PostgresDatabase:
    """A pool of connections; implements ``database.port.Database``.

    Each method raises StoreAway when PostgreSQL cannot be reached or ends what it was doing, and DiskFull; the pool connects
    again by itself. Raises SettingsError for a URL that is none, and StoreError for a store of a newer release.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._writing = threading.RLock()  # one writer a cloud: else all of the pool might wait for the one lock
        try:
            psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            raise SettingsError("DGRAG_CLOUD_DATABASE_URL is not of the form postgresql://user:password@host/database") from error
        self._pool: ConnectionPool[psycopg.Connection[NamedRow]] = ConnectionPool(
            url,
            kwargs={
                "autocommit": True,
                "row_factory": named_rows,
                "options": OPTIONS,
                "connect_timeout": int(CONNECT_S),
                "tcp_user_timeout": STATEMENT_MS,
            },
            min_size=1,
            max_size=READERS + 1,
            timeout=CONNECT_S,
            check=ConnectionPool.check_connection,
            open=False,
        )
        with told():
            self._pool.open()
        self._migrate()

    @contextmanager
    def write(self) -> Iterator[Writer]:
        """One transaction, alone among all clouds; committed and on disk when the block ends, rolled back when it raises."""
        with self.join() as writer:
            writer.execute("SELECT pg_advisory_xact_lock(?)", (WRITERS,))
            yield writer

    @contextmanager
    def join(self) -> Iterator[Writer]:
        """As ``write``, but others may write meanwhile."""
        with self._writing, told(), self._pool.connection() as connection, connection.transaction():
            yield Writer(connection)

    def rows(self, sql: str, arguments: Sequence[Any] = ()) -> list[NamedRow]:
        """All rows of a query, from the last commit."""
        with told(), self._pool.connection() as connection:
            return connection.execute(translated(sql), arguments).fetchall()

    def row(self, sql: str, arguments: Sequence[Any] = ()) -> NamedRow | None:
        """The first row of a query, or None."""
        with told(), self._pool.connection() as connection:
            return connection.execute(translated(sql), arguments).fetchone()

    def size(self) -> int:
        """Bytes of the schema's tables and indexes."""
        found = self.row(
            "SELECT coalesce(sum(pg_total_relation_size(relid)), 0) AS bytes FROM pg_stat_user_tables WHERE schemaname = ?", (SCHEMA,)
        )
        return int(found["bytes"]) if found else 0

    def erase(self) -> bool:
        """Let PostgreSQL use the room of what was deleted again. Its log and its backups are the operator's to keep short."""
        with told(), self._pool.connection() as connection:
            connection.execute("VACUUM summaries, memories")
        return True

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _migrate(self) -> None:
        """Run what is missing; one cloud of several does it, the others wait. Raises StoreError for a store of a newer release."""
        migrations = migrations_of("cloud_server.database", "migrations/postgres")
        with self.write() as tx:
            tx.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            tx.execute("CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY)")
            row = tx.execute("SELECT coalesce(max(version), 0) AS version FROM migrations").fetchone()
            found = int(row["version"]) if row else 0
            if found > len(migrations):
                step = "install the newer release again"
                raise StoreError(f"the PostgreSQL store has schema {found}, this release reads up to {len(migrations)}", next_step=step)
            for version in range(found + 1, len(migrations) + 1):
                tx.execute(migrations[version - 1])
                tx.execute("INSERT INTO migrations VALUES (?)", (version,))
