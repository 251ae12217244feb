"""Documents to chunks: windows of tokens that begin and end where sentences do (DGRAG §III-B ①)."""

from __future__ import annotations

import asyncio
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from operator import itemgetter

from edge_node.documents.readers.pool import Reads
from edge_node.records import Offered, Shortfall, Table
from shared.errors import UnreadableDocument
from shared.ports import Tokenizer
from shared.records import Chunk, ChunkId, Document, Mark

_BLOCK = re.compile(r".{1,65536}(?=\s|\Z)|.{1,65536}", re.DOTALL)  # tokenised at once: bounds memory, cuts at white space
_WORD = re.compile(r"\S+")
_LONGEST = 64  # characters of a piece that is not cut any further; also what one token can hide (an unknown word is one token)
_PARAGRAPH_GAP = re.compile(r"\n\s*\n")
_LINE_OF_ITS_OWN = re.compile(r"[-*+•|#]|\d{1,3}[.)]")
_ITEM_NUMBER = re.compile(r"\n[ \t]*\(?\d{1,3}[.)]\Z")
_CLOSING = "\"'”’»)]}*_"
_FULL_STOPS = (".", "!", "?", "…")
_WIDE_STOPS = ("。", "！", "？")
_ABBREVIATION = re.compile(
    r"\(?(?:[A-Z]|[A-Za-z](?:\.[A-Za-z])+|Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|No|Nos|Fig|Figs|Eq|vs|cf|Vol|pp|ca|approx|Gen|Col|Capt|Lt|Sen|Rep|Gov|Rev)\."
)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """A document's words, over-long ones cut at token starts; row k is ``[starts[k], ends[k])``.

    Arrays: to look through, or to free, millions of objects holds the interpreter's lock.
    """

    starts: array[int]
    ends: array[int]
    before: array[int]  # tokens before piece k; one entry more than pieces


def split(document: Document, tokenizer: Tokenizer, *, size: int = 200, overlap: int = 30) -> list[Chunk]:
    """Return the document's chunks in order: at most ``size`` tokens each, consecutive ones sharing about ``overlap``.

    A window ends after the last sentence, paragraph or list item that ends in its final quarter, else after a word; never
    right after a ``#`` heading, which belongs to what follows, if there is another place. The next window begins at the
    sentence, item or heading whose start lies nearest to ``overlap`` tokens before that end (at most twice as many), else at
    a word, so a chunk seldom begins in the middle of a sentence. Every non-blank character is in a chunk;
    ``text == document.text[start:end]``. A word that the tokenizer skips counts as a token, as does each 64 characters of
    one token, so ``Chunk.tokens`` is never less than what the tokenizer counts. Time is linear in the text for a fixed
    ``size`` and ``overlap``. Raises ValueError unless ``0 <= overlap < size``.
    """
    if not 0 <= overlap < size:
        raise ValueError(f"overlap must be in [0, size), not {overlap} with size {size}")
    pieces = _pieces(document.text, tokenizer, size=size)
    return [
        _chunk(document, pieces, ordinal, first, after)
        for ordinal, (first, after) in enumerate(_windows(document.text, pieces, size=size, overlap=overlap))
    ]


def _chunk(document: Document, pieces: _Pieces, ordinal: int, first: int, after: int) -> Chunk:
    start, end = pieces.starts[first], pieces.ends[after - 1]
    return Chunk(
        chunk_id=ChunkId(f"{document.document_id}:{ordinal}"),
        document_id=document.document_id,
        ordinal=ordinal,
        text=document.text[start:end],
        start=start,
        end=end,
        tokens=pieces.before[after] - pieces.before[first],
        places=_places(document.places, start, end),
    )


def _places(places: Sequence[Mark], start: int, end: int) -> tuple[Mark, ...]:
    """Those marks that hold for characters [start, end)."""
    first = max(0, bisect_right(places, start, key=itemgetter(0)) - 1)
    return tuple(places[first : bisect_left(places, end, key=itemgetter(0))])


# ---------------------------------------------------------------- pieces


def _pieces(text: str, tokenizer: Tokenizer, *, size: int) -> _Pieces:
    pieces = _Pieces(array("q"), array("q"), array("q", [0]))
    for start, end, tokens in _sized_words(text, tokenizer, size=size):
        pieces.starts.append(start)
        pieces.ends.append(end)
        pieces.before.append(pieces.before[-1] + tokens)
    return pieces


def _sized_words(text: str, tokenizer: Tokenizer, *, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, tokens) of each word, over-long words in pieces."""
    most = min(size, _LONGEST // 8)
    for block in _BLOCK.finditer(text):
        words = [match.span() for match in _WORD.finditer(text, block.start(), block.end())]
        counts = tokenizer.sizes([text[start:end] if end - start <= _LONGEST else "" for start, end in words])
        for (start, end), tokens in zip(words, counts, strict=True):
            if end - start <= _LONGEST and tokens <= most:
                yield start, end, tokens or 1
            else:
                yield from _cut(start, end, [start + span[0] for span in tokenizer.spans(text[start:end]) if span[0] < span[1]])


def _cut(start: int, end: int, token_starts: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield an over-long word token by token; tokens that share a start (bytes of one character) stay together."""
    marks = sorted({start, *(at for at in token_starts if start < at < end)})
    for at, after in zip(marks, [*marks[1:], end], strict=True):
        tokens = max(1, bisect_right(token_starts, at) - bisect_left(token_starts, at))
        for piece in range(at, after, _LONGEST):
            yield piece, min(piece + _LONGEST, after), tokens


# ---------------------------------------------------------------- windows


def _windows(text: str, pieces: _Pieces, *, size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Yield each window as piece rows [first, after)."""
    before, count = pieces.before, len(pieces.starts)
    first = after = 0
    while after < count:
        least = after + 1  # at least one new piece, whatever the overlap
        full = max(least, bisect_right(before, before[first] + size) - 1)
        quarter = max(least, bisect_left(before, before[first] + size - size // 4))
        after = count if full >= count else _window_end(text, pieces, least=quarter, full=full)
        yield first, after
        if after < count:
            first = _next_start(text, pieces, first=first, after=after, size=size, overlap=overlap)


def _window_end(text: str, pieces: _Pieces, *, least: int, full: int) -> int:
    best, best_rank = full, -1
    for after in range(full, least - 1, -1):
        rank = _rank(text, pieces, after)
        if rank > best_rank:
            best, best_rank = after, rank
        if rank == 3:
            break
    return best


def _next_start(text: str, pieces: _Pieces, *, first: int, after: int, size: int, overlap: int) -> int:
    before = pieces.before
    room = before[after + 1] - size  # an earlier start would leave no room for a new piece
    lowest = max(first + 1, bisect_left(before, max(room, before[after] - 2 * overlap)))
    if overlap == 0 or lowest >= after:
        return after
    at_overlap = max(lowest, bisect_left(before, before[after] - overlap))
    starts = (row for row in range(lowest, after) if _rank(text, pieces, row) >= 2)
    return min(starts, key=lambda row: abs(before[row] - before[at_overlap]), default=min(at_overlap, after))


def _rank(text: str, pieces: _Pieces, after: int) -> int:
    """Return how good a place to cut the gap before piece ``after`` is.

    3 a sentence's end, 2 the end of a paragraph or list item without a full stop (which may be a heading), 1 a word's end,
    0 inside a word, right after a ``#`` heading or a list item's number.
    """
    end, start = pieces.ends[after - 1], pieces.starts[after]
    word = text[pieces.starts[after - 1] : end]
    if end == start:
        return 3 if word.endswith(_WIDE_STOPS) else 0
    gap = text[end:start]
    ends_line = "\n" in gap
    if (ends_line and text.startswith("#", text.rfind("\n", 0, end) + 1)) or _ITEM_NUMBER.search(text, max(0, end - 12), end):
        return 0
    if _ends_sentence(word, text[start]):
        return 3
    return 2 if ends_line and (_PARAGRAPH_GAP.search(gap) or _LINE_OF_ITS_OWN.match(text, start)) else 1


def _ends_sentence(word: str, next_character: str) -> bool:
    bare = word.rstrip(_CLOSING)
    if bare.endswith(_WIDE_STOPS):
        return True
    return bare.endswith(_FULL_STOPS) and not next_character.islower() and not _ABBREVIATION.fullmatch(bare)


@dataclass(frozen=True, slots=True)
class Cut:
    """What a document was cut into, what of it could not be read, or not well, its tables, and the parsers that read it."""

    chunks: list[Chunk]
    shortfalls: tuple[Shortfall, ...] = ()
    tables: tuple[Table, ...] = ()
    parsers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cutter:
    """Reads documents and cuts them into chunks of at most ``size`` tokens, which share about ``overlap``."""

    reads: Reads
    tokenizer: Tokenizer
    size: int
    overlap: int

    async def cut(self, offered: Offered) -> Cut:
        """At least one chunk. Raises UnreadableDocument. Cancelled, it stops the reader."""
        try:
            text = await self.reads.read(offered.reader, offered.raw)
        except UnreadableDocument as error:
            if error.name != offered.reader:  # of a part of it
                raise
            raise error.renamed(offered.name) from error
        document = Document(offered.document_id, offered.name, offered.title or text.title, text.text, offered.labels or (), text.places)
        chunks = await asyncio.to_thread(split, document, self.tokenizer, size=self.size, overlap=self.overlap)
        if not chunks:
            raise UnreadableDocument(offered.name, "empty", "there is no text in it", next_step="check the file")
        return Cut(chunks, tuple(starmap(Shortfall, text.shortfalls)), text.tables, text.parsers)
