"""Tables as grids: cells in all the slots that they cover, and rows as sentences and records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TypeAlias

from edge_node.documents.field_names import is_only_field_name
from edge_node.documents.grid_cells import GridCell, GridRow
from edge_node.documents.header_rows import (
    MOST_NAME_CHARS,
    Column,
    Header,
    Kind,
    find_header,
    kinds_of_columns,
    slots_of_names,
)
from edge_node.documents.text import ended, named_values
from edge_node.records import Cell, Table

__all__ = ["EMPTY", "SKIPPED_ROW", "FoundTables", "Grid", "GridCell", "laid_out", "laid_row"]
MOST_CELLS = 200_000  # of a document's tables: what holds more stays text
MOST_SPAN = 1_000  # slots: a stated span of a million columns costs nothing
MOST_SLOTS = 2_000_000  # of a grid that is laid out
Spans: TypeAlias = dict[int, tuple[GridCell, int]]  # by slot: what goes on below, in how many rows
SAMPLE_ROWS = 40  # of each part of a grid, to find what names its columns
MOST_TABLES_BESIDE = 8
MOST_ROWS_BESIDE = 50_000  # of tables that stand to the right of others
MOST_WAITING_ROWS = 5  # names that a blank row parts from their table


EMPTY = GridCell("")
SKIPPED_ROW: Sequence[GridCell] = (GridCell(""),)  # is not shown; a blank one would end a table


@dataclass
class FoundTables:
    """A document's tables of named columns, and how many more cells are kept."""

    tables: list[Table] = field(default_factory=list)
    cells_left: int = MOST_CELLS


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, or a sheet with several.

    Row k of ``slots`` is row ``first_row + k`` of its sheet or file; a cell that covers several
    slots is the same object in each. ``slots`` may be read again and again.
    ``name``: of the sheet, or "". ``has_row_places``: its rows are places that a person can look
    up ("Stock, row 7"). ``needs_proof``: tables also lay out pages here, so that a first row of
    words names columns only if something says so.
    """

    slots: Iterable[Sequence[GridCell]]
    name: str = ""
    first_row: int = 1
    has_row_places: bool = False
    needs_proof: bool = False

    def place(self, row: int) -> str:
        """Where a row stands, by its number in the sheet or file."""
        return f"{self.name}, row {row}" if self.name else f"row {row}"

    def sentences(self) -> Iterator[tuple[int, str]]:
        """The numbers of the rows below the names of columns, and sentences of names and cells."""
        return self.read(FoundTables())

    def tables(self) -> Iterator[Table]:
        """What stands in it as tables with headings and values."""
        found = FoundTables()
        for _ in self.read(found):
            pass
        return iter(found.tables)

    def read(self, found: FoundTables) -> Iterator[tuple[int, str]]:
        """As ``sentences``; ``found`` gets the tables on the way, by the same decisions."""
        return _GridReader(self, found).sentences()

    def parts(self) -> Iterator[Iterator[GridRow]]:
        """Its rows with words, in runs: a blank row, other columns or new headings end one."""
        for _, rows in groupby(self._numbered_rows(), key=itemgetter(0)):
            yield map(itemgetter(1), rows)

    def _numbered_rows(self) -> Iterator[tuple[int, GridRow]]:
        part = before = low = high = -1
        is_below_heading = False
        above: Sequence[GridCell] = ()
        for number, cells in enumerate(self.slots, start=self.first_row):
            texts = [" ".join(cell.text.split()) for cell in cells]
            is_seen = cells is SKIPPED_ROW or _goes_on(cells, texts, above)
            if is_seen or not any(texts):
                if is_seen and number == before + 1:
                    before = number
                continue
            above = cells
            row = GridRow(number, cells, texts)
            first, last = row.extent
            is_heading = cells[first].is_heading and last > first and _is_new_header(row)
            is_apart = number != before + 1 or first > high or last < low
            if is_apart or (is_heading and not is_below_heading):
                part += 1
                low, high = first, last
            low, high = min(low, first), max(high, last)
            before, is_below_heading = number, is_heading
            yield part, row


def _is_new_header(row: GridRow) -> bool:
    """Whether all its cells are headings, and none of them goes on beside the rows below."""
    spans = [cell.rows for cell, text in zip(row.cells, row.texts, strict=True) if text]
    return row.is_marked and max(spans) == 1


def _goes_on(cells: Sequence[GridCell], texts: Sequence[str], above: Sequence[GridCell]) -> bool:
    """Whether a row holds only cells of the row above, which span it too."""
    if not any(texts[: len(above)]) or any(texts[len(above) :]):
        return False
    pairs = zip(cells, above, texts, strict=False)
    return all(cell is upper for cell, upper, text in pairs if text)


class _GridReader:
    """Reads a grid once from top to bottom, and remembers what names its columns."""

    def __init__(self, grid: Grid, found: FoundTables, depth: int = 0) -> None:
        self._grid = grid
        self._depth = depth
        self._may_have_more = depth < MOST_TABLES_BESIDE
        self._found = found
        self._plain = _line if grid.needs_proof else _plain
        self._columns: tuple[Column, ...] = ()
        self._names: Sequence[str] = ()  # of all columns, where each is one slot; else none
        self._header_texts: list[Sequence[str]] = []  # from their first to their last named column
        self._kinds: dict[int, Kind] = {}
        self._records: _Records | None = None

    def sentences(self) -> Iterator[tuple[int, str]]:
        waiting: list[GridRow] = []
        for part in self._grid.parts():
            sample = list(islice(part, SAMPLE_ROWS))
            if waiting and (header := self._waiting_header(waiting, sample)):
                yield from map(self._plain, waiting[: header.start])
                self._begin(header, waiting, sample)
                waiting = []
                yield from self._body(chain(sample, part))
                continue
            yield from map(self._plain, waiting)
            waiting = []
            if names := slots_of_names(sample):
                self._end()
                yield from (_pairs(row, names) for row in chain(sample, part))
            elif header := self._header(sample):
                yield from map(self._plain, sample[: header.start])
                self._begin(header, sample, sample[header.stop :])
                yield from self._body(chain(sample[header.stop :], part))
            elif self._goes_on(sample):
                yield from self._body(chain(sample, part))
            else:
                self._end_above(sample)
                has_row = any(len(row.entries()) > 1 for row in sample)
                if has_row and len(sample) <= MOST_WAITING_ROWS:
                    waiting = sample
                else:
                    yield from map(self._plain, chain(sample, part))
        yield from map(self._plain, waiting)
        self._end()

    def _header(self, sample: Sequence[GridRow]) -> Header | None:
        """What names the columns of a part, if it does not go on with the table above."""
        header = find_header(sample, needs_proof=self._grid.needs_proof)
        if header is None or not self._columns or sample[header.start].is_marked:
            return header
        if not self._is_within(sample) or self._has_new_names(sample[header.stop - 1]):
            return header
        is_titled = len(sample[0].entries()) == 1
        return header if header.is_sure and (is_titled or self._is_other(header, sample)) else None

    def _is_other(self, header: Header, sample: Sequence[GridRow]) -> bool:
        """Whether a part below a blank row holds other kinds of cells than the table above."""
        head = kinds_of_columns(sample[header.stop - 1 : header.stop])
        is_other_head = any(kind != "text" for kind, _ in self._differences(head))
        return is_other_head or bool(self._differences(kinds_of_columns(sample[header.stop :])))

    def _differences(self, kinds: dict[int, Kind]) -> list[tuple[Kind, Kind]]:
        """The kinds of the table's columns that are others here, and what they are here."""
        pairs = [(kind, kinds.get(slot, "")) for slot, kind in self._kinds.items()]
        return [(kind, other) for kind, other in pairs if kind and other and kind != other]

    def _has_new_names(self, row: GridRow) -> bool:
        """Whether a row holds usual names of fields, and not those of the table above."""
        texts = [row.texts[slot] for slot in row.entries()]
        is_repeated = any(set(texts) <= set(names) for names in self._header_texts)
        return not is_repeated and sum(map(is_only_field_name, texts)) * 2 >= len(texts)

    def _waiting_header(self, waiting: list[GridRow], sample: list[GridRow]) -> Header | None:
        """What names the columns of this part from above the blank row over it."""
        if find_header(sample, needs_proof=True):
            return None
        header = find_header([*waiting, *sample], needs_proof=True)
        return header if header and header.stop == len(waiting) else None

    def _goes_on(self, sample: Sequence[GridRow]) -> bool:
        """Whether a part is rows of the table above: of its kinds, with no title nor new names."""
        first = sample[0]
        is_row = len(first.entries()) > 1 and not self._has_new_names(first)
        if not self._columns or not is_row or not self._is_within(sample):
            return False
        return len(self._differences(kinds_of_columns(sample))) * 2 < len(first.entries())

    def _end_above(self, sample: Sequence[GridRow]) -> None:
        """End the table above a part that does not go on with it, unless it stands beside it."""
        end = max((column.stop for column in self._columns if column.name), default=0)
        if sample[0].extent[0] < end:
            self._end()

    def _is_within(self, sample: Sequence[GridRow]) -> bool:
        named = [column for column in self._columns if column.name]
        low, high = self._columns[0].start, named[-1].stop
        extents = [row.extent for row in sample]
        return all(low <= first and last < high for first, last in extents)

    def _begin(self, header: Header, rows: Sequence[GridRow], body: Sequence[GridRow]) -> None:
        self._end()
        self._columns = header.columns
        is_plain = all(column.stop == column.start + 1 for column in header.columns)
        self._names = [column.name for column in header.columns] if is_plain else ()
        end = max((column.stop for column in header.columns if column.name), default=0)
        self._header_texts = [row.texts[:end] for row in rows[header.start : header.stop]]
        self._kinds = kinds_of_columns(body)
        self._records = _Records(self._grid.name, header.columns, self._found)

    def _end(self) -> None:
        if self._records:
            self._records.close()
        self._records = None
        self._columns = ()

    def _body(self, rows: Iterable[GridRow]) -> Iterator[tuple[int, str]]:
        end = max((column.stop for column in self._columns if column.name), default=0)
        beside = list[GridRow]()
        for row in rows:
            is_parted = len(row.texts) > end + 1 and not row.texts[end] and any(row.texts[end:])
            if is_parted and self._may_have_more and len(beside) < MOST_ROWS_BESIDE:
                beside.append(row.part(end, len(row.texts)))
                row = row.part(0, end)
            if not any(row.texts) or row.texts[:end] in self._header_texts:
                continue
            yield self._read_row(row)
        if beside:
            grid = self._table_beside(beside)
            yield from _GridReader(grid, self._found, self._depth + 1).sentences()

    def _read_row(self, row: GridRow) -> tuple[int, str]:
        if _is_title(row):
            return self._plain(row)
        if self._records:
            self._records.add(row)
        if len(self._names) >= len(row.texts):
            return row.number, named_values(self._names, row.texts)
        return row.number, named_values(*self._by_column(row))

    def _table_beside(self, rows: Sequence[GridRow]) -> Grid:
        """What stands to the right of a table, parted from it by a blank column."""
        first = rows[0].number
        slots = list[Sequence[GridCell]]()
        for row in rows:
            slots += [()] * (row.number - first - len(slots))
            slots.append(row.cells)
        grid = self._grid
        return Grid(tuple(slots), grid.name, first, grid.has_row_places, grid.needs_proof)

    def _by_column(self, row: GridRow) -> tuple[list[str], list[str]]:
        """Names and words of a row's columns, and of what stands beyond them."""
        names, texts = list[str](), list[str]()
        for column in self._columns:
            names.append(column.name)
            texts.append(row.text(column.start, column.stop))
        width = self._columns[-1].stop
        beyond = [row.texts[slot] for slot in row.entries() if slot >= width]
        return names + [""] * len(beyond), texts + beyond


def _is_title(row: GridRow) -> bool:
    """Whether one cell is all of a row: it spans others, or is too long to be a value of many."""
    texts = row.texts
    if texts[0] and row.cells[0] is row.cells[-1]:
        return len(texts) > 1
    if len(texts) > 2 and texts.count("") == len(texts) - 1:
        return len(max(texts, key=len)) > MOST_NAME_CHARS
    return row.cells[0].columns > 1 and len(row.entries()) == 1


def _plain(row: GridRow) -> tuple[int, str]:
    """A row whose columns have no names; what ends in a colon names the next cell."""
    line = ""
    for slot in row.entries():
        is_value = line.endswith(":") and not row.texts[slot].endswith(":")
        separator = " " if is_value else "; " * bool(line)
        line += separator + re.sub(r"(?<!\s)\s++:$", ":", row.texts[slot])
    return row.number, ended(line)


def _line(row: GridRow) -> tuple[int, str]:
    """A row of what may be no table at all."""
    return row.number, " ".join([row.texts[slot] for slot in row.entries()])


def _pairs(row: GridRow, names: Set[int]) -> tuple[int, str]:
    """A row of names in these slots, each with its values; where it has none, the name alone."""
    parts = list[str]()
    for name, *values in row.pairs(names):
        name = name.rstrip(": ")
        parts.append(f"{name}: {'; '.join(values)}" if values else name)
    return row.number, ended("; ".join(filter(None, parts)))


class _Records:
    """The rows of one table as values, for as long as the document may keep more of them."""

    def __init__(self, name: str, columns: Sequence[Column], found: FoundTables) -> None:
        self._name = name
        self._columns = columns
        self._found = found
        self._cells = 0
        self._first_row = 0
        self._rows: list[tuple[Cell, ...]] = []

    def add(self, row: GridRow) -> None:
        """The next row, and blank ones up to it."""
        if self._cells > self._found.cells_left:
            return
        if not self._rows:
            self._first_row = row.number
        blanks = row.number - self._first_row - len(self._rows)
        self._cells += len(self._columns) + blanks
        if self._cells > self._found.cells_left:
            self._rows.clear()
            return
        self._rows += [()] * blanks
        self._rows.append(tuple([_value(row, column) for column in self._columns]))

    def close(self) -> None:
        """Add the table to those found, if it has columns and the document may keep it."""
        used = [at for at, column in enumerate(self._columns) if column.name or self._is_used(at)]
        if not self._rows or len(used) < 2 or self._cells > self._found.cells_left:
            return
        rows = self._rows
        if len(used) < len(self._columns):
            rows = [tuple([row[at] for at in used]) if row else () for row in rows]
        headings = tuple(self._columns[at].name for at in used)
        self._found.tables.append(Table(self._name, headings, tuple(rows), self._first_row))
        self._found.cells_left -= self._cells

    def _is_used(self, at: int) -> bool:
        """Whether a column without a name holds words, which may be its rows' names."""
        cells = [row[at] for row in self._rows if row]
        return any(isinstance(cell, str) and not cell.isdecimal() for cell in cells)


def _value(row: GridRow, column: Column) -> Cell:
    if column.stop == column.start + 1:
        if column.start >= len(row.cells):
            return None
        value = row.cells[column.start].value
        return value if value is not None else row.texts[column.start] or None
    cells = {id(cell): cell for cell in row.cells[column.start : column.stop]}
    values = [cell.value for cell in cells.values() if cell.value is not None]
    return values[0] if len(values) == 1 else row.text(column.start, column.stop) or None


def laid_out(
    rows: Iterable[Sequence[GridCell]],
    *,
    name: str = "",
    first_row: int = 1,
    has_row_places: bool = False,
    needs_proof: bool = False,
) -> Grid:
    """A grid of rows that list each cell once, as HTML, Word and OpenDocument do.

    Cells that would take more than ``MOST_SLOTS`` slots in all stand in one slot each.
    """
    laid = list[Sequence[GridCell]]()
    spans: Spans = {}
    left = MOST_SLOTS
    for row in rows:
        slots, spans = laid_row(row, spans if left > 0 else {}, left)
        left -= len(slots)
        laid.append(tuple(slots))
    return Grid(tuple(laid), name, first_row, has_row_places, needs_proof)


def laid_row(
    row: Sequence[GridCell],
    spans: Spans,
    most_slots: int = MOST_SLOTS,
) -> tuple[Sequence[GridCell], Spans]:
    """The slots of a row below ``spans``, and what spans the rows below it."""
    if not spans and all(cell.columns == cell.rows == 1 for cell in row):
        return row, {}
    slots = list[GridCell]()
    below: Spans = {}

    def put(cell: GridCell, rows: int) -> None:
        if rows > 1:
            below[len(slots)] = cell, rows - 1
        slots.append(cell)

    for cell in row:
        while len(slots) in spans:
            put(*spans[len(slots)])
        width = min(cell.columns, MOST_SPAN) if len(slots) < most_slots else 1
        for _ in range(max(1, width)):
            put(cell, min(cell.rows, MOST_SPAN))
    for slot in sorted(slot for slot in spans if slot >= len(slots)):
        slots += [EMPTY] * (slot - len(slots))
        put(*spans[slot])
    return slots, below
