"""Spreadsheets (.xlsx, .xls, .ods): a sentence a row, which names the columns, with its sheet and row number as its place."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, PasswordError

from edge_node.documents.readers.archive import DAMAGED, check_unzipped
from edge_node.documents.readers.grids import MOST_CELLS, Grid
from edge_node.documents.readers.plain import row_sentences
from edge_node.documents.readers.text import OLE_MAGIC, ReadText, check_pages, placed, stem
from edge_node.records import Table
from shared.errors import UnreadableDocument

MAX_SHEETS = 1_000
MAX_ROWS = 2_200_000  # of all sheets, blank ones too: what two of Excel hold, and a little
PANIC = "PanicException"  # calamine's at some files that are cut off: no Exception, and no module has its class
Cell = int | float | str | bool | time | date | datetime | timedelta


def read_sheet(name: str, data: bytes) -> ReadText:
    """Return each sheet's rows as sentences. Raises UnreadableDocument: ``encrypted``, ``bad_sheet``, ``too_large``."""
    try:
        if not data.startswith(OLE_MAGIC):
            check_unzipped(name, data)
        with CalamineWorkbook.from_filelike(io.BytesIO(data)) as book:
            check_pages(name, len(book.sheet_names), unit="sheets", most=MAX_SHEETS)
            tables = list[Table]()
            body, places = placed(name, _rows(name, book, tables))
    except PasswordError as error:
        raise UnreadableDocument(name, "encrypted", "is behind a password", next_step="save it without a password") from error
    except (CalamineError, *DAMAGED) as error:
        raise UnreadableDocument(name, "bad_sheet", "is not a readable spreadsheet", next_step="save it again, or as CSV") from error
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        raise UnreadableDocument(name, "bad_sheet", "is damaged", next_step="open it and save it as .xlsx, or as CSV") from error
    return ReadText(stem(name), body, places, tables=tuple(tables))


def _rows(name: str, book: CalamineWorkbook, tables: list[Table]) -> Iterator[tuple[str, str]]:
    """Each row's place and sentence; ``tables`` gets what the sheets hold."""
    total = 0
    for title in book.sheet_names:
        sheet = book.get_sheet_by_name(title)
        if not isinstance(sheet, CalamineSheet) or sheet.start is None:
            continue
        total += sheet.total_height
        check_pages(name, total, unit="rows", most=MAX_ROWS)
        grid = Grid(title, MOST_CELLS - sum(len(table.rows) * len(table.headings) for table in tables))
        rows = enumerate(sheet.iter_rows(), start=1)
        for number, line in row_sentences(_kept(rows, grid)):
            yield f"{title}, row {number}", line
        tables += grid.tables()


def _kept(rows: Iterable[tuple[int, list[Cell]]], grid: Grid) -> Iterator[tuple[int, list[str]]]:
    for number, row in rows:
        texts = [_said(cell) for cell in row]
        grid.add(number, [_number(cell) or text for cell, text in zip(row, texts, strict=True)])
        yield number, texts


def _number(cell: Cell) -> int | float | None:
    """A number as a value; None of anything else, and of 0, whose text will do."""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    return int(cell) if float(cell).is_integer() and abs(cell) < 1e15 else cell


def _said(cell: Cell) -> str:
    """A cell as the sheet shows it, near enough: 28.0 is "28", midnight is a day."""
    match cell:
        case bool():
            return "yes" if cell else "no"
        case float() if cell.is_integer() and abs(cell) < 1e15:
            return str(int(cell))
        case float():
            return f"{cell:.12g}"
        case datetime() if cell.time() == time():
            return cell.date().isoformat()
        case datetime():
            return cell.isoformat(sep=" ", timespec="minutes")
        case _:
            return str(cell)
