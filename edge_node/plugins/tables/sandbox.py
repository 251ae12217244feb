"""Runs a query that a model wrote, over a few tables in memory, from which it can only read."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass

from edge_node.plugins.tables.cells import Value

MOST_ROWS = 51  # of a result; one more than any answer shows
STEPS = 10_000  # of SQLite's machine between two looks at the clock
MOST_BYTES = 1_000_000  # of a text that a query makes
ALLOWED = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
FORBIDDEN_FUNCTIONS = frozenset(
    {"load_extension", "randomblob", "zeroblob", "fts3_tokenizer", "writefile", "readfile", "edit"}
)


class QueryError(Exception):
    """A query that cannot be run, in SQLite's words."""


@dataclass(frozen=True, slots=True)
class SqlTable:
    """A table as SQL knows it; ``columns``: name and type.

    ``first_id`` is the rowid of the first of its rows.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Value, ...], ...]
    first_id: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a query gave, at most ``MOST_ROWS`` rows, and which columns of which tables it read."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    read: frozenset[tuple[str, str]]


class Sandbox:
    """To be used in one thread, and closed. ``seconds``: that each query may take."""

    def __init__(self, tables: Sequence[SqlTable], *, seconds: float) -> None:
        self._seconds = seconds
        self._read = set[tuple[str, str]]()
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 20_000)
        for table in tables:
            columns = ", ".join(f'"{name}" {kind}' for name, kind in table.columns)
            marks = ", ".join("?" * (len(table.columns) + 1))
            names = ", ".join(f'"{name}"' for name, _ in table.columns)
            self._connection.execute(f'CREATE TABLE "{table.name}" ({columns})')
            rows = ((table.first_id + at, *row) for at, row in enumerate(table.rows))
            self._connection.executemany(
                f'INSERT INTO "{table.name}" (rowid, {names}) VALUES ({marks})', rows
            )
        self._connection.set_authorizer(self._authorise)

    def run(self, query: str, *, most: int = MOST_ROWS) -> Result:
        """The first rows of one statement's result. Raises QueryError."""
        self._read.clear()
        until = time.monotonic() + self._seconds
        self._connection.set_progress_handler(lambda: time.monotonic() > until, STEPS)
        try:
            cursor = self._connection.execute(query)
            rows = tuple(tuple(row) for row in cursor.fetchmany(most))
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            raise QueryError(str(error)) from error
        names = tuple(str(column[0]) for column in cursor.description or ())
        return Result(names, rows, frozenset(self._read))

    def close(self) -> None:
        """Forget the tables."""
        self._connection.close()

    def _authorise(
        self,
        action: int,
        one: str | None,
        two: str | None,
        _database: str | None,
        _trigger: str | None,
    ) -> int:
        if action not in ALLOWED or (
            action == sqlite3.SQLITE_FUNCTION and (two or "").casefold() in FORBIDDEN_FUNCTIONS
        ):
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ:
            if (one or "").startswith("sqlite_"):
                return sqlite3.SQLITE_DENY
            self._read.add((one or "", two or ""))
        return sqlite3.SQLITE_OK
