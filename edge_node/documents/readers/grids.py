"""Rows of cells to tables: where the headings are, and where one table ends and the next begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edge_node.records import Cell, Table

MOST_CELLS = 200_000  # of a document: what holds more stays text
MOST_HEADING_CHARS = 80
Row = tuple[Cell, ...]


class Grid:
    """The rows of a sheet or file, as they are read; of one with more than ``most`` cells nothing is kept."""

    def __init__(self, name: str = "", most: int = MOST_CELLS) -> None:
        self._name = name
        self._left = most
        self._rows: list[tuple[int, Row]] = []

    def add(self, number: int, cells: Sequence[Cell]) -> None:
        """The next row."""
        self._left -= len(cells)
        if self._left < 0:
            self._rows.clear()
            return
        row = tuple(_trimmed(cell) for cell in cells)
        if any(cell is not None for cell in row):
            self._rows.append((number, row))

    def tables(self) -> Iterator[Table]:
        """Its tables; none where no row names columns, or none follows that row."""
        heads = self._heads()
        if not heads:
            return
        for at, after in zip(heads, [*heads[1:], len(self._rows)], strict=True):
            table = self._table(at, after)
            if table.rows:
                yield table

    def _heads(self) -> list[int]:
        """Which rows name columns: the first one that can, and, behind a gap, such a row over other kinds of cells than above it."""
        found = list[int]()
        for at, (number, row) in enumerate(self._rows):
            if not _names_columns(row):
                continue
            is_behind_gap = at > 0 and number > self._rows[at - 1][0] + 1
            if not found or (is_behind_gap and at + 1 < len(self._rows) and self._has_numbers(found[-1] + 1, at, row)):
                found.append(at)
        return found

    def _has_numbers(self, start: int, end: int, row: Row) -> bool:
        """Whether a column has numbers in the rows [start, end), and a word in this row."""
        columns = [column for column, cell in enumerate(row) if isinstance(cell, str) and not is_number(cell)]
        above = [cells for _, cells in self._rows[start:end]]
        return any(is_number(cells[column]) for cells in above for column in columns if column < len(cells))

    def _table(self, at: int, after: int) -> Table:
        number, named = self._rows[at]
        columns = [column for column, cell in enumerate(named) if cell is not None]
        rows = list[Row]()
        for here, cells in self._rows[at + 1 : after]:
            rows += [()] * (here - number - 1 - len(rows))
            rows.append(tuple(cells[column] if column < len(cells) else None for column in columns))
        return Table(self._name, tuple(_heading(named[column]) for column in columns), tuple(rows), number + 1)


def _names_columns(row: Row) -> bool:
    """Whether a row can be headings: several different texts, most of them words, and no gap but at the ends.

    >>> [_names_columns(row) for row in (("Ward", "2025", "2026"), ("Stock list", None), ("Juniper", "28"), ("Ward", None, "Beds"))]
    [True, False, False, True]
    """
    cells = [cell for cell in row if cell is not None]
    words = [cell for cell in cells if not is_number(cell)]
    years = [cell for cell in cells if is_number(cell) and str(cell).isdecimal() and len(str(cell)) == 4]
    is_said_once = len({str(cell).casefold() for cell in cells}) == len(cells)
    is_short = all(len(str(cell)) <= MOST_HEADING_CHARS for cell in cells)
    return len(cells) > 1 and bool(words) and len(words) + len(years) == len(cells) and is_said_once and is_short


def is_number(cell: Cell) -> bool:
    """Whether a cell has digits and no letters.

    >>> [is_number(cell) for cell in (4, "1,290.00", "2026-04-15", "IS-200", "")]
    [True, True, True, False, False]
    """
    text = "" if cell is None else str(cell)
    return any(sign.isdigit() for sign in text) and not any(sign.isalpha() for sign in text)


def _heading(cell: Cell) -> str:
    return " ".join(str(cell).split())


def _trimmed(cell: Cell) -> Cell:
    return (" ".join(cell.split()) or None) if isinstance(cell, str) else cell
