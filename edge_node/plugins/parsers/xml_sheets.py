"""Workbooks of Excel 2003 in XML (SpreadsheetML), which are mostly named .xls or .xml."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from math import isfinite

from edge_node.documents.blocks import Block, Place, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import (
    EMPTY,
    MOST_SLOTS,
    MOST_SPAN,
    SKIPPED_ROW,
    Grid,
    Spans,
    laid_row,
)
from edge_node.documents.text import check_pages
from edge_node.plugins.parsers.number_formats import general, shown
from edge_node.plugins.parsers.package import Element, left_out
from edge_node.plugins.parsers.sheet_view import column_letters

SHEET_ML = "{urn:schemas-microsoft-com:office:spreadsheet}"
EXCEL = "{urn:schemas-microsoft-com:office:excel}"
MAX_ROWS = 1_048_576  # of all sheets
MAX_COLUMNS = 16_384
_NAMED_FORMATS = {
    "Fixed": "0.00",
    "Standard": "#,##0.00",
    "Percent": "0.00%",
    "Scientific": "0.00E+00",
    "Currency": "#,##0.00",
    "Euro Currency": "€#,##0.00",
}


@dataclass(slots=True)
class _Hidden:
    sheets: int = 0
    rows: int = 0


def is_xml_workbook(root: Element) -> bool:
    """Whether a file's root is that of a workbook."""
    return bool(root.tag == f"{SHEET_ML}Workbook")


def workbook_blocks(
    name: str, root: Element
) -> tuple[tuple[Block, ...], tuple[tuple[str, str], ...]]:
    """The sheets as grids, with their cells' notes; and shortfalls, for hidden sheets and rows.

    Raises UnreadableDocument (``too_large``).
    """
    formats = {
        style.get(f"{SHEET_ML}ID", ""): form.get(f"{SHEET_ML}Format", "")
        for style in root.iter(f"{SHEET_ML}Style")
        for form in style.iterfind(f"{SHEET_ML}NumberFormat")
    }
    hidden = _Hidden()
    blocks = list[Block]()
    rows = 0
    for sheet in root.iterfind(f"{SHEET_ML}Worksheet"):
        table = sheet.find(f"{SHEET_ML}Table")
        if table is None:
            continue
        visible = sheet.findtext(f"{EXCEL}WorksheetOptions/{EXCEL}Visible") or ""
        if visible.startswith("Sheet"):  # SheetHidden, SheetVeryHidden
            hidden.sheets += 1
            continue
        reader = _SheetReader(name, sheet.get(f"{SHEET_ML}Name", ""), formats, hidden, rows)
        blocks += reader.read(table)
        rows = reader.rows_above + len(reader.rows)
    sheets = (hidden.sheets, "hidden sheet", "hidden sheets")
    hidden_rows = (hidden.rows, "hidden row", "hidden rows")
    return tuple(blocks), left_out(sheets, hidden_rows, code="hidden_cells")


class _SheetReader:
    """Lays out the rows of one sheet."""

    def __init__(
        self,
        name: str,
        title: str,
        formats: dict[str, str],
        hidden: _Hidden,
        rows_above: int,
    ) -> None:
        self._name = name
        self._title = title
        self._formats = formats
        self._hidden = hidden
        self.rows_above = rows_above
        self.rows: list[Sequence[GridCell]] = []
        self._notes: list[Block] = []
        self._spans: Spans = {}
        self._slots_left = MOST_SLOTS

    def read(self, table: Element) -> Iterator[Block]:
        """The grid, and behind it the notes of its cells."""
        for row in table.iterfind(f"{SHEET_ML}Row"):
            for _ in range(_number(row, "Index") - 1 - len(self.rows)):
                self._add_row([], is_hidden=False)
            is_hidden = row.get(f"{SHEET_ML}Hidden") == "1"
            cells = self._cells(row, is_hidden=is_hidden)
            self._hidden.rows += is_hidden and any(cell.text for cell in cells)
            self._add_row(cells, is_hidden=is_hidden)
        yield Grid(tuple(self.rows), self._title, has_row_places=True)
        yield from self._notes

    def _add_row(self, cells: Sequence[GridCell], *, is_hidden: bool) -> None:
        check_pages(self._name, self.rows_above + len(self.rows) + 1, unit="rows", most=MAX_ROWS)
        spans = self._spans if self._slots_left > 0 else {}
        slots, self._spans = laid_row(cells, spans, self._slots_left)
        self._slots_left -= len(slots)
        self.rows.append(SKIPPED_ROW if is_hidden else tuple(slots))

    def _cells(self, row: Element, *, is_hidden: bool) -> list[GridCell]:
        """The cells of a row, with blank ones up to each that states its column."""
        cells = list[GridCell]()
        at = 0
        for element in row.iterfind(f"{SHEET_ML}Cell"):
            stated = _number(element, "Index") - 1
            check_pages(self._name, stated, unit="columns", most=MAX_COLUMNS)
            while at in self._spans or (at < stated and self._slots_left > 0):
                if at not in self._spans:
                    cells.append(EMPTY)
                at += 1
            cell = self._cell(element)
            if not is_hidden:
                self._add_note(element, at)
            cells.append(cell)
            at += min(cell.columns, MOST_SPAN)
        return cells

    def _cell(self, element: Element) -> GridCell:
        columns = 1 + _number(element, "MergeAcross")
        rows = 1 + _number(element, "MergeDown")
        data = element.find(f"{SHEET_ML}Data")
        text = "" if data is None else "".join(data.itertext())
        kind = "" if data is None else data.get(f"{SHEET_ML}Type", "")
        if kind == "DateTime":
            text = _day(text)
        elif kind == "Boolean":
            text = "TRUE" if text.strip() == "1" else "FALSE"
        elif kind == "Number" and (number := _value(text)) is not None:
            code = self._formats.get(element.get(f"{SHEET_ML}StyleID", ""), "")
            code = _NAMED_FORMATS.get(code, code)
            return GridCell(shown(number, code) if code else general(number), number, columns, rows)
        return GridCell(text, None, columns, rows)

    def _add_note(self, element: Element, column: int) -> None:
        note = element.find(f"{SHEET_ML}Comment")
        words = "" if note is None else " ".join("".join(note.itertext()).split())
        if words:
            place = f"{column_letters(column)}{len(self.rows) + 1}"
            self._notes += [
                Place(f"{self._title}, {place}"),
                TextBlock("note", f"{place}: {words}"),
            ]


def _number(element: Element, name: str) -> int:
    """A whole number from 0 on, as an attribute states it."""
    digits = element.get(f"{SHEET_ML}{name}", "")
    return int(digits) if digits.isdecimal() and len(digits) < 8 else 0


def _value(text: str) -> float | int | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 10**15 else number


def _day(text: str) -> str:
    """A moment as a sheet's reader writes it: midnight is a day; 1899-12-31 is a time alone."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    if moment.year < 1900:
        return moment.time().isoformat(timespec="minutes")
    if moment.time() == time():
        return moment.date().isoformat()
    return moment.isoformat(sep=" ", timespec="minutes")
