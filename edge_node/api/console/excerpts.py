"""Parts of a document's text as they are shown: cut at words, with one span marked. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edge_node.records import DocumentText

PAGE = 8_000  # characters
AROUND = 600  # characters of a passage with what stands beside it
LEAST_BESIDE = 120  # characters before a passage and behind it, however long it is
LONGEST = 8_000  # characters that are marked; a longer span is marked in part
SLACK = 80  # characters within which a word begins; Chinese, say, has no blanks, and is cut anywhere


Place: TypeAlias = tuple[int, int]  # characters [start, end) of a text


@dataclass(frozen=True, slots=True)
class Window:
    """Characters [start, end) of a text are shown, and ``marks`` in them are marked, apart from one another; the first is what is cited."""

    start: int
    end: int
    marks: tuple[Place, ...] = ()

    @property
    def place(self) -> int:
        """Where what is looked for begins."""
        return self.marks[0][0] if self.marks else self.start

    @property
    def read_from(self) -> int:
        """Where reading begins, so that a beginning of a word is seen."""
        return max(0, self.start - SLACK)

    @property
    def read_to(self) -> int:
        """Where reading ends: one character farther, so that the end of the text is seen."""
        return self.end + 1


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text that is shown. ``mark``: it is cited; says more of the same; or is not marked."""

    text: str
    mark: Literal["", "cited", "also"] = ""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text of a window; ``is_first``, ``is_last``: nothing is before it, or behind it."""

    pieces: tuple[Piece, ...]
    is_first: bool
    is_last: bool


def beside(start: int, end: int, others: Iterable[Place] = ()) -> Window:
    """A span, and others near to it, with a little of what stands beside them.

    >>> beside(1_000, 1_200)
    Window(start=800, end=1400, marks=((1000, 1200),))
    >>> beside(1_000, 1_200, [(1_100, 1_300), (1_700, 1_800), (90_000, 90_001)])
    Window(start=880, end=1920, marks=((1000, 1200), (1700, 1800)))
    """
    marks = apart((start, min(end, start + LONGEST)), others)
    low, high = min(marks)[0], max(marks)[1]
    room = max(LEAST_BESIDE, (AROUND - (high - low)) // 2)
    return Window(max(0, low - room), high + room, marks)


def apart(first: Place, others: Iterable[Place]) -> tuple[Place, ...]:
    """A span, and those of the others that are near to it and that overlap none before them."""
    kept = [first]
    for start, end in others:
        is_near = start < end and abs(start - first[0]) < LONGEST and end - start <= LONGEST
        if is_near and all(end <= here or there <= start for here, there in kept):
            kept.append((start, end))
    return tuple(kept)


def page_of(number: int) -> Window:
    """A page of a text by its number, from 0; nothing is marked."""
    return Window(number * PAGE, (number + 1) * PAGE)


def page_with(start: int, end: int, others: Iterable[Place] = ()) -> Window:
    """The page on which a span begins, with the others on it; it is as much longer as the span goes on.

    >>> page_with(7_900, 8_300, [(100, 200), (8_400, 8_500)])
    Window(start=0, end=8300, marks=((7900, 8300), (100, 200)))
    """
    page, end = page_of(start // PAGE), min(end, start + LONGEST)
    last = max(page.end, end)
    return Window(page.start, last, apart((start, end), (one for one in others if page.start <= one[0] and one[1] <= last)))


def excerpt(read: DocumentText, window: Window) -> Excerpt:
    """What a window shows of a text that was read from ``read_from`` to ``read_to``.

    >>> read = DocumentText("d", "a.md", "", 0, 20, 20, "A pump has stopped.")
    >>> [(piece.text, piece.mark) for piece in excerpt(read, Window(4, 14, ((7, 10),))).pieces]
    [('pump ', ''), ('has', 'cited'), (' ', '')]
    """
    text, marks = read.text, [(start - read.start, end - read.start) for start, end in window.marks]
    at = first = word_start(text, window.start - read.start)
    last = max([word_start(text, window.end - read.start), *(end for _, end in marks)])
    pieces = list[Piece]()
    for row in sorted(range(len(marks)), key=marks.__getitem__):
        start, end = marks[row]
        pieces += [Piece(text[at:start]), Piece(text[start:end], "also" if row else "cited")]
        at = end
    pieces.append(Piece(text[at:last]))
    shown = tuple(piece for piece in pieces if piece.text)
    return Excerpt(shown, read.start + first == 0, read.start + last >= read.length)


def word_start(text: str, place: int) -> int:
    """The last place at or before this one where a word begins; this one where none is near, and the end where it is behind that.

    >>> word_start("A pump stopped.", 9), word_start("水泵停止工作", 3), word_start("A pump", 9)
    (7, 3, 6)
    """
    if place >= len(text):
        return len(text)
    return next((at for at in range(place, max(0, place - SLACK), -1) if text[at - 1].isspace()), place)
