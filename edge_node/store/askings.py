"""What a model was asked to write memories of, and which of that still stands: a row of meta for each hyperedge."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass

from edge_node.store.database import Database
from edge_node.store.mentions import KEYS

log = logging.getLogger("dgrag.edge.store")
ASKED_OF = "asked_of_"  # and the name of a hyperedge: key in meta
_PRESENT = f"SELECT memory_id FROM memories WHERE memory_id IN {KEYS} UNION ALL SELECT chunk_id FROM chunks WHERE chunk_id IN {KEYS}"


@dataclass(frozen=True, slots=True)
class Standing:
    """Of all askings: the tokens that what is left of them took, and the names of the hyperedges of which nothing has gone since."""

    tokens: int
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Asking:
    """Tokens that a model wrote, an equal share for each of ``parts``."""

    tokens: int
    parts: frozenset[str]

    def left(self, there: Collection[str]) -> int:
        """Tokens of those of the parts that are there, rounded up."""
        return -(-self.tokens * len(self.parts.intersection(there)) // len(self.parts)) if self.parts else 0


class AskingStore:
    """Askings stand for their parts: the memories that came of one or, where none did, the chunks that were read.

    So what a deletion takes along, or anything else, is asked about again without anybody having to say so, and its tokens are free again.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, name: str, tokens: int, parts: Collection[str]) -> None:
        """A model wrote ``tokens`` about a hyperedge. What is left of an earlier asking about the same one goes on counting."""
        with self._database.write() as tx:
            row = tx.execute("SELECT value FROM meta WHERE key = ?", (ASKED_OF + name,)).fetchone()
            former = _read(row["value"]) if row else _Asking(0, frozenset())
            left = _present(tx.execute(_PRESENT, _listed(former.parts)).fetchall()).difference(parts)
            told = json.dumps([tokens + former.left(left), sorted({*parts, *left})])
            tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (ASKED_OF + name, told))

    def standing(self) -> Standing:
        """What stands now; that of which nothing is left is forgotten, and so is what is damaged."""
        rows = {row["key"]: row["value"] for row in self._database.rows("SELECT key, value FROM meta WHERE key GLOB ?", (ASKED_OF + "*",))}
        askings = {key: _read(value) for key, value in rows.items()}
        parts = frozenset[str]().union(*(one.parts for one in askings.values()))
        there = _present(self._database.rows(_PRESENT, _listed(parts)))
        gone = [(key, rows[key]) for key, one in askings.items() if one.parts.isdisjoint(there)]
        if gone:
            with self._database.write() as tx:
                tx.executemany("DELETE FROM meta WHERE key = ? AND value = ?", gone)  # not one that was noted meanwhile
        names = (key.removeprefix(ASKED_OF) for key, one in askings.items() if one.parts and one.parts <= there)
        return Standing(sum(one.left(there) for one in askings.values()), frozenset(names))


def _listed(parts: Collection[str]) -> tuple[str, str]:
    return (json.dumps(list(parts)),) * 2


def _present(rows: Collection[sqlite3.Row]) -> frozenset[str]:
    return frozenset(row[0] for row in rows)


def _read(value: str) -> _Asking:
    """Nothing where it is damaged: what there is to ask is asked again, within the tokens that there are."""
    try:
        tokens, parts = json.loads(value)
        return _Asking(int(tokens), frozenset(map(str, parts)))
    except (TypeError, ValueError):
        log.error("a damaged note of what a model was asked is left out")
        return _Asking(0, frozenset())
