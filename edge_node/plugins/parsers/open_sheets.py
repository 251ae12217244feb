"""The sheets of an OpenDocument spreadsheet (.ods), which holds each cell as it is shown."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import EMPTY, SKIPPED_ROW, Spans, laid_row
from edge_node.plugins.parsers.number_formats import MAX_WHOLE, general
from edge_node.plugins.parsers.struck import struck
from edge_node.records import Cell

MAX_REPEATED = 1_000  # cells with words side by side that are stated as one
MAX_COLUMNS = 20_000
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_CALC = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_BLANKS = {f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break"}
_STYLE_NAME = f"{_TABLE}style-name"
_LINE_THROUGH = f"{_STYLE}text-line-through-style"
_CELL = f"{_TABLE}table-cell"
_PARAGRAPH = f"{_TEXT}p"
_ANNOTATION = f"{_OFFICE}annotation"
_TYPE = f"{_OFFICE}value-type"
_VALUE = f"{_OFFICE}value"
_CALC_TYPE = f"{_CALC}value-type"
_FORMULA = f"{_TABLE}formula"
_REPEATED = f"{_TABLE}number-columns-repeated"
_COLUMNS = f"{_TABLE}number-columns-spanned"
_ROWS = f"{_TABLE}number-rows-spanned"
_SPANS = {_COLUMNS, _ROWS}
_NUMBERS = ("float", "currency", "percentage")


@dataclass(slots=True)
class OpenSheet:
    """A sheet: its rows, each with how often it stands there; hidden ones as None."""

    name: str
    is_hidden: bool = False
    struck_styles: set[str] = field(default_factory=set)  # of cells
    rows: list[tuple[Sequence[GridCell] | None, int]] = field(default_factory=list)
    height: int = 0
    hidden_columns: set[int] = field(default_factory=set)
    hidden_rows: int = 0
    notes: list[tuple[int, str]] = field(default_factory=list)  # row from 1, and words
    texts: list[str] = field(default_factory=list)
    errors: int = 0
    uncomputed: int = 0

    def __iter__(self) -> Iterator[Sequence[GridCell]]:
        """Its rows, each in all its slots."""
        spans: Spans = {}
        for cells, count in self.rows:
            for _ in range(count):
                slots, spans = laid_row(cells or (), spans)
                yield SKIPPED_ROW if cells is None else self._shown(slots)

    def _shown(self, slots: Sequence[GridCell]) -> Sequence[GridCell]:
        if not self.hidden_columns:
            return slots
        return [cell for at, cell in enumerate(slots) if at not in self.hidden_columns]

    def end(self) -> None:
        """Forget the blank rows behind the last one with words."""
        while self.rows and not _has_words(self.rows[-1][0] or ()):
            self.rows.pop()
        self.height = sum(count for _, count in self.rows)


def is_open_sheet(data: bytes) -> bool:
    """Whether an archive is of OpenDocument. Raises what ``zipfile`` raises."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return "content.xml" in archive.namelist()


def is_encrypted(data: bytes) -> bool:
    """Whether it needs a password."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if "META-INF/manifest.xml" not in archive.namelist():
            return False
        return b"encryption-data" in archive.read("META-INF/manifest.xml")


def open_sheets(data: bytes) -> Iterator[OpenSheet]:
    """Each sheet when it is read to its end. Raises what ``zipfile`` and ``lxml`` raise."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open("content.xml") as content:
        events = etree.iterparse(
            content,
            events=("start", "end"),
            tag=(f"{_TABLE}table", f"{_TABLE}table-row", f"{_STYLE}style", f"{_TABLE}shapes"),
            resolve_entities=False,
            no_network=True,
            huge_tree=False,
            remove_comments=True,
        )
        yield from _sheets(events)


def _sheets(events: Iterator[tuple[str, etree._Element]]) -> Iterator[OpenSheet]:
    hidden_styles, struck_styles = set[str](), set[str]()
    sheet: OpenSheet | None = None
    depth = 0
    for event, element in events:
        tag = element.tag.rpartition("}")[2]
        if tag == "table":
            depth += 1 if event == "start" else -1
            if event == "start" and depth == 1:
                style = element.get(f"{_TABLE}style-name", "")
                name = element.get(f"{_TABLE}name", "")
                sheet = OpenSheet(name, style in hidden_styles, struck_styles)
            elif sheet and depth == 0:
                sheet.end()
                yield sheet
                element.clear()
        elif event == "end" and tag == "style":
            properties = element.find(f"{_STYLE}table-properties")
            if properties is not None and properties.get(f"{_TABLE}display") == "false":
                hidden_styles.add(element.get(f"{_STYLE}name", ""))
            properties = element.find(f"{_STYLE}text-properties")
            if properties is not None and properties.get(_LINE_THROUGH, "none") != "none":
                struck_styles.add(element.get(f"{_STYLE}name", ""))
        elif event == "end" and sheet and depth == 1:
            _add(sheet, element, tag)


def _add(sheet: OpenSheet, element: etree._Element, tag: str) -> None:
    """Add a row, or the text boxes that lie on a sheet."""
    if tag == "shapes":
        sheet.texts += filter(None, map(_words, element))
        return
    if not sheet.rows:
        sheet.hidden_columns = set(_hidden_columns(element))
    _add_row(sheet, element)
    element.clear()


def _hidden_columns(row: etree._Element) -> Iterator[int]:
    """The hidden ones of the columns, which are listed before the first row."""
    table = row.getparent()
    while not table.tag.endswith("}table"):
        table = table.getparent()
    at = 0
    for column in table.iter(f"{_TABLE}table-column"):
        count = min(_count(dict(column.items()), _REPEATED), MAX_COLUMNS)
        if column.get(f"{_TABLE}visibility") == "collapse":
            yield from range(at, at + count)
        at += count


def _count(attributes: Mapping[str, str], name: str) -> int:
    digits = attributes.get(name, "1")
    return max(1, int(digits)) if digits.isdecimal() and len(digits) < 9 else 1


def _add_row(sheet: OpenSheet, row: etree._Element) -> None:
    cells = list[GridCell]()
    blanks = 0
    for element in row:
        if element.tag != _CELL:
            continue  # a covered one is filled by the cell that spans it
        attributes = dict(element.items())
        cell = _cell(sheet, element, attributes)
        count = _count(attributes, _REPEATED) if _REPEATED in attributes else 1
        if not cell.text and cell.columns == cell.rows == 1:
            blanks += count
            continue
        if blanks:
            cells += [EMPTY] * min(blanks, MAX_COLUMNS)
            blanks = 0
        cells.append(cell)
        repeated = range(min(count, MAX_REPEATED) - 1) if count > 1 else ()
        cells += [GridCell(cell.text, cell.value) for _ in repeated]
    attributes = dict(row.items())
    count = _count(attributes, f"{_TABLE}number-rows-repeated")
    is_hidden = attributes.get(f"{_TABLE}visibility") in ("collapse", "filter")
    sheet.hidden_rows += is_hidden and _has_words(cells)
    sheet.rows.append((None if is_hidden else tuple(cells), count))
    sheet.height += count


def _has_words(cells: Sequence[GridCell]) -> bool:
    return any(cell.text for cell in cells)


def _cell(sheet: OpenSheet, element: etree._Element, attributes: Mapping[str, str]) -> GridCell:
    """A cell; its note, and what it lacks, go to the sheet."""
    if not attributes and not len(element):
        return EMPTY
    text = _cell_text(sheet, element)
    kind = attributes.get(_TYPE, "")
    if kind == "string" and len(attributes) == 1:
        return GridCell(text)
    if attributes.get(_CALC_TYPE) == "error":
        sheet.errors += 1
    elif _FORMULA in attributes and not kind:
        sheet.uncomputed += 1
    text, value = _shown(kind, attributes, text)
    if attributes.get(_STYLE_NAME) in sheet.struck_styles:
        text, value = struck(text), None
    if _SPANS.isdisjoint(attributes):
        return GridCell(text, value)
    return GridCell(text, value, _count(attributes, _COLUMNS), _count(attributes, _ROWS))


def _cell_text(sheet: OpenSheet, element: etree._Element) -> str:
    texts = list[str]()
    for child in element:
        if child.tag == _PARAGRAPH:
            texts.append(_paragraph(child))
        elif child.tag == _ANNOTATION:
            sheet.notes.append((sheet.height + 1, _words(child)))
        elif child.tag.startswith(_DRAW):
            sheet.texts += filter(None, [_words(child)])
    return " ".join(texts)


def _shown(kind: str, attributes: Mapping[str, str], text: str) -> tuple[str, Cell]:
    """The words and the value of a cell; a day as ISO writes it."""
    if kind in _NUMBERS:
        return _number(kind, attributes.get(_VALUE, ""), text)
    if kind == "date":
        text = attributes.get(f"{_OFFICE}date-value", text).replace("T", " ")
    return text.removesuffix(" 00:00:00"), None


def _number(kind: str, stated: str, text: str) -> tuple[str, Cell]:
    """A number as it is shown and as a value; a whole one in full."""
    try:
        number = float(stated)
    except ValueError:
        return text, None
    if kind == "percentage":
        return text, f"{number * 100:.12g}%"
    is_whole = number.is_integer() and abs(number) < MAX_WHOLE
    if not text or (is_whole and "E" in text):
        text = general(number)
    return text, int(number) if is_whole else number


def _words(element: etree._Element) -> str:
    return "\n".join(filter(None, map(_paragraph, element.iter(f"{_TEXT}p"))))


def _paragraph(paragraph: etree._Element) -> str:
    """The words of a paragraph, those of its notes left out."""
    if not len(paragraph):
        return paragraph.text or ""
    pieces = list[str]()
    for node in paragraph.iter():
        if node.tag in _BLANKS:
            pieces.append(" ")
        elif node.text:
            pieces.append(node.text)
        if node is not paragraph and node.tail:
            pieces.append(node.tail)
    return "".join(pieces)
