"""Presentations of PowerPoint 1997 to 2003 (.ppt), slide by slide ([MS-PPT], [MS-ODRAW]).

A file is a row of records; containers hold others. Each time it was saved, what had changed was
put behind the rest, so that a directory says where the newest state of each slide lies.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product

from olefile import OleFileIO

from edge_node.documents.blocks import Block, ParsedDocument, Place, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import EMPTY, Grid
from edge_node.documents.parsers import DAMAGED_OLE, Parser
from edge_node.documents.text import check_pages
from edge_node.plugins.parsers.package import left_out
from edge_node.plugins.parsers.reading_order import Box, reading_order
from edge_node.plugins.parsers.word_97 import stated_properties
from shared.errors import UnreadableDocument

_STREAM = "PowerPoint Document"
_LOCKED = 0xF3D1C4DF  # the mark of a file behind a password, in place of the usual one
_EDIT, _DIRECTORY, _DOCUMENT, _LIST, _PERSIST = 0x0FF5, 0x1772, 0x03E8, 0x0FF0, 0x03F3
_SLIDE, _NOTES, _SLIDE_ATOM, _SHOW, _DRAWING = 0x03EE, 0x03F0, 0x03EF, 0x03F9, 0x040C
_MASTER, _EMBEDDED = 0x03F8, 0x0FCC
_TEXT_KIND, _CHARACTERS, _BYTES, _OUTLINE = 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E
_GROUP, _SHAPE, _PLACE, _CHILD_PLACE, _TEXT_BOX = 0xF003, 0xF004, 0xF010, 0xF00F, 0xF00D
_OPTIONS, _GROUP_PLACE, _IS_TABLE = 0xF122, 0xF009, 0x039F
_TITLES, _POINTS = frozenset((0, 6)), frozenset((1, 5, 7, 8))
_MOST_EDITS = 10_000
_DEEPEST = 30
_MOST_SLOTS = 40_000
_POINT = 8  # in the units of a slide


@dataclass(frozen=True, slots=True)
class _Record:
    """A record: its kind, the number of its instance, and where its content lies."""

    kind: int
    instance: int
    start: int
    end: int


@dataclass(slots=True)
class _Text:
    """A text of an outline or a shape; ``kind``: of its placeholder, as in a text's header."""

    kind: int = 4
    text: str = ""


@dataclass(slots=True)
class _Shape:
    """A shape that says something: a text, or a table."""

    content: _Text | Grid
    box: Box | None


@dataclass(slots=True)
class _Listed:
    """A slide or a page of notes in the outline: its key in the directory, number, texts."""

    stored: int
    number: int
    texts: list[_Text] = field(default_factory=list)


def parse_old_slides(name: str, data: bytes) -> ParsedDocument:
    """A .ppt file's blocks.

    Raises UnreadableDocument: ``encrypted``, ``bad_office``, ``too_large``.
    """
    step = "open it and save it as .pptx without a password"
    try:
        with OleFileIO(io.BytesIO(data)) as file:
            user = file.openstream("Current User").read() if file.exists("Current User") else b""
            stream = file.openstream(_STREAM).read()
            title, _ = stated_properties(file)
        if len(user) >= 20 and struct.unpack_from("<I", user, 12)[0] == _LOCKED:
            raise UnreadableDocument(name, "encrypted", "is behind a password", next_step=step)
        reading = _Reading(name, stream, user)
        blocks = tuple(reading.blocks()) or tuple(reading.all_texts())
        if not blocks and not reading.is_whole:
            raise ValueError("no texts")
        return ParsedDocument(blocks, title, reading.shortfalls())
    except DAMAGED_OLE as error:
        message = "is damaged, or behind a password"
        raise UnreadableDocument(name, "bad_office", message, next_step=step) from error


class _Reading:
    """One presentation while it is read."""

    def __init__(self, name: str, stream: bytes, user: bytes) -> None:
        self.name, self.stream = name, stream
        self.left_out = Counter[str]()
        self._stored, self._document = self._directory(user)
        self.is_whole = self._at(self._document, _DOCUMENT) is not None

    def shortfalls(self) -> tuple[tuple[str, str], ...]:
        """What of the presentation is not in the text."""
        return left_out(
            (self.left_out["slide"], "hidden slide", "hidden slides"),
            (self.left_out["embedded"], "embedded document", "embedded documents"),
        )

    def blocks(self) -> Iterator[Block]:
        """All slides in the order in which they are shown."""
        document = self._at(self._document, _DOCUMENT)
        if document is None:
            return
        lists = [each for each in self._inside(document) if each.kind == _LIST]
        slides = list(self._listed(lists, 0))
        notes = {each.number: each for each in self._listed(lists, 2)}
        check_pages(self.name, len(slides), unit="slides")
        self.left_out["embedded"] = sum(
            each.kind == _EMBEDDED
            for group in self._inside(document)
            for each in self._inside(group)
        )
        for number, listed in enumerate(slides, start=1):
            slide = self._at(self._stored.get(listed.stored, -1), _SLIDE)
            parts = self._inside(slide) if slide else []
            if any(each.kind == _SHOW and self._flags(each) & 4 for each in parts):
                self.left_out["slide"] += 1
                continue
            yield Place(f"slide {number}")
            shapes = self._shapes(parts, listed.texts) if slide else []
            shapes = shapes or [_Shape(text, None) for text in listed.texts]
            yield from _slide_blocks(shapes)
            about = next((each for each in parts if each.kind == _SLIDE_ATOM), None)
            reference = 0 if about is None else self._number(about.start + 16)
            yield from self._notes(notes.get(reference))

    def all_texts(self) -> Iterator[Block]:
        """Every text of a file whose directory is lost, but for those of masters."""
        at = 0
        while at + 8 <= len(self.stream):
            record = self._record(at)
            if text := self._text_of(record):
                yield TextBlock("paragraph", text)
            is_container = self.stream[at] & 15 == 15 and record.kind != _MASTER
            at = record.start if is_container else max(record.end, at + 8)

    def _notes(self, listed: _Listed | None) -> Iterator[Block]:
        page = None if listed is None else self._at(self._stored.get(listed.stored, -1), _NOTES)
        for shape in self._shapes(self._inside(page), listed.texts) if page and listed else ():
            if isinstance(shape.content, _Text) and not shape.content.text.isdecimal():
                yield TextBlock("note", shape.content.text)

    # Records

    def _number(self, at: int) -> int:
        return int(struct.unpack_from("<I", self.stream, at)[0])

    def _flags(self, record: _Record) -> int:
        return int(struct.unpack_from("<H", self.stream, record.start + 10)[0])

    def _record(self, at: int) -> _Record:
        version, kind, size = struct.unpack_from("<HHI", self.stream, at)
        return _Record(kind, version >> 4, at + 8, min(at + 8 + size, len(self.stream)))

    def _at(self, at: int, kind: int) -> _Record | None:
        record = self._record(at) if 0 <= at <= len(self.stream) - 8 else None
        return record if record is not None and record.kind == kind else None

    def _inside(self, record: _Record) -> list[_Record]:
        if not record.start or self.stream[record.start - 8] & 15 != 15:
            return []
        inside, at = list[_Record](), record.start
        while at + 8 <= record.end:
            inside.append(self._record(at))
            at = max(inside[-1].end, at + 8)
        return inside

    def _directory(self, user: bytes) -> tuple[dict[int, int], int]:
        """Where each slide, page and the document lie, since the file was saved last."""
        stored, document = dict[int, int](), -1
        at = struct.unpack_from("<I", user, 16)[0] if len(user) >= 20 else 0
        for _ in range(_MOST_EDITS):
            edit = self._at(at, _EDIT)
            if edit is None or edit.end - edit.start < 20:
                break
            before, directory, reference = struct.unpack_from("<III", self.stream, edit.start + 8)
            for number, place in self._entries(directory):
                stored.setdefault(number, place)
            document = document if document >= 0 else stored.get(reference, -1)
            if not 0 < before < at:
                break
            at = before
        return stored, document

    def _entries(self, at: int) -> Iterator[tuple[int, int]]:
        directory = self._at(at, _DIRECTORY)
        at, end = (directory.start, directory.end) if directory else (0, 0)
        while at + 4 <= end:
            entry = self._number(at)
            count = min(entry >> 20, (end - at) // 4 - 1)
            for offset in range(count):
                yield (entry & 0xF_FFFF) + offset, self._number(at + 4 + 4 * offset)
            at += 4 + 4 * count

    def _listed(self, lists: list[_Record], instance: int) -> Iterator[_Listed]:
        """Slides (0) or pages of notes (2) with their texts in the outline."""
        for group in lists:
            listed: _Listed | None = None
            for record in self._inside(group) if group.instance == instance else ():
                if record.kind == _PERSIST and record.end - record.start >= 16:
                    if listed:
                        yield listed
                    listed = _Listed(self._number(record.start), self._number(record.start + 12))
                elif listed:
                    self._add_text(record, listed.texts)
            if listed:
                yield listed

    def _add_text(self, record: _Record, texts: list[_Text]) -> None:
        if record.kind == _TEXT_KIND:
            texts.append(_Text(self._number(record.start)))
        elif text := self._text_of(record):
            if not texts or texts[-1].text:
                texts.append(_Text())
            texts[-1].text = text

    def _text_of(self, record: _Record) -> str:
        raw = self.stream[record.start : record.end]
        if record.kind == _CHARACTERS:
            text = raw.decode("utf-16-le", "replace")
        elif record.kind == _BYTES:
            text = raw.decode("latin-1")
        else:
            return ""
        text = text.replace("\r", "\n").replace("\x0b", "\n").strip()
        return "" if text == "*" else text  # stands for the number of a slide

    # Shapes

    def _shapes(self, parts: list[_Record], outline: list[_Text]) -> list[_Shape]:
        shapes = list[_Shape]()
        for drawing in parts:
            if drawing.kind == _DRAWING:
                self._collect(drawing, outline, shapes, 0)
        return shapes

    def _collect(
        self, record: _Record, outline: list[_Text], shapes: list[_Shape], depth: int
    ) -> None:
        for inside in self._inside(record) if depth < _DEEPEST else ():
            if inside.kind == _SHAPE:
                shapes += self._shape(inside, outline)
            elif inside.kind == _GROUP and self._is_table(inside):
                cells = list[_Shape]()
                self._collect(inside, outline, cells, depth + 1)
                shapes += _table(cells)
            else:
                self._collect(inside, outline, shapes, depth + 1)

    def _is_table(self, group: _Record) -> bool:
        head = next((each for each in self._inside(group) if each.kind == _SHAPE), None)
        for options in self._inside(head) if head else ():
            content = self.stream[options.start : options.end]
            count = options.instance if options.kind == _OPTIONS else 0
            for at in range(0, min(6 * count, len(content) - 5), 6):
                number, value = struct.unpack_from("<HI", content, at)
                if number & 0x3FFF == _IS_TABLE:
                    return bool(value & 1)
        return False

    def _shape(self, record: _Record, outline: list[_Text]) -> Iterator[_Shape]:
        box: Box | None = None
        texts = list[_Text]()
        for inside in self._inside(record):
            size = inside.end - inside.start
            if inside.kind == _PLACE and size >= 8:
                top, left, right, bottom = struct.unpack_from("<4h", self.stream, inside.start)
                box = Box(left, top, right, bottom)
            elif inside.kind == _CHILD_PLACE and size >= 16:
                box = Box(*struct.unpack_from("<4i", self.stream, inside.start))
            elif inside.kind == _TEXT_BOX:
                for part in self._inside(inside):
                    if part.kind == _OUTLINE and self._number(part.start) < len(outline):
                        texts.append(outline[self._number(part.start)])
                    else:
                        self._add_text(part, texts)
        yield from (_Shape(text, box) for text in texts if text.text)


def _slide_blocks(shapes: list[_Shape]) -> Iterator[Block]:
    """The title, then the shapes as one reads them."""
    titles = [each for each in shapes if _kind(each) in _TITLES]
    others = [each for each in shapes if _kind(each) not in _TITLES]
    for shape in titles:
        yield from _shape_blocks(shape)
    placed = [(each, each.box) for each in others if each.box is not None]
    for at in reading_order([box for _, box in placed]):
        yield from _shape_blocks(placed[at][0])
    for shape in others:
        if shape.box is None:
            yield from _shape_blocks(shape)


def _kind(shape: _Shape) -> int:
    return shape.content.kind if isinstance(shape.content, _Text) else -1


def _shape_blocks(shape: _Shape) -> Iterator[Block]:
    content = shape.content
    if isinstance(content, Grid):
        yield content
        return
    lines = [line.strip() for line in content.text.split("\n") if line.strip()]
    if content.kind in _TITLES:
        yield TextBlock("heading", " ".join(lines), 1)
    elif content.kind in _POINTS and len(lines) > 1:
        yield from (TextBlock("item", line) for line in lines)
    else:
        yield TextBlock("paragraph", "\n".join(lines))


def _table(cells: list[_Shape]) -> Iterator[_Shape]:
    """A table is a group of texts; where their sides lie says which slots they cover."""
    boxes = [cell.box for cell in cells if cell.box is not None]
    if not boxes or len(boxes) < len(cells):
        yield from cells
        return
    lefts, tops = _lines(box.left for box in boxes), _lines(box.top for box in boxes)
    if len(lefts) * len(tops) > _MOST_SLOTS:
        yield from cells
        return
    slots = dict[tuple[int, int], GridCell]()
    for cell, box in zip(cells, boxes, strict=True):
        text = cell.content.text if isinstance(cell.content, _Text) else ""
        columns, rows = _covered(lefts, box.left, box.right), _covered(tops, box.top, box.bottom)
        made = GridCell(text, None, len(columns), len(rows))
        slots |= dict.fromkeys(product(rows, columns), made)
    width = range(len(lefts))
    lines = ([slots.get((at, column), EMPTY) for column in width] for at in range(len(tops)))
    grid = Grid(tuple(map(tuple, lines)))
    right, bottom = max(box.right for box in boxes), max(box.bottom for box in boxes)
    yield _Shape(grid, Box(lefts[0], tops[0], right, bottom))


def _lines(sides: Iterable[float]) -> list[float]:
    """Where columns or rows begin; what is nearer than a point is one line."""
    lines = list[float]()
    for side in sorted(sides):
        if not lines or side - lines[-1] > _POINT:
            lines.append(side)
    return lines


def _covered(lines: list[float], begin: float, end: float) -> range:
    """Numbers of the columns or rows that a cell covers."""
    first = bisect_right(lines, begin + _POINT) - 1
    return range(first, max(first + 1, bisect_left(lines, end - _POINT)))


POWERPOINT_97 = Parser(
    "ppt",
    2,
    parse_old_slides,
    streams=("PowerPoint Document",),
    media_types=dict.fromkeys((".pot", ".pps", ".ppt"), "application/vnd.ms-powerpoint"),
)
