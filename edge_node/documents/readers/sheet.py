"""Spreadsheets (.xlsx, .xls, .ods): a sentence a row, which names the columns, with its sheet and row number as its place."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, PasswordError

from edge_node.documents.readers.archive import DAMAGED, check_unzipped
from edge_node.documents.readers.plain import row_sentences
from edge_node.documents.readers.text import OLE_MAGIC, ReadText, check_pages, placed, stem
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
            body, places = placed(name, _rows(name, book))
    except PasswordError as error:
        raise UnreadableDocument(name, "encrypted", "is behind a password", next_step="save it without a password") from error
    except (CalamineError, *DAMAGED) as error:
        raise UnreadableDocument(name, "bad_sheet", "is not a readable spreadsheet", next_step="save it again, or as CSV") from error
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        raise UnreadableDocument(name, "bad_sheet", "is damaged", next_step="open it and save it as .xlsx, or as CSV") from error
    return ReadText(stem(name), body, places)


def _rows(name: str, book: CalamineWorkbook) -> Iterator[tuple[str, str]]:
    total = 0
    for title in book.sheet_names:
        sheet = book.get_sheet_by_name(title)
        if not isinstance(sheet, CalamineSheet) or sheet.start is None:
            continue
        total += sheet.total_height
        check_pages(name, total, unit="rows", most=MAX_ROWS)
        rows = enumerate(sheet.iter_rows(), start=1)
        for number, line in row_sentences((number, [_said(cell) for cell in row]) for number, row in rows):
            yield f"{title}, row {number}", line


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
