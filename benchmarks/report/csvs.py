"""Tables as files and for a terminal. CSV has plain numbers: a column each for a mean, its interval and the sample's size."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO

from benchmarks.report.tables import Cell, Table, number
from deploy.evaluation.intervals import Estimate

PARTS = ("", " low", " high", " n")


def as_csv(table: Table) -> str:
    """Return a table as CSV with a head line. Shares stay fractions; a cell without a value is empty."""
    wide = [any(isinstance(row[i], Estimate) for row in table.rows) for i in range(len(table.columns))]
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        column.title + part for column, is_wide in zip(table.columns, wide, strict=True) for part in (PARTS if is_wide else PARTS[:1])
    )
    for row in table.rows:
        writer.writerow(value for cell, is_wide in zip(row, wide, strict=True) for value in _values(cell, is_wide=is_wide))
    return out.getvalue()


def _values(cell: Cell, *, is_wide: bool) -> Iterator[str | int | float]:
    if isinstance(cell, Estimate):
        yield from (cell.mean, cell.low, cell.high, cell.n)
    else:
        yield "" if cell is None else cell
        yield from [""] * (len(PARTS) - 1 if is_wide else 0)


def as_text(table: Table) -> str:
    """Return a table of words, columns in line, with its title above and its note below.

    >>> from benchmarks.report.tables import Column
    >>> print(as_text(Table("t", "Title", (Column("a"), Column("b")), (("x", "longer"), ("yy", None)), "Note.")))
    Title
    a   b
    x   longer
    yy  –
    Note.
    """
    lines = [[column.title for column in table.columns], *([as_words(cell) for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    body = ("  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    return "\n".join([table.title, *body, table.note])


def as_words(cell: Cell) -> str:
    """Show a cell in a terminal."""
    return "–" if cell is None else number(cell.mean) if isinstance(cell, Estimate) else cell if isinstance(cell, str) else number(cell)
