"""The words of the summaries, searchable: names that a question and a summary share mean little to an embedder."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from threading import Lock

from shared.records import EdgeId
from shared.text.sentences import WORD, content_words, names_in

MOST_WORDS, MOST_NAMES = 64, 16  # of a text that is looked up
LOOKED_AT, OF_ONE_EDGE = 1000, 50  # summaries: many of one edge push none of the others' out of sight (goal S10)


class LexicalIndex:
    """BM25 over summary texts: an FTS5 table in memory, filled from the store at each start, so that no file keeps a second copy.

    >>> index = LexicalIndex()
    >>> index.put(["bank/s1", "ward/s1"], ["Loans and gold", "Infusion pumps of Juniper Ward"])
    >>> [key for key, _ in index.top("Who repairs the pump of Juniper Ward?")]
    ['ward/s1']
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._database.execute("CREATE VIRTUAL TABLE said USING fts5(key UNINDEXED, text, tokenize='porter unicode61 remove_diacritics 2')")
        self._rows: dict[str, int] = {}
        self._lock = Lock()

    def put(self, keys: Sequence[str], texts: Sequence[str]) -> None:
        """Insert or replace; keys are those of ``matching.summary_key``."""
        self.drop(keys)
        with self._lock:
            for key, text in zip(keys, texts, strict=True):
                added = self._database.execute("INSERT INTO said (key, text) VALUES (?, ?)", (key, text)).lastrowid
                self._rows[key] = added or 0

    def drop(self, keys: Iterable[str]) -> None:
        """Remove; unknown keys are ignored."""
        with self._lock:
            gone = [(row,) for key in keys if (row := self._rows.pop(key, None)) is not None]
            self._database.executemany("DELETE FROM said WHERE rowid = ?", gone)

    def top(self, text: str, barred: Collection[EdgeId] = ()) -> list[tuple[str, float]]:
        """The LOOKED_AT best (key, BM25) that share a word with ``text``, best first, ties by age; of an edge OF_ONE_EDGE."""
        words = sorted(content_words(text), key=len, reverse=True)[:MOST_WORDS]
        return self._search(" OR ".join(f'"{word}"' for word in words), barred)

    def top_named(self, text: str, barred: Collection[EdgeId] = ()) -> list[list[tuple[str, float]]]:
        """For each name in ``text`` as ``top``, of the summaries that hold it word by word."""
        return [self._search('"' + " ".join(WORD.findall(name)) + '"', barred) for name in names_in(text)[:MOST_NAMES]]

    def _search(self, query: str, barred: Collection[EdgeId]) -> list[tuple[str, float]]:
        found: list[tuple[str, float]] = []
        taken: Counter[str] = Counter()
        if not query:
            return found
        sql = "SELECT key, -bm25(said) FROM said WHERE said MATCH ? ORDER BY bm25(said), rowid"
        with self._lock:
            for key, score in self._database.execute(sql, (query,)):
                edge = EdgeId(key.partition("/")[0])
                if edge in barred or taken[edge] == OF_ONE_EDGE:
                    continue
                taken[edge] += 1
                found.append((str(key), float(score)))
                if len(found) == LOOKED_AT:
                    break
        return found
