"""Tables that a page draws: the cells between rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any

from edge_node.documents.grids import Grid, GridCell
from edge_node.documents.header_rows import find_header, has_pairs
from edge_node.plugins.parsers.pdf_page import Box, Word
from edge_node.plugins.parsers.pdf_rows import Row, is_value, line_of, rows_of

NEAR = 3.0  # points: rules that are nearer are one, and touch those that end there
MAX_RULES = 3_000  # of a page
MAX_LINES = 300  # of a table in each direction
FRAME_ROWS = 12  # lines of text in one cell of few: a frame around columns, no cell
SAMPLE = 40  # rows, to find what names the columns
SHORTEST = 5.0  # points: a shorter rule is a tick


@dataclass(slots=True)
class Table(Box):
    """A table's cells: ``slots`` as text, or ``cells`` with their spans.

    ``frames``: columns of text that rules part; then there are no cells. ``content``: what
    stands in the frames, once that is arranged. ``columns``: where they begin and end.
    """

    slots: list[tuple[str, ...]] = field(default_factory=list)
    cells: list[list[GridCell]] = field(default_factory=list)
    frames: list[list[Word]] = field(default_factory=list)
    content: list[list[Any]] = field(default_factory=list)
    columns: list[tuple[float, float]] = field(default_factory=list)

    def grid(self, clean: Any) -> Grid:
        """As a grid; ``clean`` makes one line of a cell's lines."""
        rows = self.cells or [[GridCell(text) for text in row] for row in self.slots]
        slots = []
        for row in rows:
            cells = {id(cell): cell for cell in row}
            fresh = {key: _with_text(cell, clean(cell.text)) for key, cell in cells.items()}
            slots.append(tuple(fresh[id(cell)] for cell in row))
        return Grid(tuple(slots))

    def has_columns_of(self, above: Table) -> bool:
        """Whether its columns stand where another one's do: at their left, right or middle."""
        if len(self.columns) != len(above.columns):
            return False
        pairs = zip(self.columns, above.columns, strict=True)
        return all(_are_aligned(one, other) for one, other in pairs)


def _are_aligned(one: tuple[float, float], other: tuple[float, float]) -> bool:
    left, right = one[0] - other[0], one[1] - other[1]
    return min(abs(left), abs(right), abs(left + right) / 2) <= 2 * NEAR


def continued(grid: Grid, above: Grid) -> Grid:
    """A grid with the column names of the one that it goes on from, if it has none of its own."""
    rows, rows_above = (list(islice(next(each.parts(), ()), SAMPLE)) for each in (grid, above))
    header = None if has_pairs(rows_above) else find_header(rows_above)
    if header is None or find_header(rows, needs_proof=True):
        return grid
    names = [row.cells for row in rows_above[header.start : header.stop]]
    marked = {id(cell): replace(cell, is_heading=True) for row in names for cell in row}
    heads = [tuple(marked[id(cell)] for cell in row) for row in names]
    return Grid((*heads, *grid.slots))


def _with_text(cell: GridCell, text: str) -> GridCell:
    return GridCell(text, columns=cell.columns, rows=cell.rows, is_heading=cell.is_heading)


@dataclass(slots=True)
class _Rule:
    """A straight line: ``at`` across its direction, from ``start`` to ``end`` along it."""

    at: float
    start: float
    end: float
    is_level: bool


def ruled_tables(words: Sequence[Word], rules: Sequence[Box]) -> tuple[list[Table], list[Word]]:
    """The tables that rules draw, and the words that stand in none."""
    rest = list(words)
    tables = list[Table]()
    if len(rules) > MAX_RULES:
        return tables, rest
    for group in _connected(_joined(rules)):
        columns, rows = _edges(group, is_level=False), _edges(group, is_level=True)
        if not (2 < len(columns) <= MAX_LINES and 2 < len(rows) <= MAX_LINES):
            continue
        box = Box(columns[0] - 1, rows[0] - 1, columns[-1] + 1, rows[-1] + 1)
        inside = [word for word in rest if box.contains(word)]
        table = _table(group, columns, rows, inside)
        if table is not None:
            tables.append(table)
            taken = set(map(id, inside))
            rest = [word for word in rest if id(word) not in taken]
    return tables, rest


def _joined(rules: Iterable[Box]) -> list[_Rule]:
    """Rules, those in one line and without a gap as one."""
    lines = list[_Rule]()
    for box in rules:
        x, y = box.centre
        if max(box.width, box.height) < SHORTEST:
            continue
        if box.width >= box.height:
            lines.append(_Rule(y, box.left, box.right, is_level=True))
        else:
            lines.append(_Rule(x, box.top, box.bottom, is_level=False))
    lines.sort(key=lambda rule: (rule.is_level, round(rule.at / NEAR), rule.start))
    found = list[_Rule]()
    for line in lines:
        last = found[-1] if found else None
        is_same = last is not None and last.is_level == line.is_level
        if last and is_same and abs(last.at - line.at) < NEAR and line.start <= last.end + NEAR:
            last.end = max(last.end, line.end)
        else:
            found.append(line)
    return found


def _connected(lines: Sequence[_Rule]) -> list[list[_Rule]]:
    """Rules that touch one another."""
    parents = list(range(len(lines)))

    def root(at: int) -> int:
        while parents[at] != at:
            parents[at] = parents[parents[at]]
            at = parents[at]
        return at

    level = [at for at, line in enumerate(lines) if line.is_level]
    upright = [at for at, line in enumerate(lines) if not line.is_level]
    for one in level:
        for other in upright:
            if _touch(lines[one], lines[other]):
                parents[root(one)] = root(other)
    groups = defaultdict[int, list[_Rule]](list)
    for at, line in enumerate(lines):
        groups[root(at)].append(line)
    return [group for group in groups.values() if len(group) > 3]


def _touch(level: _Rule, upright: _Rule) -> bool:
    return (
        level.start - NEAR <= upright.at <= level.end + NEAR
        and upright.start - NEAR <= level.at <= upright.end + NEAR
    )


def _edges(group: Sequence[_Rule], *, is_level: bool) -> list[float]:
    """Where rows (or columns) begin and end: at rules, and where those across them end."""
    places = [rule.at for rule in group if rule.is_level == is_level]
    across = [rule for rule in group if rule.is_level != is_level]
    if across:
        first, last = min(rule.start for rule in across), max(rule.end for rule in across)
        places += [end for end in (first, last) if all(abs(end - at) > 3 * NEAR for at in places)]
    found = list[float]()
    for place in sorted(places):
        if not found or place - found[-1] > NEAR:
            found.append(place)
    return found


def _table(
    group: Sequence[_Rule], columns: list[float], rows: list[float], words: Sequence[Word]
) -> Table | None:
    owner = _owners(group, columns, rows)
    inside = defaultdict[tuple[int, int], list[Word]](list)
    for word in words:
        inside[owner[_slot(word, columns, rows)]].append(word)
    if len(inside) < 3:
        return None
    box = Box(columns[0], rows[0], columns[-1], rows[-1])
    tallest = max(len(rows_of(part)) for part in inside.values())
    if tallest > FRAME_ROWS and len(rows) <= 5 and not _has_columns_of_values(inside.values()):
        frames = [inside[slot] for slot in sorted(inside)]
        return Table(box.left, box.top, box.right, box.bottom, frames=frames)
    if any(map(_is_structured, inside.values())):
        return None
    cells = list(_cells(owner, inside, len(rows) - 1, len(columns) - 1))
    edges = list(pairwise(columns))
    return Table(box.left, box.top, box.right, box.bottom, cells=cells, columns=edges)


def _is_structured(words: Sequence[Word]) -> bool:
    """Whether a cell holds a table itself: its rules are a frame around more than they part."""
    lines = [line_of(row) for row in rows_of(words)]
    return len(lines) > 2 and 2 * sum(line.is_spaced for line in lines) > len(lines)


def _owners(
    group: Sequence[_Rule], columns: list[float], rows: list[float]
) -> dict[tuple[int, int], tuple[int, int]]:
    """For each slot the first one of its cell: no rule stands between those of a cell."""
    upright = [rule for rule in group if not rule.is_level]
    level = [rule for rule in group if rule.is_level]
    slots = [(row, column) for row in range(len(rows) - 1) for column in range(len(columns) - 1)]
    owner = {slot: slot for slot in slots}
    walls_left = _walls(upright, columns, rows)
    walls_above = _walls(level, rows, columns)

    def root(slot: tuple[int, int]) -> tuple[int, int]:
        while owner[slot] != slot:
            slot = owner[slot]
        return slot

    for row, column in slots:
        if column and (column, row) not in walls_left:
            one, other = root((row, column - 1)), root((row, column))
            owner[max(one, other)] = min(one, other)
        if row and (row, column) not in walls_above:
            one, other = root((row - 1, column)), root((row, column))
            owner[max(one, other)] = min(one, other)
    members = defaultdict[tuple[int, int], list[tuple[int, int]]](list)
    for slot in slots:
        members[root(slot)].append(slot)
    found = dict[tuple[int, int], tuple[int, int]]()
    for first, group_slots in members.items():
        height = max(row for row, _ in group_slots) - min(row for row, _ in group_slots) + 1
        width = max(column for _, column in group_slots) - min(c for _, c in group_slots) + 1
        is_rectangle = height * width == len(group_slots)
        for slot in group_slots:
            found[slot] = first if is_rectangle else slot
    return found


def _walls(
    rules: Sequence[_Rule], places: list[float], across: list[float]
) -> set[tuple[int, int]]:
    """(which place, which slot along it) where a rule stands."""
    found = set[tuple[int, int]]()
    for rule in rules:
        near = [at for at, place in enumerate(places) if abs(place - rule.at) <= NEAR]
        for slot, (start, end) in enumerate(pairwise(across)):
            if rule.start - NEAR <= (start + end) / 2 <= rule.end + NEAR:
                found.update((at, slot) for at in near)
    return found


def _slot(word: Word, columns: list[float], rows: list[float]) -> tuple[int, int]:
    x, y = word.centre
    row = sum(y > edge for edge in rows[1:-1])
    column = sum(x > edge for edge in columns[1:-1])
    return row, column


def _cells(
    owner: dict[tuple[int, int], tuple[int, int]],
    inside: dict[tuple[int, int], list[Word]],
    height: int,
    width: int,
) -> Iterator[list[GridCell]]:
    """Each row of slots; a row whose cells hold lines of values side by side is as many rows."""
    spans = defaultdict[tuple[int, int], list[tuple[int, int]]](list)
    for slot, first in owner.items():
        spans[first].append(slot)
    made = dict[tuple[int, int], GridCell]()
    for first, slots in spans.items():
        rows = slots[-1][0] - slots[0][0] + 1
        columns = max(column for _, column in slots) - min(column for _, column in slots) + 1
        lines = rows_of(inside.get(first, ()))
        text = "\n".join(line_of(line).text for line in lines)
        made[first] = GridCell(text, columns=columns, rows=rows)
    for row in range(height):
        firsts = [owner[row, column] for column in range(width)]
        parts = {first: inside.get(first, []) for first in firsts if made[first].rows == 1}
        if _has_columns_of_values(parts.values()):
            yield from _unstacked(firsts, parts, made)
        else:
            yield [made[first] for first in firsts]


def _has_columns_of_values(parts: Iterable[Sequence[Word]]) -> bool:
    """Whether two cells or more hold several lines, one of them values only."""
    stacks = [[line_of(row).text for row in rows_of(part)] for part in parts if len(part) > 2]
    tall = [texts for texts in stacks if len(texts) > 2]
    return len(tall) > 1 and any(sum(map(is_value, texts)) >= 0.6 * len(texts) for texts in tall)


def _unstacked(
    firsts: Sequence[tuple[int, int]],
    parts: dict[tuple[int, int], list[Word]],
    made: dict[tuple[int, int], GridCell],
) -> Iterator[list[GridCell]]:
    place = {id(word): first for first, words in parts.items() for word in words}
    rows = list[dict[tuple[int, int], str]]()
    bottom = 0.0
    for row in rows_of([word for words in parts.values() for word in words]):
        texts = defaultdict[tuple[int, int], list[Box]](list)
        for word in row.items:
            texts[place[id(word)]].append(word)
        cells = {first: line_of(Row(words)).text for first, words in texts.items()}
        is_rest = (
            rows
            and firsts[0] not in cells
            and len(cells) == 1
            and not any(map(is_value, cells.values()))
            and all(first in rows[-1] for first in cells)
            and row.top - bottom < 0.6 * row.size
        )
        if is_rest:
            for first, text in cells.items():
                rows[-1][first] += f"\n{text}"
        else:
            rows.append(cells)
        bottom = row.bottom
    for cells in rows:
        line = list[GridCell]()
        for first in firsts:
            if first in parts:
                columns = made[first].columns
                line.append(GridCell(cells.get(first, ""), columns=columns))
            else:
                line.append(made[first])
        yield line
