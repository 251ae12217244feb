"""Cells as values: columns of numbers, dates or texts, so that SQL compares them as people do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from edge_node.records import Cell, Table

Kind = Literal["number", "date", "text"]
Value = str | float | int | None
NOTHING = frozenset(
    {"-", "–", "—", "/", "n/a", "na", "n.a.", "none given", "k.a.", "k. a.", "?", "…", "..."}
)
TOTALS = re.compile(
    r"(?:grand |sub)?totals?\b|sum\b|summe\b|gesamt\w*|insgesamt\b|zwischensumme\b|average\b|mean\b"
    r"|durchschnitt\b",
    re.IGNORECASE,
)
MOST_DECIMALS = 6  # of a number; one that has more is the result of a division
_CURRENCY = "€$£¥"
_UNIT = rf"%|°C|[{_CURRENCY}]|[^\W\d_]{{1,12}}(?:[²³]|/[^\W\d_]{{1,4}}[²³]?)?"
_NUMBER = re.compile(rf"[{_CURRENCY}]?\s?([+-]?\d[\d.,'’\u202f\u2009]*)\s?({_UNIT})?")
_GROUPS = {
    separator: re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:{re.escape(separator)}\d{{3}})+")
    for separator in ",."
}
_COMMA_DECIMAL = re.compile(r"[+-]?[\d.]*\d,(?:\d{1,2}|\d{4,})\D{0,6}")
_ISO = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?((?:[ T]\d{2}:\d{2}(?::\d{2})?)?)")
_NUMERIC_DATE = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4}|\d{2})")
_WORDY_DATE = re.compile(
    r"(\d{1,2})\.?\s([^\W\d_]{3,9})\.?,?\s(\d{4})|([^\W\d_]{3,9})\.?\s(\d{1,2}),\s(\d{4})"
)
MONTHS = {  # English and German, by their first three letters
    "jan": 1, "feb": 2, "mar": 3, "mär": 3, "apr": 4, "may": 5, "mai": 5, "jun": 6, "jul": 7,
    "aug": 8, "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """A column's values, one a row. ``unit``: what stood behind each of its numbers."""

    heading: str
    kind: Kind
    values: tuple[Value, ...]
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """A table by column.

    ``rows``: which rows of the table these are; blank ones, notes and totals are left out.
    """

    columns: tuple[Column, ...]
    rows: tuple[int, ...]


def columns_of(table: Table) -> Columns:
    """A table's columns with their values.

    >>> rows = ("Pump", "1.290,00 EUR"), (), ("Hose", "12,50 EUR"), ("Total", "1.302,50 EUR")
    >>> columns = columns_of(Table("", ("Item", "Price"), rows, 2)).columns
    >>> [(one.kind, one.values, one.unit) for one in columns]
    [('text', ('Pump', 'Hose'), ''), ('number', (1290.0, 12.5), 'EUR')]
    """
    width = len(table.headings)
    rows = tuple(row for row, cells in enumerate(table.rows) if _is_data(cells, width))
    by_column = [[_cell(table.rows[row], column) for row in rows] for column in range(width)]
    texts = (cell for cells in by_column for cell in cells if isinstance(cell, str))
    is_comma_decimal = any(map(_COMMA_DECIMAL.fullmatch, texts))
    columns = zip(table.headings, by_column, strict=True)
    return Columns(
        tuple(
            _column(heading, cells, is_comma_decimal=is_comma_decimal) for heading, cells in columns
        ),
        rows,
    )


def _is_data(cells: Sequence[Cell], width: int) -> bool:
    filled = [cell for cell in cells if cell is not None]
    is_note = len(filled) == 1 and width > 2
    is_total = bool(filled) and isinstance(filled[0], str) and TOTALS.match(filled[0]) is not None
    return bool(filled) and not is_note and not is_total


def _cell(cells: Sequence[Cell], column: int) -> Cell:
    cell = cells[column] if column < len(cells) else None
    return None if isinstance(cell, str) and cell.casefold() in NOTHING else cell


def _column(heading: str, cells: Sequence[Cell], *, is_comma_decimal: bool) -> Column:
    numbers = [_number(cell, is_comma_decimal=is_comma_decimal) for cell in cells]
    units = {found[1] for found in numbers if found is not None}
    filled = [row for row, cell in enumerate(cells) if cell is not None]
    if filled and all(numbers[row] is not None for row in filled) and len(units - {""}) < 2:
        values = tuple(found[0] if found else None for found in numbers)
        return Column(heading, "number", values, max(units))
    texts = [None if cell is None else shown(cell) for cell in cells]
    day_first = not any(_is_month_first(text) for text in texts if text)
    dates = [None if text is None else iso_date(text, day_first=day_first) for text in texts]
    if filled and all(dates[row] for row in filled):
        return Column(heading, "date", tuple(dates))
    return Column(heading, "text", tuple(texts))


def _number(cell: Cell, *, is_comma_decimal: bool) -> tuple[float | int, str] | None:
    """A number with its unit; None for other cells, and for codes, which begin with a zero."""
    if isinstance(cell, int | float):
        return cell, ""
    found = _NUMBER.fullmatch(cell or "")
    if found is None:
        return None
    digits = re.sub(r"['’\u202f\u2009]", "", found[1]).rstrip(".,")
    if re.match(r"[+-]?0\d", digits) or len(digits) > 15:
        return None
    plain = _plain(digits, is_comma_decimal=is_comma_decimal)
    if plain.count(".") > 1:
        return None
    return (float(plain) if "." in plain else int(plain)), found[2] or (
        found[0][0] if found[0][0] in _CURRENCY else ""
    )


def _plain(digits: str, *, is_comma_decimal: bool) -> str:
    """Digits with a decimal point and without signs between thousands.

    >>> texts = ("1,290.00", "1.290,00", "1,290", "1.290", "12,5")
    >>> [_plain(text, is_comma_decimal=False) for text in texts]
    ['1290.00', '1290.00', '1290', '1.290', '12.5']
    >>> _plain("1.290", is_comma_decimal=True)
    '1290'
    """
    if "," in digits and "." in digits:
        group = "," if digits.rfind(".") > digits.rfind(",") else "."
        return digits.replace(group, "").replace(",", ".")
    if "," in digits:
        is_grouped = _GROUPS[","].fullmatch(digits) and not is_comma_decimal
        return digits.replace(",", "") if is_grouped else digits.replace(",", ".")
    is_grouped = _GROUPS["."].fullmatch(digits) and (is_comma_decimal or digits.count(".") > 1)
    return digits.replace(".", "") if is_grouped else digits


def _is_month_first(text: str) -> bool:
    found = _NUMERIC_DATE.fullmatch(text)
    return bool(found) and found is not None and found[2] == "/" and int(found[3]) > 12


def iso_date(text: str, *, day_first: bool = True) -> str | None:
    """A date as ISO writes it, with its time; a month as "2026-04"; None for what is no date.

    >>> [iso_date(text) for text in ("2026-4-15", "15.04.2026", "15 April 2026", "Apr 15, 2026")]
    ['2026-04-15', '2026-04-15', '2026-04-15', '2026-04-15']
    >>> [iso_date(text) for text in ("2026-04", "31.02.2026", "15. März")]
    ['2026-04', None, None]
    """
    if found := _ISO.fullmatch(text):
        if found[3] is None:
            return (
                f"{found[1]}-{int(found[2]):02}"
                if 1 <= int(found[2]) <= 12 and not found[4]
                else None
            )
        day = _day(int(found[1]), int(found[2]), int(found[3]))
        return day + found[4].replace("T", " ") if day else None
    if found := _NUMERIC_DATE.fullmatch(text):
        one, two = int(found[1]), int(found[3])
        is_day_first = day_first or found[2] == "."
        year = int(found[4]) + (2000 if len(found[4]) == 2 else 0)
        return _day(year, two, one) if is_day_first else _day(year, one, two)
    if found := _WORDY_DATE.fullmatch(text):
        number, month, year_text = (
            (found[1], found[2], found[3]) if found[1] else (found[5], found[4], found[6])
        )
        return _day(int(year_text), MONTHS.get(month[:3].casefold(), 0), int(number))
    return None


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def shown(value: Value) -> str:
    """A value in an answer, without the noise of sums.

    >>> shown(1970.0), shown(14.6 - 4.9), shown(178 / 3), shown("IS-200"), shown(None)
    ('1970', '9.7', '59.33', 'IS-200', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = f"{value:.10g}"
    is_endless = len(text.partition(".")[2]) > MOST_DECIMALS and abs(value) >= 1
    return f"{value:.2f}" if is_endless else text
