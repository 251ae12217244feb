"""Words that stand on one line of sight, and their text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from edge_node.plugins.parsers.pdf_page import TO_LEFT, Box, Word, is_right_to_left

JOINED = 0.09  # of a line's height: two words that are nearer are one
SPACED = 1.5  # of a line's height: a gap that prose has not
RAISED = 0.8  # of its neighbour's height: a superscript is no higher
_SUPERSCRIPTS = str.maketrans("0123456789+-()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ")
_RAISABLE = re.compile(r"[0-9+()\-n]{1,4}")
_UNIT = re.compile(r"(?:^|[^^\W\d_])[^\W\d_]{1,2}$")  # "m", "km", "x": what a power stands at
_VALUE = re.compile(
    r"[-–+±<>≤≥~$€£¥₹(]*\s?\d[\d.,:/%\s\-–]*+[)%$€£¥]*+[a-zA-Zµ°/%]{0,4}|[-–—]|n/a", re.I
)
_LATIN = re.compile(r"[A-Za-zÀ-ɏͰ-ӿ]")


@dataclass(slots=True)
class Row:
    """What stands side by side, from left to right."""

    items: Sequence[Box]
    left: float = 0.0
    right: float = 0.0
    top: float = 0.0
    bottom: float = 0.0
    size: float = 0.0

    def __post_init__(self) -> None:
        items = self.items
        if len(items) > 1:
            self.items = items = sorted(items, key=_by_left)
        first = items[0]
        self.left, self.right = first.left, max([item.right for item in items])
        sizes = sorted([item.size for item in items])
        self.size = sizes[len(sizes) // 2] or 1.0
        tall = 2 * self.size
        lines = [item for item in items if item.bottom - item.top <= tall] or items
        self.top = min([item.top for item in lines])
        self.bottom = max([item.bottom for item in lines])


@dataclass(slots=True)
class Line:
    """A row's text, with what tells a heading or a paragraph's end from the rest."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    size: float
    is_bold: bool
    is_cut: bool = False
    is_spaced: bool = False  # a blank in it is wider than any between words


_by_left = attrgetter("left")


def _by_line(item: Box) -> tuple[float, float]:
    half = (item.bottom - item.top) / 2
    return item.top + (half if half < 6 else 6), item.left


def rows_of(items: Sequence[Box]) -> list[Row]:
    """Rows from top to bottom; a tall item takes all that stands beside it into its row."""
    rows = list[list[Box]]()
    band: Box | None = None
    for item in sorted(items, key=_by_line):
        if band is not None and _are_level(item, band):
            rows[-1].append(item)
            if item.height > 1.2 * band.height:
                band = item
        else:
            rows.append([item])
            band = item
    return [Row(row) for row in rows]


def _are_level(item: Box, band: Box) -> bool:
    top, bottom = item.top, item.bottom
    overlap = (bottom if bottom < band.bottom else band.bottom) - (
        top if top > band.top else band.top
    )
    height, other = bottom - top, band.bottom - band.top
    return overlap >= 0.5 * (height if height < other else other)


def segments_of(row: Row, gap: float) -> list[list[Box]]:
    """A row's items, parted where more than ``gap`` of the line's height is blank."""
    parts = list[list[Box]]()
    right = float("-inf")
    for item in row.items:
        if item.left - right > gap * row.size or not parts:
            parts.append([])
        parts[-1].append(item)
        right = max(right, item.right)
    return parts


def is_right_to_left_row(items: Sequence[Box]) -> bool:
    """Whether most letters belong to a script that is written to the left."""
    text = "".join(item.text for item in items if isinstance(item, Word))
    to_left = sum(map(is_right_to_left, text))
    return to_left > 0 and 2 * to_left > sum(map(str.isalpha, text))


def line_of(row: Row) -> Line:
    """A row of words as text in logical order."""
    words = [item for item in row.items if isinstance(item, Word)]
    text = _text_of(words)
    if TO_LEFT.search(text):
        text = " ".join(word.text for word in _logical(words))
    letters = sum(len(word.text) for word in words) or 1
    bold = sum(len(word.text) for word in words if word.is_bold)
    size = max((word.size for word in words), default=row.size)
    is_cut = bool(words) and words[-1].is_cut
    bottom = max((word.bottom for word in words), default=row.bottom)
    gap = SPACED * row.size
    is_spaced = any(after.left - before.right > gap for before, after in pairwise(row.items))
    return Line(
        text, row.left, row.right, row.top, bottom, size, 2 * bold > letters, is_cut, is_spaced
    )


def _logical(words: Sequence[Word]) -> list[Word]:
    """Words of a line of two directions in the order in which they are read."""
    is_to_left = is_right_to_left_row(words)
    ordered = list(reversed(words)) if is_to_left else list(words)
    found, run = list[Word](), list[Word]()
    for word in ordered:
        is_other = (
            bool(_LATIN.search(word.text)) if is_to_left else any(map(is_right_to_left, word.text))
        )
        if is_other:
            run.insert(0, word)
            continue
        found.extend(run)
        run = []
        found.append(word)
    return [*found, *run]


def _text_of(words: Sequence[Word]) -> str:
    text = ""
    before: Word | None = None
    for word in words:
        piece = word.text
        if before is None:
            text = piece
        elif _is_raised(word, before):
            raised = piece.translate(_SUPERSCRIPTS)
            text += raised if _UNIT.search(before.text) else f" {raised}"
        elif _is_lowered(word, before) or word.left - before.right < JOINED * min(
            word.size, before.size
        ):
            text += piece
        else:
            text += f" {piece}"
        if before is None or not _is_raised(word, before):
            before = word
    return text


def _is_raised(word: Word, before: Word) -> bool:
    """Whether it is a power or the mark of a note at the word before."""
    return (
        word.size < RAISED * before.size
        and word.centre[1] < before.centre[1] - 0.08 * before.size
        and word.left - before.right < 0.3 * before.size
        and _RAISABLE.fullmatch(word.text) is not None
    )


def _is_lowered(word: Word, before: Word) -> bool:
    return (
        word.size < RAISED * before.size
        and word.centre[1] > before.centre[1] + 0.08 * before.size
        and word.left - before.right < JOINED * before.size
    )


def is_value(text: str) -> bool:
    """Whether a cell is a number, an amount, a day, or a dash in place of one.

    >>> is_value("$1,260.00"), is_value("-"), is_value("Ward 3")
    (True, True, False)
    """
    return _VALUE.fullmatch(text.strip()) is not None


Item = Box
