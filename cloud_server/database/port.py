"""What the cloud asks of its store, whichever it is (ADR 37)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable


class Row(Protocol):
    """One row; its values by place and by the column's name."""

    def __getitem__(self, key: Any, /) -> Any:
        """By place or name."""

    def __iter__(self) -> Iterator[Any]:
        """All values, in the order of the query."""


class Result(Protocol):
    """What a statement has done or found."""

    @property
    def rowcount(self) -> int:
        """Rows that were written."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """The rows that are left."""


class Transaction(Protocol):
    """Statements that are stored together or not at all.

    The SQL is what both engines read alike: ``?`` for each value, ``ON CONFLICT`` in the place of ``INSERT OR …``, no ``LIMIT -1``,
    no sum of truth values, ``rowid`` only where the schema of PostgreSQL has a column of that name.
    """

    def execute(self, sql: str, arguments: Sequence[Any] = (), /) -> Result:
        """One statement."""

    def executemany(self, sql: str, arguments: Iterable[Sequence[Any]], /) -> object:
        """One statement for each row of values."""


class Database(Protocol):
    """A store. Every method raises StoreError: DiskFull, DiskFailed, StoreDamaged, StoreAway for what they say."""

    def write(self) -> AbstractContextManager[Transaction]:
        """One transaction: committed and on disk when the block ends, rolled back when it raises. Nobody else writes meanwhile."""

    def rows(self, sql: str, arguments: Sequence[Any] = ()) -> Sequence[Row]:
        """All rows of a query, from the last commit."""

    def row(self, sql: str, arguments: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""

    def size(self) -> int:
        """Bytes of the store."""

    def erase(self) -> bool:
        """Leave nothing of what was deleted where the store can do so; False: try again later."""

    def close(self) -> None:
        """Wait for what is under way, then close all connections."""


@runtime_checkable
class SharedDatabase(Database, Protocol):
    """A store that several clouds have open at once."""

    url: str  # with its password: not for any log
    is_pooled: bool  # a pooler stands between: nothing lasts in a session, and no notice arrives

    def join(self) -> AbstractContextManager[Transaction]:
        """As ``write``, but others may write meanwhile."""
