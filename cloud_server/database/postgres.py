"""The store that several clouds share: PostgreSQL, from 15 on (ADR 37)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors as said
from psycopg.rows import no_result
from psycopg_pool import ConnectionPool

from shared.errors import DiskFull, SettingsError, StoreAway, StoreDamaged, StoreError, Unstorable
from shared.sqlite import migrations_of

SCHEMA = "dgrag"  # all tables stand in it: a database may hold other things
WRITERS = 0x6467726167  # key of the advisory lock that the one writer of all clouds holds ("dgrag")
ERASERS = WRITERS + 1  # the same for whoever erases
VACUUM = f"VACUUM {SCHEMA}.summaries, {SCHEMA}.memories"
IDLE_MS = 10_000  # then a transaction whose cloud has vanished ends, and others may write
READERS = 8  # connections of one cloud, beside its writer's
CONNECT_S = 2.0  # longest wait for a connection before a request is told to come again
RECONNECT_S = 5.0  # then a connection is given up, and the next request tries: else the pool would wait ever longer between two tries
STATEMENT_MS = 30_000  # longest run of one statement; a writer waits as long for its turn
URL = "DGRAG_CLOUD_DATABASE_URL"
SESSION = {  # what holds for each of our statements
    "search_path": SCHEMA,
    "statement_timeout": STATEMENT_MS,
    "lock_timeout": STATEMENT_MS,
    "idle_in_transaction_session_timeout": IDLE_MS,
    "synchronous_commit": "on",
}
PROCESS = "SELECT pg_backend_pid()"
OPTIONS = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
LOCALLY = "; ".join(f"SET LOCAL {name} = '{value}'" for name, value in SESSION.items())

log = logging.getLogger("dgrag.cloud.postgres")


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


def check_url(url: str, *, setting: str) -> None:
    """Raises SettingsError for what is no URL, without its password."""
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        message = f"{setting} is not of the form postgresql://user:password@host/database"
        raise SettingsError(message, next_step=f"check {setting}") from error


def is_pooled(url: str) -> bool:
    """Whether a pooler such as PgBouncer answers at ``url``. Raises as psycopg.

    PostgreSQL announces at the start of a connection which of its processes works for it; a pooler
    announces a number of its own, and may give each transaction to another process.
    """
    with psycopg.connect(url, autocommit=True, prepare_threshold=None, connect_timeout=int(CONNECT_S)) as connection:
        row = connection.execute(PROCESS).fetchone()
        return row is None or row[0] != connection.info.backend_pid


def connection_options(*, pooled: bool) -> dict[str, Any]:
    """What each connection begins with.

    Behind a pooler nothing lasts longer than a transaction: no start options, which poolers refuse,
    and no prepared statements. ``transaction_start`` stands in for the options there.
    """
    own: dict[str, Any] = {"prepare_threshold": None} if pooled else {"options": OPTIONS}
    return {
        "autocommit": True,
        "connect_timeout": int(CONNECT_S),
        "tcp_user_timeout": STATEMENT_MS,
        **own,
    }


def transaction_start(*, pooled: bool) -> str:
    """The statements at the start of each transaction; "": none."""
    return LOCALLY if pooled else ""


@lru_cache(maxsize=512)
def translated(sql: str) -> str:
    """Our SQL with psycopg's placeholders.

    >>> translated("SELECT edge FROM edges WHERE edge = ? AND epoch != ''")
    "SELECT edge FROM edges WHERE edge = %s AND epoch != ''"
    """
    return sql.replace("%", "%%").replace("?", "%s")


@contextmanager
def told() -> Iterator[None]:
    """Psycopg's errors as ours; why it is away goes into the log, for a stranger may ask. What only a mistake of ours causes stays."""
    try:
        yield
    except said.DiskFull as error:
        raise DiskFull("PostgreSQL") from error
    except (said.DataCorrupted, said.IndexCorrupted) as error:
        log.critical("PostgreSQL: %s", one_line(error))
        raise StoreDamaged("the store in PostgreSQL is damaged; its log tells more") from error
    except AWAY as error:
        log.warning("PostgreSQL: %s", one_line(error))
        raise StoreAway from error


AWAY = (  # cannot be reached, is starting, ends or cancels what is under way, or is a stand-by that takes no writes
    psycopg.OperationalError,
    psycopg.InterfaceError,
    said.ReadOnlySqlTransaction,
    said.IdleInTransactionSessionTimeout,
)


def one_line(error: psycopg.Error) -> str:
    """What PostgreSQL or its library says, in short; it names hosts and users, and no passwords."""
    return " ".join(str(error).split())[:200]


@contextmanager
def storable() -> Iterator[None]:
    """Around the values of a statement. Raises Unstorable for a text that PostgreSQL takes nowhere."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise Unstorable from error
    except psycopg.DataError as error:
        if "NUL" in str(error):
            raise Unstorable from error
        raise


class Writer:
    """A transaction that is open. ``PostgresDatabase`` documents the errors."""

    def __init__(self, connection: psycopg.Connection[NamedRow]) -> None:
        self._connection = connection

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> psycopg.Cursor[NamedRow]:
        """One statement, in the SQL that both stores read."""
        with storable():
            return self._connection.execute(translated(sql), arguments)

    def executemany(self, sql: str, arguments: Iterable[Sequence[Any]], /) -> None:
        """One statement for each row of values, sent together."""
        with storable(), self._connection.cursor() as cursor:
            cursor.executemany(translated(sql), list(arguments))


class PostgresDatabase:
    """A pool of connections; implements ``database.port.Database``.

    ``name``: what PostgreSQL shows of who is connected. Each method raises StoreAway when PostgreSQL cannot be reached or ends what
    it was doing, DiskFull, and Unstorable for a text with a NUL; the pool connects again by itself. Raises SettingsError for a URL
    that is none or a user who may not, and StoreError for a store of a newer release.
    """

    def __init__(self, url: str, *, name: str = "") -> None:
        self.url = url
        self._writing = threading.RLock()  # one writer a cloud: else all of the pool might wait for the one lock
        check_url(url, setting=URL)
        with connecting():
            self.is_pooled = is_pooled(url)
        kwargs = connection_options(pooled=self.is_pooled)
        kwargs |= {"row_factory": named_rows, "application_name": f"dgrag {name}".strip()}
        self._start = transaction_start(pooled=self.is_pooled)
        migrate(url, kwargs, start=self._start)
        self._pool: ConnectionPool[psycopg.Connection[NamedRow]] = ConnectionPool(
            url,
            kwargs=kwargs,
            min_size=1,
            max_size=READERS + 1,
            timeout=CONNECT_S,
            reconnect_timeout=RECONNECT_S,
            check=ConnectionPool.check_connection,
            open=False,
        )
        self._pool.open()

    @contextmanager
    def write(self) -> Iterator[Writer]:
        """One transaction, alone among all clouds; committed and on disk when the block ends, rolled back when it raises."""
        with self._turn(), self.join() as writer:
            writer.execute("SELECT pg_advisory_xact_lock(?)", (WRITERS,))
            yield writer

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._writing.acquire(timeout=STATEMENT_MS / 1000):
            log.warning("PostgreSQL: another write of this cloud has not ended in %d s", STATEMENT_MS // 1000)
            raise StoreAway
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def join(self) -> Iterator[Writer]:
        """As ``write``, but others may write meanwhile."""
        with told(), self._transaction() as connection:
            yield Writer(connection)

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection[NamedRow]]:
        with self._pool.connection() as connection, connection.transaction():
            if self._start:
                connection.execute(self._start)
            yield connection

    @contextmanager
    def _statement(self) -> Iterator[psycopg.Connection[NamedRow]]:
        """For one statement: behind a pooler a transaction, which carries the settings."""
        if self.is_pooled:
            with self._transaction() as connection:
                yield connection
        else:
            with self._pool.connection() as connection:
                yield connection

    def rows(self, sql: str, arguments: Sequence[Any] = ()) -> list[NamedRow]:
        """All rows of a query, from the last commit."""
        with told(), storable(), self._statement() as connection:
            return connection.execute(translated(sql), arguments).fetchall()

    def row(self, sql: str, arguments: Sequence[Any] = ()) -> NamedRow | None:
        """The first row of a query, or None."""
        with told(), storable(), self._statement() as connection:
            return connection.execute(translated(sql), arguments).fetchone()

    def size(self) -> int:
        """Bytes of the schema's tables and indexes."""
        found = self.row(
            "SELECT coalesce(sum(pg_total_relation_size(relid)), 0) AS bytes FROM pg_stat_user_tables WHERE schemaname = ?", (SCHEMA,)
        )
        return int(found["bytes"]) if found else 0

    def erase(self) -> bool:
        """Let PostgreSQL use the room of what was deleted again; False while another cloud is at it: its lock ends with its transaction.

        The log of PostgreSQL and its backups are the operator's to keep short.
        """
        with told(), self._transaction() as holder:
            turn = holder.execute("SELECT pg_try_advisory_xact_lock(%s)", (ERASERS,)).fetchone()
            if turn is None or not turn[0]:
                return False
            holder.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # it waits while the other connection works
            self._vacuum()
        return True

    def _vacuum(self) -> None:
        """No transaction may hold it; a large table takes longer than any request may."""
        with self._pool.connection() as connection:
            if self.is_pooled:  # PostgreSQL's own limit counts there, and is none by default
                connection.execute(VACUUM)
                return
            connection.execute("SET statement_timeout = 0")
            try:
                connection.execute(VACUUM)
            finally:
                connection.execute("RESET statement_timeout")

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


@contextmanager
def connecting() -> Iterator[None]:
    """Around what is done at the start. Raises StoreAway with the reason: who starts a cloud may know it."""
    try:
        yield
    except AWAY as error:
        raise StoreAway(one_line(error)) from error


def migrate(url: str, kwargs: Mapping[str, Any], *, start: str) -> None:
    """Run what is missing; one cloud of several does it, the others wait. ``start``: of the transaction.

    Raises StoreAway with the reason, SettingsError for a user who may not, and StoreError for a store of a newer release.
    """
    migrations = migrations_of("cloud_server.database", "migrations/postgres")
    try:
        with connecting(), psycopg.connect(url, **kwargs) as connection, connection.transaction():
            if start:
                connection.execute(start)
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (WRITERS,))
            if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (SCHEMA,)).fetchone() is None:
                connection.execute(f"CREATE SCHEMA {SCHEMA}")
            connection.execute("CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY)")
            row = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
            found = int(row[0]) if row else 0
            if found > len(migrations):
                step = "install the newer release again"
                raise StoreError(f"the PostgreSQL store has schema {found}, this release reads up to {len(migrations)}", next_step=step)
            for version in range(found + 1, len(migrations) + 1):
                connection.execute(migrations[version - 1])
                connection.execute("INSERT INTO migrations VALUES (%s)", (version,))
    except said.InsufficientPrivilege as error:
        step = f"let it make the schema {SCHEMA}: GRANT CREATE ON DATABASE …, or make it this user's own"
        raise SettingsError(f"the user of {URL} may not: {one_line(error)}", next_step=step) from error
