"""A document as its parser understood it: blocks in reading order; and how they become text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edge_node.documents.grids import FoundTables, Grid
from edge_node.documents.text import (
    MAX_PLACE_CHARS,
    ReadText,
    capped,
    normalised,
    one_line,
    shortened_place,
    stem,
)
from shared.records import Mark

TextKind = Literal["heading", "paragraph", "item", "note", "caption", "code"]
MAX_HEADING_LEVEL = 6
MAX_ITEM_LEVEL = 20
SHORT_LINE_CHARS = 500  # no Base64 is shorter
CODE_INDENT = "    "  # a line of code that begins with "#" is no heading


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Words of one kind; lines within them end in a newline.

    ``level``: of a heading, from 1; of an item, how deep it lies in other lists, from 0.
    """

    kind: TextKind
    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """What follows stands here, until the next place: ``page 3``, ``slide 2``, ``beds.csv``."""

    name: str


Block: TypeAlias = TextBlock | Grid | Place


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Blocks in reading order. ``title``: the one that the file states, else "".

    ``shortfalls``: code and message of what could not be read, or not well.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    shortfalls: tuple[tuple[str, str], ...] = ()


def to_text(name: str, parsed: ParsedDocument) -> ReadText:
    r"""The document as text, with its places and tables; its title is else the first heading.

    Raises UnreadableDocument (``too_large``).

    >>> blocks = (TextBlock("heading", "Ward", 1), TextBlock("item", "28 beds"))
    >>> to_text("ward.md", ParsedDocument(blocks)).text
    '# Ward\n\n- 28 beds'
    """
    found = FoundTables()
    marks = list[Mark]()
    text = capped(name, _pieces(parsed.blocks, marks, found), separator="")
    texts = (block for block in parsed.blocks if isinstance(block, TextBlock))
    headings = (block.text for block in texts if block.kind == "heading")
    title = one_line(parsed.title) or next(filter(None, map(one_line, headings)), "") or stem(name)
    return ReadText(title, text, tuple(marks), parsed.shortfalls, tuple(found.tables))


def raw_texts(blocks: Iterable[Block]) -> Iterator[str]:
    """The words of each text and each cell, as the file has them."""
    for block in blocks:
        if isinstance(block, TextBlock):
            yield block.text
        elif isinstance(block, Grid):
            for row in block.slots:
                yield from (cell.text for at, cell in enumerate(row) if not at or cell is not row[at - 1])


def _pieces(blocks: Iterable[Block], marks: list[Mark], found: FoundTables) -> Iterator[str]:
    """The text with its separators, piece by piece; ``marks`` and ``found`` are filled so."""
    length = 0
    place = ""
    marked = ""
    before: Block | None = None
    for block in blocks:
        if isinstance(block, Place):
            place = block.name
            continue
        for line_place, line in _lines(block, place, found):
            separator = _separator(before, block) if length else ""
            here = length + len(separator)
            if line_place and line_place != marked:
                is_short = len(line_place) <= MAX_PLACE_CHARS and _is_normal(line_place)
                label = line_place if is_short else shortened_place(line_place)
                marks.append((here, label))
                marked = line_place
            length = here + len(line)
            before = block
            yield separator + line


def _lines(block: TextBlock | Grid, place: str, found: FoundTables) -> Iterator[tuple[str, str]]:
    """Each line of a grid, or the whole text of another block, with its place."""
    if isinstance(block, Grid):
        for row, sentence in block.read(found):
            line = sentence if _is_normal(sentence) else normalised(sentence)
            if line:
                yield block.place(row) if block.has_row_places else place, line
    elif text := _marked_up(block):
        yield place, text


def _is_normal(line: str) -> bool:
    """Whether nothing of a line would change: soon seen of most rows of a large table."""
    return len(line) < SHORT_LINE_CHARS and line.isascii() and line.isprintable()


def _marked_up(block: TextBlock) -> str:
    text = block.text if _is_normal(block.text) else normalised(block.text)
    if not text:
        return ""
    match block.kind:
        case "heading":
            level = min(max(block.level, 1), MAX_HEADING_LEVEL)
            return f"{'#' * level} {' '.join(text.split())}"
        case "item":
            return f"{'  ' * min(block.level, MAX_ITEM_LEVEL)}- {text}"
        case "code":
            return "\n".join(f"{CODE_INDENT}{line}".rstrip() for line in text.split("\n"))
        case _:
            return text


def _separator(before: Block | None, block: Block) -> str:
    """Items, rows of a table and its caption follow one another; a blank line parts all else."""
    if before is block:
        return "\n"
    if not isinstance(before, TextBlock):
        return "\n\n"
    if isinstance(block, Grid):
        return "\n" if before.kind == "caption" else "\n\n"
    are_items = isinstance(block, TextBlock) and before.kind == block.kind == "item"
    return "\n" if are_items else "\n\n"
