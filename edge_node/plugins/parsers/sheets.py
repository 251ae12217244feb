"""Spreadsheets (.xlsx, .xls, .ods): their rows as the sheet shows them, with their numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from lxml import etree
from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetVisibleEnum,
)

from edge_node.documents.blocks import Block, ParsedDocument, Place, TextBlock
from edge_node.documents.grid_cells import GridCell
from edge_node.documents.grids import EMPTY, SKIPPED_ROW, Grid
from edge_node.documents.parsers import Parser
from edge_node.documents.text import OLE_MAGIC, check_pages
from edge_node.documents.unzipping import DAMAGED, check_unzipped
from edge_node.plugins.parsers.number_formats import (
    MAX_WHOLE,
    general,
    is_percent,
    percent,
    stated,
)
from edge_node.plugins.parsers.open_sheets import (
    OpenSheet,
    is_encrypted,
    is_open_sheet,
    open_sheets,
)
from edge_node.plugins.parsers.package import left_out
from edge_node.plugins.parsers.sheet_view import SheetView
from edge_node.plugins.parsers.struck import struck
from edge_node.plugins.parsers.xls_view import xls_views
from edge_node.plugins.parsers.xlsx_view import xlsx_views
from edge_node.records import Cell
from shared.errors import UnreadableDocument
from shared.plural import counted

MAX_SHEETS = 1_000
MAX_ROWS = 2_200_000  # of all sheets, blank ones too: what two of Excel hold, and a little
MAX_MERGED = 2_000_000  # slots that merged cells fill, and how many of these there may be
PANIC = "PanicException"  # calamine's at some files that are cut off; no module has its class
Range = tuple[tuple[int, int], tuple[int, int]]  # first and last cell: row and column from 0
SheetCell = int | float | str | bool | time | date | datetime | timedelta


def parse_sheet(name: str, data: bytes) -> ParsedDocument:
    """The shown sheets of a workbook with their notes, text boxes and titles of charts.

    Raises UnreadableDocument: ``encrypted``, ``bad_sheet``, ``too_large``.
    """
    try:
        if not data.startswith(OLE_MAGIC):
            check_unzipped(name, data)
            if is_open_sheet(data):
                return _parse_open(name, data)
        with CalamineWorkbook.from_filelike(io.BytesIO(data)) as book:
            check_pages(name, len(book.sheet_names), unit="sheets", most=MAX_SHEETS)
            return _parsed(name, book, data)
    except PasswordError as error:
        step = "save it without a password"
        raise UnreadableDocument(
            name, "encrypted", "is behind a password", next_step=step
        ) from error
    except (CalamineError, etree.XMLSyntaxError, *DAMAGED) as error:
        step = "save it again, or as CSV"
        raise UnreadableDocument(
            name, "bad_sheet", "is not a readable spreadsheet", next_step=step
        ) from error
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        step = "open it and save it as .xlsx, or as CSV"
        raise UnreadableDocument(name, "bad_sheet", "is damaged", next_step=step) from error


@dataclass(slots=True)
class _Missing:
    """How much of a workbook is not in its text."""

    sheets: int = 0
    rows: int = 0
    columns: int = 0
    errors: int = 0
    uncomputed: int = 0
    parts: int = 0
    views: int = 0
    margins: int = 0
    pictures: int = 0
    embedded: int = 0

    def shortfalls(self) -> Iterator[tuple[str, str]]:
        """A code and a sentence for each kind."""
        counts = {"sheet": self.sheets, "row": self.rows, "column": self.columns}
        hidden = [counted(count, f"hidden {thing}") for thing, count in counts.items() if count]
        if hidden:
            yield "hidden_cells", _are_missing(hidden, sum(counts.values()))
        if self.errors:
            verb = "holds an error" if self.errors == 1 else "hold errors"
            yield "error_cells", f"{counted(self.errors, 'cell')} {verb} in place of a value."
        if self.uncomputed:
            words = counted(self.uncomputed, "formula") + " without a computed value"
            yield "uncomputed_formulas", _are_missing([words], self.uncomputed)
        if self.parts:
            words = counted(self.parts, "part") + " of the file, of notes, formats or drawings,"
            yield "part_unread", _are_missing([words], self.parts)
        if self.views:
            sheets = counted(self.views, "sheet")
            words = "hidden cells may be in the text, formats of numbers and notes are not."
            yield "part_unread", f"The looks of {sheets} are not known: {words}"
        yield from left_out(
            (self.margins, "header or footer", "headers or footers"),
            (self.pictures, "large picture", "large pictures"),
            (self.embedded, "embedded document", "embedded documents"),
        )


def _are_missing(things: Sequence[str], count: int) -> str:
    names = " and ".join(filter(None, [", ".join(things[:-1]), things[-1]]))
    return f"{names} {'is' if count == 1 else 'are'} not in the text."


def _parsed(name: str, book: CalamineWorkbook, data: bytes) -> ParsedDocument:
    missing = _Missing()
    blocks = list[Block]()
    views = _views(name, data, book)
    total = 0
    for metadata in book.sheets_metadata:
        sheet = book.get_sheet_by_name(metadata.name)
        if not isinstance(sheet, CalamineSheet):
            continue
        total += sheet.total_height
        check_pages(name, total, unit="rows", most=MAX_ROWS)
        if metadata.visible != SheetVisibleEnum.Visible:
            missing.sheets += sheet.start is not None
            continue
        view = views.get(metadata.name, SheetView())
        missing.views += sheet.start is not None and metadata.name not in views
        blocks += _sheet_blocks(metadata.name, sheet, view, missing)
    return ParsedDocument(tuple(blocks), shortfalls=tuple(missing.shortfalls()))


def _views(name: str, data: bytes, book: CalamineWorkbook) -> Mapping[str, SheetView]:
    if not data.startswith(OLE_MAGIC):
        return xlsx_views(name, data)
    views = xls_views(data)
    return dict(zip(book.sheet_names, views, strict=False))


def _sheet_blocks(
    title: str, sheet: CalamineSheet, view: SheetView, missing: _Missing
) -> Iterator[Block]:
    missing.errors += view.errors
    missing.uncomputed += view.uncomputed
    missing.parts += view.unread_parts
    missing.margins += view.margins
    missing.pictures += view.pictures
    missing.embedded += view.embedded
    if view.hidden_rows or view.hidden_columns:
        rows, columns = _hidden_counts(sheet, view)
        missing.rows += rows
        missing.columns += columns
    if sheet.start is not None:
        yield Grid(_SheetRows(sheet, view), title, has_row_places=True)
    for cell, words in view.notes:
        yield Place(f"{title}, {cell}")
        yield TextBlock("note", f"{cell}: {words}")
    if view.texts:
        yield Place(title)
        yield from (TextBlock("paragraph", text) for text in view.texts)


def _hidden_counts(sheet: CalamineSheet, view: SheetView) -> tuple[int, int]:
    """How many hidden rows and columns have anything in them."""
    rows = 0
    columns = set[int]()
    for number, cells in enumerate(_all_rows(sheet)):
        rows += number in view.hidden_rows and any(cell != "" for cell in cells)
        open_columns = (at for at in view.hidden_columns - columns if at < len(cells))
        columns.update([at for at in open_columns if cells[at] != ""])
    return rows, len(columns)


def _all_rows(sheet: CalamineSheet) -> Iterator[list[SheetCell]]:
    """The rows from the sheet's first on, each from its first column on."""
    start = sheet.start
    margin: list[SheetCell] = [""] * (start[1] if start else 0)
    return (margin + row for row in sheet.iter_rows()) if margin else sheet.iter_rows()


@dataclass(frozen=True, slots=True)
class _SheetRows:
    """The rows of a sheet as it shows them, made anew each time."""

    sheet: CalamineSheet
    view: SheetView

    def __iter__(self) -> Iterator[Sequence[GridCell]]:
        merged = _MergedCells(self.sheet.merged_cell_ranges or ())
        formats = self.view.codes_by_row()
        row_of_codes, codes = next(formats, (MAX_ROWS, {}))
        for number, values in enumerate(_all_rows(self.sheet)):
            while row_of_codes < number:
                row_of_codes, codes = next(formats, (MAX_ROWS, {}))
            row = [EMPTY if value == "" else _grid_cell(value) for value in values]
            if row_of_codes == number:
                _show_as_formatted(row, values, codes)
            for column in self.view.struck.get(number, ()):
                if column < len(row):
                    row[column] = GridCell(struck(row[column].text))
            merged.fill(number, row)
            if number in self.view.hidden_rows:
                yield SKIPPED_ROW
            elif self.view.hidden_columns:
                hidden = self.view.hidden_columns
                yield [cell for at, cell in enumerate(row) if at not in hidden]
            else:
                yield row


class _MergedCells:
    """Puts a merged cell into each slot that it covers, row by row."""

    def __init__(self, ranges: Sequence[Range]) -> None:
        self._left = MAX_MERGED
        self._starting = dict[int, list[Range]]()
        self._open: list[tuple[Range, GridCell]] = []
        for area in ranges[:MAX_MERGED]:
            self._starting.setdefault(area[0][0], []).append(area)

    def fill(self, number: int, row: list[GridCell]) -> None:
        """Fill a row, and remember the cells that go on below it."""
        if not self._open and number not in self._starting:
            return
        for area in self._starting.pop(number, ()):
            (first_row, first), (last_row, last) = area
            if first < len(row) and row[first].text:
                size = last - first + 1, last_row - first_row + 1
                self._open.append((area, replace(row[first], columns=size[0], rows=size[1])))
        for ((_, first), (_, last)), cell in self._open:
            end = min(last + 1, len(row))
            self._left -= end - first
            if self._left > 0:
                row[first:end] = [cell] * (end - first)
        self._open = [each for each in self._open if each[0][1][0] > number]


def _grid_cell(value: SheetCell) -> GridCell:
    """A cell without a format of its own: midnight is a day, times have no seconds of zero."""
    match value:
        case str():
            return GridCell(value)
        case bool():
            return GridCell("TRUE" if value else "FALSE")
        case int() | float():
            is_whole = float(value).is_integer() and abs(value) < MAX_WHOLE
            return GridCell(general(value), int(value) if is_whole else value)
        case datetime() if value.time() == time():
            return GridCell(value.date().isoformat())
        case datetime():
            return GridCell(value.isoformat(sep=" ", timespec="minutes"))
        case timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            hours, minutes = divmod(minutes, 60)
            return GridCell(f"{hours}:{minutes:02}" + (f":{seconds:02}" if seconds else ""))
        case _:
            return GridCell(str(value))


def _show_as_formatted(
    row: list[GridCell], values: Sequence[SheetCell], codes: Mapping[int, str]
) -> None:
    """Put numbers that have a format as it shows them; where it hides digits, the number beside."""
    for column, code in codes.items():
        value = values[column] if column < len(values) else ""
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        text = stated(value, code)
        number: Cell = percent(value) if is_percent(code) else row[column].value
        row[column] = GridCell(text, number if text else None)


def _parse_open(name: str, data: bytes) -> ParsedDocument:
    if is_encrypted(data):
        step = "save it without a password"
        raise UnreadableDocument(name, "encrypted", "is behind a password", next_step=step)
    missing = _Missing()
    blocks = list[Block]()
    total = 0
    for count, sheet in enumerate(open_sheets(data), start=1):
        total += sheet.height
        check_pages(name, count, unit="sheets", most=MAX_SHEETS)
        check_pages(name, total, unit="rows", most=MAX_ROWS)
        if sheet.is_hidden:
            missing.sheets += sheet.height > 0
            continue
        missing.rows += sheet.hidden_rows
        missing.columns += len(sheet.hidden_columns)
        missing.errors += sheet.errors
        missing.uncomputed += sheet.uncomputed
        blocks += _open_blocks(sheet)
    return ParsedDocument(tuple(blocks), shortfalls=tuple(missing.shortfalls()))


def _open_blocks(sheet: OpenSheet) -> Iterator[Block]:
    yield Grid(sheet, sheet.name, has_row_places=True)
    for row, words in sheet.notes:
        yield Place(f"{sheet.name}, row {row}")
        yield TextBlock("note", words)
    if sheet.texts:
        yield Place(sheet.name)
        yield from (TextBlock("paragraph", text) for text in sheet.texts)


SHEET = Parser(
    "sheet",
    3,
    parse_sheet,
    members=("xl/workbook.xml", "xl/workbook.bin"),
    mimetype=b"spreadsheet",
    streams=("Workbook", "WORKBOOK", "Book"),
    media_types={
        ".ods": "application/vnd.oasis.opendocument.spreadsheet",
        ".ots": "application/vnd.oasis.opendocument.spreadsheet-template",
        ".xls": "application/vnd.ms-excel",
        ".xlsb": "application/vnd.ms-excel.sheet.binary.macroenabled.12",
        ".xlsm": "application/vnd.ms-excel.sheet.macroenabled.12",
        ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ".xltm": "application/vnd.ms-excel.template.macroenabled.12",
        ".xltx": "application/vnd.openxmlformats-officedocument.spreadsheetml.template",
    },
)
