"""What people said of answers, on disk: by what is asked and answered, so that it outlives every document; no word of that is here."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import replace

from edge_node.memory.records import Memory, Rating, said_key
from edge_node.store.database import Database
from shared.checksum import crc

KEYED_WITH = "ratings_secret"  # key in meta: a secret, made by migration 8; only this store and its backups have it
UNRATED = Rating()
# of bytes, for a damaged key may be no text any more
SOUND = "SELECT said_key, good, bad, barred FROM ratings WHERE crc(CAST(said_key AS BLOB), good, bad, barred) = crc"


class Ratings:
    """Table ratings: of a question with its answer, whichever memory says so; it is there after the memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._secret = database.meta(KEYED_WITH).encode()

    def key_of(self, memory: Memory) -> str:
        """The key of what a memory asks and answers."""
        return said_key(self._secret, memory.question, memory.answer)

    def all(self) -> dict[str, Rating]:
        """All of them, by key. Damaged ones are left out."""
        return {row["said_key"]: _rating(row) for row in self._database.stream(SOUND)}

    def rate(self, memories: Iterable[Memory], *, right: bool) -> None:
        """Note that somebody found what these ask and answer right, or wrong; once where several say the same."""
        self._change(memories, lambda known: replace(known, good=known.good + right, bad=known.bad + (not right)))

    def bar(self, memories: Iterable[Memory]) -> None:
        """Let what these ask and answer be answered no more, for good."""
        self._change(memories, lambda known: replace(known, barred=True))

    def _change(self, memories: Iterable[Memory], changed: Callable[[Rating], Rating]) -> None:
        with self._database.write() as tx:
            for key in sorted(set(map(self.key_of, memories))):
                known = {row["said_key"]: _rating(row) for row in tx.execute(f"{SOUND} AND said_key = ?", (key,))}
                rating = changed(known.get(key, UNRATED))
                fields = (key, rating.good, rating.bad, int(rating.barred))
                tx.execute("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?)", (*fields, crc(*fields)))


def _rating(row: sqlite3.Row) -> Rating:
    return Rating(row["good"], row["bad"], bool(row["barred"]))
