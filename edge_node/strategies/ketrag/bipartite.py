"""The text-keyword bipartite graph (KET-RAG §5.1, Alg. 3 l. 9-15): terms, the pieces that hold them, and a vector for each term."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from shared.ports import FloatArray
from shared.vectors import MOST_SUMMED, Ints, to_ints

Weights = Literal["plain", "idf"]
Rows = NDArray[np.int64]
FIRST_LOOK = 256  # terms that are put in order before more are asked for
MARGIN = 1e-4  # float32 computes the cosine of two rows of a few hundred dimensions to 1e-5, in any order
TOGETHER = 500  # chunks whose sentences are summed at once

Number = TypeVar("Number", bound=np.generic)
FIRST_CAPACITY = 64  # rows


def grown(rows: NDArray[Number], n: int, fill: Any = 0) -> NDArray[Number]:
    """``rows`` itself where it has n rows, else a copy with room for them; new rows hold ``fill``.

    >>> grown(np.array([7]), 2).shape
    (64,)
    """
    if n <= len(rows):
        return rows
    larger = np.full((max(n, 2 * len(rows), FIRST_CAPACITY), *rows.shape[1:]), fill, dtype=rows.dtype)
    larger[: len(rows)] = rows
    return larger


@dataclass(frozen=True, slots=True)
class SubChunk:
    """A sub-chunk: its size and its distinct terms."""

    piece_id: str
    tokens: int
    terms: Collection[str]


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """One chunk: its pieces, and for each of its m sentences the distinct terms and a row of ``vectors`` (m, d), see ``to_ints``."""

    chunk_id: str
    pieces: Sequence[SubChunk]
    sentences: Sequence[Collection[str]]
    vectors: Ints


@dataclass(frozen=True, slots=True)
class _Held:
    """What must be taken back when a chunk goes: its pieces' rows, and which term row stands in which sentence."""

    pieces: tuple[int, ...]
    terms: NDArray[np.int32]
    sentences: NDArray[np.int32]
    vectors: Ints


class Bipartite:
    """Grows and shrinks with the chunks; whatever came and went before, it is equal to one made of what is there.

    Not safe among threads: who reads must keep writers out.

    >>> pump = ChunkTerms("c1", [SubChunk("c1", 4, {"pump"})], [{"pump"}], to_ints(np.array([[1.0, 0.0]], dtype=np.float32)))
    >>> graph = Bipartite(2)
    >>> graph.put([pump])
    >>> list(graph.nearest(np.array([0.6, 0.8], dtype=np.float32))), graph.pieces_with("pump")
    ([('pump', 0.6)], ['c1'])
    """

    def __init__(self, dimensions: int) -> None:
        self._sums: FloatArray = np.zeros((0, dimensions), dtype=np.float32)  # of the vectors of the sentences with a term: whole numbers
        self._counts: Rows = np.zeros(0, dtype=np.int64)  # of those sentences
        self._crowded: set[int] = set()  # term rows with more of them than a sum can hold exactly
        self._norms: NDArray[np.float64] = np.zeros(0)
        self._postings: list[array[int]] = []  # rows of the pieces that hold each term
        self._frequencies: Rows = np.zeros(0, dtype=np.int64)  # how many these are
        self._terms: list[str] = []
        self._term_rows: dict[str, int] = {}
        self._free_terms: list[int] = []
        self._pieces: list[str] = []
        self._tokens: list[int] = []
        self._held_terms: list[array[int]] = []  # term rows of each piece
        self._piece_rows: dict[str, int] = {}
        self._free_pieces: list[int] = []
        self._held: dict[str, _Held] = {}

    def __len__(self) -> int:
        """Number of pieces."""
        return len(self._piece_rows)

    def __contains__(self, piece_id: str) -> bool:
        """Whether a piece is there."""
        return piece_id in self._piece_rows

    def put(self, chunks: Iterable[ChunkTerms]) -> None:
        """Insert or replace. Raises ValueError where sentences and vectors do not match."""
        distinct = list({chunk.chunk_id: chunk for chunk in chunks}.values())
        for chunk in distinct:
            if chunk.vectors.shape != (len(chunk.sentences), self._sums.shape[1]):
                raise ValueError(f"{len(chunk.sentences)} sentences of a chunk with vectors of shape {chunk.vectors.shape}: index it again")
        self.drop(chunk.chunk_id for chunk in distinct)
        for start in range(0, len(distinct), TOGETHER):
            held = {chunk.chunk_id: self._hold(chunk) for chunk in distinct[start : start + TOGETHER]}
            self._held |= held
            self._renew_norms(self._sum(list(held.values()), 1.0))
            self._recount({term for one in held.values() for piece in one.pieces for term in self._held_terms[piece]})

    def drop(self, chunk_ids: Iterable[str]) -> None:
        """Remove; unknown ids are ignored."""
        known = [chunk_id for chunk_id in dict.fromkeys(chunk_ids) if chunk_id in self._held]
        for start in range(0, len(known), TOGETHER):
            self._take_back([self._held.pop(chunk_id) for chunk_id in known[start : start + TOGETHER]])

    def nearest(self, query: FloatArray, *, weights: Weights = "plain") -> Iterator[tuple[str, float]]:
        """Terms with their cosine to a unit vector (d,), best first, ties by name (Alg. 4 l. 2); with ``idf`` times how rare a term is.

        The vector of a term is the mean over the sentences that hold it (Alg. 3 l. 11). One that stands in no sentence or in more than
        4,096 has none. Terms are ordered as they are read; the graph must not change meanwhile.
        """
        asked = to_ints(query).astype(np.float64)
        n = len(self._terms)
        frequencies = self._frequencies[:n]
        weighed = self._norms[:n] * np.linalg.norm(asked)
        usable = (weighed > 0) & (self._counts[:n] <= MOST_SUMMED) & (frequencies > 0)
        if weights == "idf":
            weighed[usable] *= np.log1p(len(self)) / np.log1p(len(self) / frequencies[usable])
        rough = np.full(n, -np.inf, dtype=np.float32)
        np.divide(self._sums[:n] @ asked.astype(np.float32), weighed, out=rough, where=usable, casting="same_kind")
        there, look, done = int(usable.sum()), FIRST_LOOK, 0
        while done < there:
            bar = np.partition(rough, n - look)[n - look] - MARGIN if look < there else -np.inf
            rows = np.flatnonzero(usable & (rough >= bar - MARGIN))
            # in float64 these are whole numbers too, so a cosine does not depend on the row in which it was computed
            exact = np.round(self._sums[rows].astype(np.float64) @ asked / weighed[rows], 9)
            ordered = sorted((-score, self._terms[row]) for row, score in zip(rows, exact.tolist(), strict=True) if score >= bar)
            yield from ((term, -score) for score, term in ordered[done:])
            look, done = 4 * look, len(ordered)

    def pieces_with(self, term: str) -> list[str]:
        """The pieces that hold a term, in no order; none for an unknown one."""
        row = self._term_rows.get(term)
        return [] if row is None else [self._pieces[piece] for piece in self._postings[row]]

    def tokens_of(self, piece_id: str) -> int:
        """The size of a piece. Raises KeyError for an unknown one."""
        return self._tokens[self._piece_rows[piece_id]]

    def frequency(self, term: str) -> int:
        """How many pieces hold a term."""
        row = self._term_rows.get(term)
        return 0 if row is None else int(self._frequencies[row])

    def _hold(self, chunk: ChunkTerms) -> _Held:
        pieces = tuple(map(self._piece_row, chunk.pieces))
        pairs = [(self._term_row(term), at) for at, terms in enumerate(chunk.sentences) for term in terms]
        terms, sentences = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
        return _Held(pieces, terms, sentences, chunk.vectors)

    def _piece_row(self, piece: SubChunk) -> int:
        terms = array("I", [self._term_row(term) for term in set(piece.terms)])
        if self._free_pieces:
            row = self._free_pieces.pop()
            self._pieces[row], self._tokens[row], self._held_terms[row] = piece.piece_id, piece.tokens, terms
        else:
            row = len(self._pieces)
            self._pieces.append(piece.piece_id)
            self._tokens.append(piece.tokens)
            self._held_terms.append(terms)
        self._piece_rows[piece.piece_id] = row
        for term in terms:
            self._postings[term].append(row)
        return row

    def _term_row(self, term: str) -> int:
        row = self._term_rows.get(term)
        if row is not None:
            return row
        if self._free_terms:
            row = self._free_terms.pop()
            self._terms[row] = term
        else:
            row = len(self._terms)
            self._terms.append(term)
            self._postings.append(array("I"))
        self._term_rows[term] = row
        return row

    def _sum(self, held: Sequence[_Held], sign: float) -> Rows:
        """Add the sentences of some chunks to the vectors of their terms, or take them back; the rows of those terms."""
        n = len(self._terms)
        self._sums, self._counts, self._norms = grown(self._sums, n), grown(self._counts, n), grown(self._norms, n)
        self._frequencies = grown(self._frequencies, n)
        starts = np.cumsum([0, *(len(one.vectors) for one in held)])
        sentences = np.concatenate([one.sentences + start for one, start in zip(held, starts[:-1], strict=True)])
        vectors = np.concatenate([one.vectors for one in held]).astype(np.float32)
        touched, places = np.unique(np.concatenate([one.terms for one in held]).astype(np.int64), return_inverse=True)
        says = csr_array((np.full(len(places), sign, dtype=np.float32), (places, sentences)), shape=(len(touched), len(vectors)))
        self._sums[touched] += says @ vectors
        self._counts[touched] += int(sign) * np.bincount(places, minlength=len(touched))
        self._crowded.update(touched[self._counts[touched] > MOST_SUMMED].tolist())
        return touched

    def _renew_norms(self, touched: Rows) -> None:
        rows = self._sums[touched]
        self._norms[touched] = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))

    def _recount(self, terms: Collection[int]) -> None:
        self._frequencies[list(terms)] = [len(self._postings[term]) for term in terms]

    def _take_back(self, held: Sequence[_Held]) -> None:
        touched = self._sum(held, -1.0)
        for row in [row for row in self._crowded if self._counts[row] <= MOST_SUMMED]:
            self._crowded.remove(row)
            self._sums[row] = self._summed_anew(row)
        self._renew_norms(touched)
        pieces = [piece for one in held for piece in one.pieces]
        gone = np.zeros(len(self._pieces), dtype=np.bool_)
        gone[pieces] = True
        terms = {term for piece in pieces for term in self._held_terms[piece]}
        for term in terms:
            postings = np.frombuffer(self._postings[term], dtype=np.uintc)
            self._postings[term] = array("I", postings[~gone[postings]].tobytes())
        self._recount(terms)
        for piece in pieces:
            del self._piece_rows[self._pieces[piece]]
            self._pieces[piece], self._held_terms[piece] = "", array("I")
        self._free_pieces += pieces
        for term in terms.union(touched.tolist()):
            if not self._postings[term] and not self._counts[term]:
                del self._term_rows[self._terms[term]]
                self._terms[term] = ""
                self._free_terms.append(term)

    def _summed_anew(self, row: int) -> NDArray[np.int64]:
        """The sum for a term of whose sentences there were too many, out of those that are left."""
        parts = [one.vectors[one.sentences[one.terms == row]].sum(axis=0, dtype=np.int64) for one in self._held.values()]
        total: NDArray[np.int64] = np.sum([np.zeros(self._sums.shape[1], dtype=np.int64), *parts], axis=0)
        return total
