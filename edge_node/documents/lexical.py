"""Chunks by their words: Okapi BM25 over an inverted index that grows and shrinks with the chunks (Robertson et al. 1994)."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from edge_node.extraction.names import terms_of
from edge_node.extraction.packs.words import stop_words
from shared.ports import FloatArray
from shared.records import DocumentId, document_of
from shared.text.language import READ, language_of_question
from shared.vectors import top_rows

K1, B = 1.2, 0.75  # saturation of a word's count, and weight of a text's length
MOST_GAPS = 0.25  # of the rows
COUNT_BITS = 8
MOST = 2**COUNT_BITS - 1  # a higher count of a word is taken for this: BM25 hardly tells them apart


@dataclass(frozen=True, slots=True)
class Matches:
    """BM25 of every chunk at one moment, 0 where no word is shared: row i of ``scores`` (n,) belongs to ``keys[i]``."""

    keys: Sequence[str]
    rows: Mapping[str, int]
    scores: FloatArray

    def top(self, k: int) -> list[tuple[str, float]]:
        """The k best (key, score) above 0, best first."""
        return [(self.keys[row], float(self.scores[row])) for row in top_rows(self.scores, k) if self.scores[row] > 0]

    def of(self, key: str) -> float:
        """The score of a chunk; 0 for one that came later or is gone."""
        row = self.rows.get(key, len(self.scores))
        return float(self.scores[row]) if row < len(self.scores) else 0.0


class LexicalIndex:
    """A cache of the store. Whatever was added and removed before, the scores are those of an index made of what is there.

    >>> index = LexicalIndex()
    >>> index.put([("d:0", "Novabell delivers insulin."), ("d:1", "Deliveries arrive by night.")])
    >>> [key for key, _ in index.matches("Who delivers insulin?").top(5)]
    ['d:0']
    """

    def __init__(self) -> None:
        self._postings: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))  # row and count of each chunk with the term, in one
        self._keys: list[str] = []
        self._rows: dict[str, int] = {}
        self._lengths = array("I")  # terms of each row; 0 for a gap
        self._of_document: defaultdict[DocumentId, list[int]] = defaultdict(list)
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, texts: Iterable[tuple[str, str]]) -> None:
        """Insert or replace (key, text)."""
        with self._lock:
            for key, text in texts:
                self._drop(key)
                self._add(key, text)
            self._close_gaps()

    def drop(self, keys: Iterable[str]) -> None:
        """Remove; unknown keys are ignored."""
        with self._lock:
            for key in keys:
                self._drop(key)
            self._close_gaps()

    def matches(self, question: str, withheld: Collection[str] = ()) -> Matches:
        """BM25 of all chunks for a question, as if the withheld documents were not there."""
        with self._lock:
            lengths = np.array(self._lengths, dtype=np.float32)
            lengths[self._withheld_rows(withheld)] = 0
            return Matches(self._keys, self._rows, self._scores(lengths, terms_of(question)))

    def unknown(self, question: str, withheld: Collection[str] = ()) -> float:
        """The share of a question's words that stand in no chunk, [0, 1], as if the withheld documents were not there.

        Only words of scripts with capitals count: those without write no blanks between words, so a phrase would pass for a word. Words
        without a meaning of their own in the question's language do not count. Outside English, where a verb has many forms, only words
        with a capital or a figure do.

        >>> index = LexicalIndex()
        >>> index.put([("d:0", "Novabell delivers insulin.")])
        >>> index.unknown("Who delivers insulin by helicopter?"), index.unknown("Who?")
        (0.3333333333333333, 0.0)
        >>> index.unknown("Wie viele Kisten Insulin liefert Novabell?"), index.unknown("Wann lieferte Novabell Insulin?")
        (0.3333333333333333, 0.0)
        """
        with self._lock:
            language = language_of_question(question)
            idle = terms_of(" ".join(stop_words(language)))
            said = (
                question
                if language == READ
                else " ".join(word for word in question.split() if any(letter.isupper() or letter.isdigit() for letter in word))
            )
            asked = [term for term in terms_of(said) if (term.upper() != term or term.isdigit()) and term not in idle]
            hidden = set(self._withheld_rows(withheld))
            known = sum(
                any(self._lengths[row] and row not in hidden for row in (number >> COUNT_BITS for number in self._postings[term]))
                for term in asked
                if term in self._postings
            )
            return (len(asked) - known) / len(asked) if asked else 0.0

    def _withheld_rows(self, withheld: Iterable[str]) -> list[int]:
        """The rows of these documents and single chunks."""
        chunks = [self._rows[key] for key in withheld if key in self._rows]
        return chunks + [row for key in withheld for row in self._of_document.get(DocumentId(key), ())]

    def _scores(self, lengths: FloatArray, asked: Iterable[str]) -> FloatArray:
        """(n,) BM25; ``lengths`` (n,) is 0 for rows that do not count."""
        scores = np.zeros(len(lengths), dtype=np.float32)
        there = lengths > 0
        n = int(there.sum())
        damping = K1 * (1 - B + B * lengths / (lengths.sum(dtype=np.float64) / max(n, 1) or 1.0)).astype(np.float32)
        for term in sorted(asked):  # in one order, so that the sums do not depend on what came first
            if term in self._postings:
                postings = np.array(self._postings[term], dtype=np.int64)
                postings = postings[there[postings >> COUNT_BITS]]
                rows, counts = postings >> COUNT_BITS, postings & MOST
                weight = np.log1p((n - len(rows) + 0.5) / (len(rows) + 0.5))
                scores[rows] += (weight * (K1 + 1) * counts / (counts + damping[rows])).astype(np.float32)
        return scores

    def _add(self, key: str, text: str) -> None:
        row = self._rows[key] = len(self._keys)
        counts = terms_of(text)
        self._keys.append(key)
        self._lengths.append(counts.total() or 1)  # 0 would be a gap
        self._of_document[document_of(key)].append(row)
        for term, count in counts.items():
            self._postings[term].append(row << COUNT_BITS | min(count, MOST))

    def _drop(self, key: str) -> None:
        row = self._rows.pop(key, None)
        if row is not None:
            self._lengths[row] = 0
            rows = self._of_document[document_of(key)]
            rows.remove(row)
            if not rows:
                del self._of_document[document_of(key)]

    def _close_gaps(self) -> None:
        """New lists, for who holds ``Matches`` still reads the old ones."""
        if len(self._keys) - len(self._rows) <= MOST_GAPS * len(self._keys):
            return
        kept = np.array(self._lengths, dtype=np.int64) > 0
        renumbered = np.cumsum(kept) - 1
        for term, postings in list(self._postings.items()):
            left = np.array(postings, dtype=np.int64)
            left = left[kept[left >> COUNT_BITS]]
            if len(left):
                self._postings[term] = array("Q", (renumbered[left >> COUNT_BITS] << COUNT_BITS | left & MOST).tobytes())
            else:
                del self._postings[term]
        self._keys = [key for key, is_kept in zip(self._keys, kept, strict=True) if is_kept]
        self._rows = {key: row for row, key in enumerate(self._keys)}
        self._lengths = array("I", [length for length in self._lengths if length])
        self._of_document = defaultdict(list)
        for key, row in self._rows.items():
            self._of_document[document_of(key)].append(row)
