"""From the words and rules of a page to regions in reading order: columns, tables, paragraphs."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import median

from edge_node.plugins.parsers.pdf_grids import Table, ruled_tables
from edge_node.plugins.parsers.pdf_page import Box, Word
from edge_node.plugins.parsers.pdf_rows import (
    SPACED,
    Item,
    Line,
    Row,
    is_right_to_left_row,
    is_value,
    line_of,
    rows_of,
    segments_of,
)

MAX_DEPTH = 12  # of columns in columns
MAX_ROWS = 3_000  # of a page: more are taken as they come
NARROWEST = 0.35  # of a line's height: a gap that parts columns in many rows
TIGHTEST = 0.12  # of a line's height: a gap that parts columns whose other rows leave more
GUTTERS = (
    (2, 1.2),
    (3, 0.9),
    (4, 0.7),
    (6, 0.45),
)  # rows, and how wide a gap that they share must be
FEWEST_ROWS = 8  # with a gutter that is looked for in a whole region
CROSSING = 0.2  # of its rows run across that
MAX_BINS = 4_000
PROSE_CHARS = 18  # in a line of a column of prose, on the average
MOST_BROKEN = 0.25  # of the lines
PROSE_SHARE = 0.8  # of a region's letters stand in such columns
PROSE_FILL = 0.6  # of a column's width is filled by its lines
RECENT = 8  # rows whose distances a heading below them is compared with
LOOSE = 3.0  # row distances that end a table
Gap = tuple[float, float]


@dataclass(slots=True)
class Paragraphs:
    """Lines of one column, from top to bottom."""

    lines: list[Line]


Region = Paragraphs | Table


def regions(
    words: Sequence[Word], rules: Sequence[Box], blank: float | None = None
) -> list[Region]:
    """What stands on a page, in the order of reading. ``blank``: as ``narrowest`` gives it."""
    insets, rest = ruled_tables(words, rules)
    least = narrowest(rows_of(words)) if blank is None else blank
    for inset in insets:
        if inset.frames:
            inset.content = [_merged(_arranged(frame, 1, least)) for frame in inset.frames]
    return _merged(_arranged([*rest, *insets], 0, least))


def sparse_tables(words: Sequence[Word]) -> list[Box]:
    """Where tables stand, drawn by no rule, some of whose cells are empty."""
    rows = rows_of(words)
    if len(rows) > MAX_ROWS:
        return []
    found = list[Box]()
    least = narrowest(rows)
    for band in _bands(rows, least):
        gutters = _gutters(band.rows, least * band.rows[0].size, TIGHTEST * band.rows[0].size)
        filled = sum(len(_parted(row, gutters)) for row in band.rows)
        is_table = bool(band.gutters) and not band.is_prose
        if is_table and filled < (len(gutters) + 1) * len(band.rows):
            left, right = min(row.left for row in band.rows), max(row.right for row in band.rows)
            found.append(Box(left, band.rows[0].top, right, band.rows[-1].bottom))
    return found


def narrowest(rows: Sequence[Row]) -> float:
    """How much of a line's height a gap must be to part columns in many rows: more than a blank."""
    blanks = list[float]()
    for row in rows:
        gaps = (right.left - left.right for left, right in pairwise(row.items))
        blanks += [gap / row.size for gap in gaps if 0 < gap < row.size]
    usual = median(blanks) if blanks else 0.0
    return max(NARROWEST, 1.6 * usual)


def _arranged(items: Sequence[Item], depth: int, least: float) -> Iterator[Region]:
    rows = rows_of(items)
    if depth > MAX_DEPTH or len(rows) > MAX_ROWS:
        yield from (region for row in rows for region in _as_lines([row]))
        return
    for band in _prose_columns(rows, least):
        if not band.gutters:
            yield from _as_lines(band.rows)
        elif band.is_prose:
            columns = _columns(band.rows, band.gutters)
            if is_right_to_left_row([word for row in band.rows for word in row.items]):
                columns.reverse()
            for column in columns:
                yield from _arranged(column, depth + 1, least)
        else:
            yield from _tabular(band)


def _merged(found: Iterable[Region]) -> list[Region]:
    """Lines of regions that follow one another are one region's."""
    merged = list[Region]()
    for region in found:
        last = merged[-1] if merged else None
        if isinstance(region, Paragraphs) and isinstance(last, Paragraphs):
            last.lines.extend(region.lines)
        else:
            merged.append(region)
    return merged


def _as_lines(rows: Sequence[Row]) -> Iterator[Region]:
    for row in rows:
        insets = [item for item in row.items if isinstance(item, Table)]
        words = [item for item in row.items if isinstance(item, Word)]
        for part in rows_of(words) if insets else [row]:
            if part.items:
                yield Paragraphs([line_of(part)])
        for inset in insets:
            if inset.frames:
                for content in inset.content:
                    yield from content
            else:
                yield inset


# -------------------------------------------------------------------------------------- bands


@dataclass(slots=True)
class _Band:
    """Rows that follow one another; with ``gutters`` they stand in columns."""

    rows: list[Row]
    gutters: list[Gap] = field(default_factory=list)
    is_prose: bool = False


def _prose_columns(rows: Sequence[Row], least: float) -> Iterator[_Band]:
    """Bands; first by a gutter that most rows leave free, with prose on both sides."""
    gutter = _main_gutter(rows, least)
    if gutter is None:
        yield from _bands(rows, least)
        return
    middle = sum(gutter) / 2
    for _, run in groupby(rows, key=lambda row: _crosses(row, gutter)):
        part = list(run)
        if _crosses(part[0], gutter) or not _has_both_sides(part, middle):
            yield from _bands(part, least)
            continue
        yield _Band(part, [gutter], is_prose=True)


def _main_gutter(rows: Sequence[Row], least: float) -> Gap | None:
    """A gap that four fifths of the rows leave free, with columns of prose beside it."""
    if len(rows) < FEWEST_ROWS:
        return None
    size = median(row.size for row in rows)
    left, right = min(row.left for row in rows), max(row.right for row in rows)
    step = max(1.0, size / 4)
    count = int((right - left) / step) + 1
    if not 8 < count < MAX_BINS:
        return None
    cover = [0] * (count + 1)
    for row in rows:
        free = 0
        for item in row.items:
            start = max(free, int((item.left - left) / step))
            free = max(free, int((item.right - left) / step) + 1)
            for at in range(start, free):
                cover[at] += 1
    most = CROSSING * len(rows)
    inner = range(count // 6, count - count // 6)
    best = _widest([at for at in inner if cover[at] <= most])
    if not best or len(best) * step < least * size:
        return None
    lowest = min(cover[at] for at in best)
    core = _widest([at for at in best if cover[at] == lowest])
    best = core if len(core) * step >= least * size else best
    gutter = left + best[0] * step, left + (best[-1] + 1) * step
    part = [row for row in rows if not _crosses(row, gutter)]
    is_prose = len(part) >= FEWEST_ROWS and _is_prose(_Band(part, [gutter]))
    return gutter if is_prose else None


def _widest(places: Sequence[int]) -> list[int]:
    """The longest run of numbers that follow one another."""
    longest, run = list[int](), list[int]()
    for at in places:
        run = [*run, at] if run and at == run[-1] + 1 else [at]
        if len(run) > len(longest):
            longest = run
    return longest


def _crosses(row: Row, gutter: Gap) -> bool:
    """Whether a row runs on over a gutter: nothing parts it there but a blank, or not even that."""
    middle = sum(gutter) / 2
    gap = _gap_at(row, middle)
    return gap is not None and gap < 0.6 * min(row.size, gutter[1] - gutter[0])


def _has_both_sides(rows: Sequence[Row], middle: float) -> bool:
    left = sum(row.left < middle for row in rows)
    right = sum(row.right > middle for row in rows)
    return left > 1 and right > 1


def _bands(rows: Sequence[Row], least: float) -> Iterator[_Band]:
    single = list[Row]()
    at = 0
    while at < len(rows):
        band, end = _band_from(rows, at, least)
        if not band:
            single.append(rows[at])
            at += 1
            continue
        if band.is_prose:
            while single and _fits_above(single[-1], band, least):
                band.rows.insert(0, single.pop())
        if single:
            yield _Band(single)
            single = []
        yield band
        at = end
    if single:
        yield _Band(single)


def _band_from(rows: Sequence[Row], start: int, least: float) -> tuple[_Band | None, int]:
    """The longest run of rows from this one on that share gaps, and where it ends."""
    size = rows[start].size
    spread = _spread(rows, start, least)
    if len(spread) < 2:
        return None, start
    wide = next(wide for count, wide in reversed(GUTTERS) if len(spread) >= count)
    needed = size * wide * least / NARROWEST
    inside = rows[start : spread[-1] + 1]
    gutters = _shared(inside, _gutters(inside, needed, TIGHTEST * size))
    if not gutters:
        return None, start
    return _Band(list(inside), gutters, _is_prose(_Band(list(inside), gutters))), spread[-1] + 1


def _spread(rows: Sequence[Row], start: int, least: float) -> list[int]:
    """Which rows from this one on have something on both sides of gaps that they share."""
    first = rows[start]
    narrow = least * first.size
    free = _free(first)
    is_apart = start + 1 < len(rows) and _are_apart(first, rows[start + 1])
    if not is_apart and not _inner(free, [first], narrow):
        return []
    left, right = first.left, first.right
    widest = _widths(free, (left, right), narrow)
    found = [start]
    for end in range(start + 1, len(rows)):
        row = rows[end]
        if _begins_anew(rows[max(start, end - RECENT) : end], row, least):
            break
        free = _intersected(free, _free(row))
        left, right = min(left, row.left), max(right, row.right)
        widths = _widths(free, (left, right), narrow)
        if not widths or _is_loss(widest, widths, first.size, len(found)):
            break
        widest = widths
        if len(segments_of(row, least)) > 1 or _are_apart(rows[end - 1], row):
            found.append(end)
    return found


def _is_loss(before: list[float], after: list[float], size: float, spread: int) -> bool:
    """Whether the next row runs across what were gutters, with a blank there by chance."""
    if spread >= 3 and len(before) >= 2 and 2 * len(after) <= len(before):
        return True
    if spread >= 2 and len(before) >= 4 and 2 * len(after) <= len(before):
        return True
    return spread >= 3 and max(after) < min(0.6 * size, 0.5 * max(before))


def _gutters(rows: Sequence[Row], needed: float, tightest: float) -> list[Gap]:
    """Gaps that all rows share and most leave wide: in a heading names may stand close together."""
    free = _free(rows[0])
    for row in rows[1:]:
        free = _intersected(free, _free(row))
    found = list[Gap]()
    for gap in _inner(free, rows, tightest):
        middle = sum(gap) / 2
        widths = [width for row in rows if (width := _gap_at(row, middle)) is not None]
        if widths and median(widths) >= needed:
            found.append(gap)
    return found


def _shared(rows: Sequence[Row], gutters: list[Gap]) -> list[Gap]:
    """Gutters without the narrower one beside a column that only one row has."""
    while gutters:
        filled = Counter[int]()
        for row in rows:
            filled.update(_parted(row, gutters).keys())
        lone = [at for at in range(len(gutters) + 1) if filled[at] < 2]
        if not lone:
            break
        beside = [at for at in (lone[0] - 1, lone[0]) if 0 <= at < len(gutters)]
        weakest = min(beside, key=lambda at: gutters[at][1] - gutters[at][0])
        gutters = gutters[:weakest] + gutters[weakest + 1 :]
    return gutters


def _gap_at(row: Row, x: float) -> float | None:
    """How far apart the items on both sides stand; None where there are none on one side."""
    before = [item.right for item in row.items if item.left < x]
    after = [item.left for item in row.items if item.right > x]
    return min(after) - max(before) if before and after else None


def _begins_anew(above: Sequence[Row], row: Row, least: float) -> bool:
    """Whether a row is a heading below a table: it stands alone, and further away than rows do."""
    gap = row.top - above[-1].bottom
    if gap < 0.9 * row.size or len(segments_of(row, least)) > 1 or len(above) < 2:
        return False
    recent = [below.top - each.bottom for each, below in pairwise(above)]
    return gap > 1.8 * max(median(recent), 0.1 * row.size)


def _are_apart(row: Row, following: Row) -> bool:
    """Whether two rows stand beside one another, in columns whose lines are not level."""
    is_beside = (
        row.right < following.left - 0.5 * row.size or following.right < row.left - 0.5 * row.size
    )
    return is_beside and following.top < row.bottom + 1.5 * row.size


def _free(row: Row) -> list[Gap]:
    """Where nothing stands in a row, the margins too."""
    gaps = list[Gap]()
    right = float("-inf")
    for item in row.items:
        if item.left > right:
            gaps.append((right, item.left))
        right = max(right, item.right)
    gaps.append((right, float("inf")))
    return gaps


def _intersected(some: list[Gap], others: list[Gap]) -> list[Gap]:
    found = list[Gap]()
    at = to = 0
    while at < len(some) and to < len(others):
        left, right = max(some[at][0], others[to][0]), min(some[at][1], others[to][1])
        if left < right:
            found.append((left, right))
        if some[at][1] < others[to][1]:
            at += 1
        else:
            to += 1
    return found


def _widths(gaps: list[Gap], extent: Sequence[float], least: float) -> list[float]:
    left, right = extent
    inner = (b - a for a, b in gaps if a >= left and b <= right)
    return [width for width in inner if width >= least]


def _inner(gaps: list[Gap], rows: Sequence[Row], least: float) -> list[Gap]:
    """Gaps with something on both sides."""
    left, right = min(row.left for row in rows), max(row.right for row in rows)
    return [(a, b) for a, b in gaps if b - a >= least and a >= left and b <= right]


def _fits_above(row: Row, band: _Band, least: float) -> bool:
    """Whether a row belongs to one of the columns that begin below it."""
    below = band.rows[0]
    if below.top - row.bottom > 1.5 * row.size or len(segments_of(row, least)) > 1:
        return False
    return any(row.right <= a + 1 or row.left >= b - 1 for a, b in band.gutters)


def _columns(rows: Sequence[Row], gutters: Sequence[Gap]) -> list[list[Item]]:
    columns: list[list[Item]] = [[] for _ in range(len(gutters) + 1)]
    for row in rows:
        for item in row.items:
            columns[_column(item, gutters)].append(item)
    return columns


def _parted(row: Row, gutters: Sequence[Gap]) -> dict[int, list[Item]]:
    """A row's items by their columns."""
    middles = [(a + b) / 2 for a, b in gutters]
    cells = dict[int, list[Item]]()
    for item in row.items:
        at = bisect_left(middles, (item.left + item.right) / 2)
        cells.setdefault(at, []).append(item)
    return cells


def _column(item: Box, gutters: Sequence[Gap]) -> int:
    x = item.centre[0]
    return sum(x > (a + b) / 2 for a, b in gutters)


def _is_prose(band: _Band) -> bool:
    """Whether lines go on in the same column rather than in the next one."""
    columns: list[list[tuple[int, float]]] = [[] for _ in range(len(band.gutters) + 1)]
    edges = [(float("inf"), float("-inf"))] * len(columns)
    broken = count = 0
    for row in band.rows:
        for at, cell in _parted(row, band.gutters).items():
            left, right = cell[0].left, max(item.right for item in cell)
            gaps = (after.left - before.right for before, after in pairwise(cell))
            columns[at].append((sum(map(_weight, cell)), right - left))
            edges[at] = min(edges[at][0], left), max(edges[at][1], right)
            broken += any(gap > SPACED * row.size for gap in gaps)
            count += 1
    if broken > MOST_BROKEN * count:
        return False
    whole = sum(chars for column in columns for chars, _ in column)
    prose = prose_columns = 0
    for column, (left, right) in zip(columns, edges, strict=True):
        if len(column) < 3:
            continue
        lengths = [chars for chars, _ in column]
        fill = median(width for _, width in column) / max(1.0, right - left)
        if sum(lengths) / len(lengths) >= PROSE_CHARS and fill >= PROSE_FILL:
            prose += sum(lengths)
            prose_columns += 1
    return prose_columns >= 2 and prose >= PROSE_SHARE * whole


def _weight(item: Item) -> int:
    """Letters of a word; a table beside prose counts as much as its lines would."""
    if isinstance(item, Word):
        return len(item.text) * (2 if item.text > "\u2e80" else 1) + 1
    return 2 * PROSE_CHARS


# ------------------------------------------------------------------------------------- tables

_LABEL = re.compile(r".{1,60}[:：]$")
_LABELLED = re.compile(r"[^:]{1,40}:\s+\S")


def _tabular(band: _Band) -> Iterator[Region]:
    """Rows in columns: a table, or labels and values, each pair a line."""
    rows = list(band.rows)
    if any(isinstance(item, Table) for row in rows for item in row.items):
        for column in _columns(rows, band.gutters):
            yield from _as_lines(rows_of(column))
        return
    if _are_labelled(rows):
        for row in rows:
            yield Paragraphs(list(_pairs(row)))
        return
    while len(rows) > 2 and len(_parted(rows[0], band.gutters)) < 2:
        yield Paragraphs([line_of(rows.pop(0))])
    after = list[Row]()
    while len(rows) > 2 and len(_parted(rows[-1], band.gutters)) < 2:
        after.insert(0, rows.pop())
    if _is_no_table(rows, band.gutters):
        yield from _as_lines(rows)
    else:
        yield from _split(rows, band.gutters)
    if after:
        yield Paragraphs([line_of(row) for row in after])


_NUMBERING = re.compile(
    r"[(\[]?(?:\.?\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{1,5})[.)\]]?|[-•▪◦–*●○■□▸►\uf0b7\uf0a7·]"
)


def _is_no_table(rows: Sequence[Row], gutters: Sequence[Gap]) -> bool:
    """Whether it is the head of a letter, or a list whose numbers stand apart."""
    if len(gutters) > 1:
        return False
    cells = [_cells(row, gutters) for row in rows]
    labels = [row[0] for row in cells if 0 in row]
    if all(map(_NUMBERING.fullmatch, labels)):
        texts = [row[1] for row in cells if 1 in row]
        return not all(map(is_value, texts))
    return len(rows) == 2


def _split(rows: list[Row], gutters: list[Gap]) -> Iterator[Region]:
    """The rows as tables: where one is far from the one above, another begins."""
    pitches = [below.top - above.top for above, below in pairwise(rows)]
    usual = median(pitches) if pitches else 0
    part = [rows[0]]
    for above, below in pairwise(rows):
        if below.top - above.bottom > LOOSE * max(usual, above.size) and len(part) > 1:
            yield _table(part, gutters)
            part = []
        part.append(below)
    if len(part) > 1:
        yield _table(part, gutters)
    else:
        yield Paragraphs([line_of(part[0])])


def _table(rows: list[Row], gutters: list[Gap]) -> Table:
    cells = [_cells(row, gutters) for row in rows]
    height = median(row.size for row in rows)
    gaps = [below.top - above.bottom for above, below in pairwise(rows)]
    usual = median(gaps)
    heading = _heading_rows(cells, gaps, height)
    groups: list[list[int]] = [[0]]
    for at in range(1, len(rows)):
        is_heading = at < heading
        if is_heading or (at > heading and _continues(cells, at, gaps[at - 1], usual, height)):
            groups[-1].append(at)
        else:
            groups.append([at])
    slots = list[tuple[str, ...]]()
    for group in groups:
        slots.append(
            tuple(
                "\n".join(cells[at][column] for at in group if column in cells[at])
                for column in range(len(gutters) + 1)
            )
        )
    columns = [
        (min(item.left for item in column), max(item.right for item in column))
        for column in _columns(rows, gutters)
        if column
    ]
    left, right = min(row.left for row in rows), max(row.right for row in rows)
    return Table(left, rows[0].top, right, rows[-1].bottom, slots=slots, columns=columns)


def _cells(row: Row, gutters: Sequence[Gap]) -> dict[int, str]:
    return {at: line_of(Row(items)).text for at, items in _parted(row, gutters).items()}


def _heading_rows(cells: Sequence[dict[int, str]], gaps: Sequence[float], height: float) -> int:
    """How many rows at the top are one heading that was broken: there is no value in them."""
    first = next((at for at, row in enumerate(cells) if any(map(is_value, row.values()))), 0)
    if first < 2 or any(gap > 0.6 * height for gap in gaps[: first - 1]):
        return 1
    has_label = [0 in row for row in cells[:first]]
    if sum(has_label) > 1 or len(cells) - first < 2:
        return 1
    return first


def _continues(
    cells: Sequence[dict[int, str]], at: int, gap: float, usual: float, height: float
) -> bool:
    """Whether a row holds only what did not fit into the cells of the row above."""
    row, above = cells[at], cells[at - 1]
    if 0 in row or any(map(is_value, row.values())) or gap > 0.6 * height:
        return False
    if not all(column in above for column in row):
        return False
    return len(row) == 1 or gap < 0.7 * usual


def _are_labelled(rows: Sequence[Row]) -> bool:
    labels = texts = 0
    for row in rows:
        for segment in segments_of(row, 1.0):
            text = line_of(Row(segment)).text
            texts += 1
            labels += bool(_LABEL.match(text) or _LABELLED.match(text))
    starts = [line_of(Row(segments_of(row, 1.0)[0])).text for row in rows]
    begins = sum(bool(_LABEL.match(text) or _LABELLED.match(text)) for text in starts)
    return labels >= 0.4 * texts and begins >= 0.6 * len(rows)


def _pairs(row: Row) -> Iterator[Line]:
    pair = list[Item]()
    has_value = False
    for segment in segments_of(row, 1.0):
        text = line_of(Row(segment)).text
        is_label = bool(_LABEL.match(text) or _LABELLED.match(text))
        if pair and is_label and has_value:
            yield line_of(Row(pair))
            pair = []
        pair = [*pair, *segment]
        has_value = not _LABEL.match(text)
    if pair:
        yield line_of(Row(pair))
