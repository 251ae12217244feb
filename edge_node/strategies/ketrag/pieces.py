"""Sub-chunks (KET-RAG §5.1, Alg. 3 l. 9)."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from edge_node.extraction.names import name_pairs_of, terms_of
from edge_node.strategies.ketrag.bipartite import ChunkTerms, SubChunk
from shared.ports import Tokenizer
from shared.records import Chunk
from shared.text.sentences import sentences
from shared.vectors import Ints

_WORD_START = re.compile(r"(?<=\s)\S")

Span = tuple[int, int]
Keywords = Literal["words", "names"]


def pieces_of(text: str, tau: int) -> list[tuple[int, int]]:
    """Spans [start, end) of 2**tau pieces of about equal length that cover the text, each but the first beginning with a word.

    Fewer where the text has too few words. Characters stand for the paper's tokens. tau >= 0.

    >>> pieces_of("a b c d", 1)
    [(0, 4), (4, 7)]
    """
    starts = [match.start() for match in _WORD_START.finditer(text)] if tau else []
    shares = [len(text) * part / 2**tau for part in range(1, 2**tau)]
    cuts = {_nearest(starts, share) for share in shares} if starts else set()
    return list(pairwise(sorted({0, *cuts, len(text)})))


def _nearest(starts: Sequence[int], place: float) -> int:
    """The member of the sorted ``starts`` next to a place, the lesser of two."""
    at = bisect(starts, place)
    return min(starts[max(at - 1, 0) : at + 1], key=lambda start: abs(start - place))


def pieces_naming(names: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """The pieces of one chunk, given as id -> text, that an element of the skeleton is linked to in the chunk's place (§5.1, last lines).

    Those that hold the most of its names, whatever the case: so all of them where none holds any.

    >>> pieces_naming(["Orrin Mill"], {"c.0": "The mill", "c.1": "of ORRIN MILL."})
    ['c.1']
    """
    held = {key: sum(name.casefold() in text.casefold() for name in names) for key, text in texts.items()}
    most = max(held.values(), default=0)
    return [key for key, count in held.items() if count == most]


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a chunk is cut: spans [start, end) of its pieces, and of those sentences that say something."""

    chunk: Chunk
    title: str
    pieces: tuple[Span, ...]
    sentences: tuple[Span, ...]

    def texts(self) -> list[str]:
        """What is embedded: the sentences, and the pieces where there are several."""
        spans = (*self.sentences, *(self.pieces if len(self.pieces) > 1 else ()))
        return [self.chunk.text[start:end] for start, end in spans]

    def piece_ids(self) -> list[str]:
        """A chunk's own id where it is one piece, or the id with each piece's number."""
        return [self.chunk.chunk_id] if len(self.pieces) == 1 else [f"{self.chunk.chunk_id}.{number}" for number in range(len(self.pieces))]


def cut_of(chunk: Chunk, title: str, *, splits: int) -> Cut:
    """Cut a chunk into at most 2^splits pieces, and into sentences.

    >>> from shared.records import ChunkId, DocumentId
    >>> cut = cut_of(Chunk(ChunkId("d:0"), DocumentId("d"), 0, "One pump. Two!", 0, 14, 5), "", splits=1)
    >>> cut.texts(), cut.piece_ids()
    (['One pump. ', 'Two!', 'One ', 'pump. Two!'], ['d:0.0', 'd:0.1'])
    """
    spans = tuple(span for span in sentences(chunk.text) if chunk.text[slice(*span)].strip())
    return Cut(chunk, title, tuple(pieces_of(chunk.text, splits)) if chunk.text else ((0, 0),), spans)


def keywords_of(text: str, keywords: Keywords) -> set[str]:
    """The keywords of a text: its words (§5.1); with ``names``, beyond the paper, pairs of words out of names too.

    >>> sorted(keywords_of("the pumps of Ward 3", "names"))
    ['3', 'pump', 'ward', 'ward 3']
    """
    return {*terms_of(text), *(name_pairs_of(text) if keywords == "names" else ())}


def terms_of_cut(cut: Cut, vectors: Ints, tokenizer: Tokenizer, keywords: Keywords) -> ChunkTerms:
    """What the bipartite graph holds of a chunk; ``vectors`` (m, d) of its sentences. A document's title counts in all of its pieces."""
    text, titled = cut.chunk.text, keywords_of(cut.title, keywords)
    sizes = [cut.chunk.tokens] if len(cut.pieces) == 1 else [tokenizer.count(text[start:end]) for start, end in cut.pieces]
    pieces = [
        SubChunk(piece_id, tokens, titled | keywords_of(text[start:end], keywords))
        for piece_id, tokens, (start, end) in zip(cut.piece_ids(), sizes, cut.pieces, strict=True)
    ]
    return ChunkTerms(cut.chunk.chunk_id, pieces, [keywords_of(text[start:end], keywords) for start, end in cut.sentences], vectors)
