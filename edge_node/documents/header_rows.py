"""Which rows of a table name its columns: decided by comparing them with the rows below."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from edge_node.documents.field_names import field_words, is_field_name, is_only_field_name
from edge_node.documents.grid_cells import GridRow
from edge_node.records import Cell

MOST_PREAMBLE_ROWS = 12
MOST_HEADER_ROWS = 5
MOST_NAME_CHARS = 80  # of a name where only its form speaks for it
MOST_SURE_NAME_CHARS = 250  # where the rows below do
MOSTLY = 0.6  # share of a column's cells that give it its kind
MIN_COUNT = 3  # numbers that count up, so that they may be names
FEW_FIELD_NAMES = 0.34  # share of field names that makes pairs, if the values are of several kinds
Kind = Literal["", "text", "number", "year", "date", "count"]
NO_VALUES = frozenset("- – — / ? … ... n/a na n.a. k.a. #n/a none unknown".split())  # noqa: SIM905
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATE = re.compile(
    r"\d{4}-\d{1,2}(?:-\d{1,2})?(?:[ T]\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?)?"
    r"|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d\d)|\d{1,2}:\d\d(?::\d\d)?"
)
_NUMBER = re.compile(
    r"[(+\-−–~<>≤≥±]{0,2}\s?[€$£¥]?\s?[+\-−–]?\d[\d.,'’\s/:×^\-–]*"
    r"\s?(?:%|‰|°C?|[€$£¥]|[^\W\d_]{1,3}(?:/[^\W\d_]{1,3})?[²³]?)?\)?"
)
_FIGURE = re.compile(r"\d")
_UNIT = re.compile(
    r"[(\[].{1,20}[)\]]|%|[€$£¥]|[^\W\d_]{1,4}(?:/[^\W\d_]{1,4})?(?:[²³]|\s?\^?[23])?"
    r"|°[CF]"
)


@dataclass(frozen=True, slots=True)
class Column:
    """Slots [start, stop) below one name, which is "" where nothing names them."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Header:
    """Rows [start, stop) of a sample name ``columns``. ``is_sure``: the rows below say so."""

    start: int
    stop: int
    columns: tuple[Column, ...]
    is_sure: bool


def find_header(rows: Sequence[GridRow], *, needs_proof: bool = False) -> Header | None:
    """The first rows that name the columns of those below; rows above them are titles.

    ``needs_proof``: a table of words alone has names only where the file or the words say so.
    """
    kinds = [_kinds(row) for row in rows]
    counts = sorted(count for count in (len(row.entries()) for row in rows) if count > 1)
    if not counts:
        return None
    width = counts[len(counts) // 2]
    for start in range(min(len(rows) - 1, MOST_PREAMBLE_ROWS)):
        filled = len(rows[start].entries())
        if filled < 2 or filled * 2 < width or _is_half_a_form(rows[start]):
            continue
        stop = _header_end(rows, kinds, start)
        if stop == len(rows):
            return None
        is_full = filled >= width
        if rows[start].is_marked:
            return Header(start, stop, _columns(rows[start:stop]), is_sure=True)
        if needs_proof and not _are_all_used(rows, stop):
            return None
        if _contrast(rows, kinds, stop, is_full=is_full) > 0:
            return Header(start, stop, _columns(rows[start:stop]), is_sure=True)
        if _is_named_by_form(rows, kinds, stop, needs_proof=needs_proof):
            return Header(start, stop, _columns(rows[start:stop]), is_sure=False)
        if is_full and not _is_named_below(kinds[start], kinds[stop:]):
            return None
    return None


def _is_half_a_form(row: GridRow) -> bool:
    """Whether some of its cells end in a colon, and so name the others."""
    with_colon = [row.texts[slot].endswith(":") for slot in row.entries()]
    return any(with_colon) and not all(with_colon) and not row.is_marked


def slots_of_names(rows: Sequence[GridRow]) -> Set[int]:
    """The slots whose cells name the values to their right; none in other tables.

    These are cells that the file marks so, that mostly end in a colon, or every other cell of the
    rows, where they are usual names.
    """
    full = [row for row in rows if len(row.entries()) > 1]
    if not full or full[0].is_marked:
        return set()
    columns = defaultdict[int, list[GridRow]](list)  # the rows that fill each slot
    for row in full:
        for slot in row.entries():
            columns[slot].append(row)
    slots = sorted(columns)
    marks = {slot: [row.cells[slot].is_heading for row in columns[slot]] for slot in slots}
    marked = [slot for slot in slots if any(marks[slot])]
    if marked[:1] == slots[:1] and all(all(marks[slot]) for slot in marked):
        has_header = marked != slots[::2] and find_header(rows, needs_proof=True) is not None
        return set() if has_header else set(marked)
    with_colon = [slot for slot in slots if _share_with_colon(columns[slot], slot) > MOSTLY]
    if with_colon[:1] == slots[:1] and (len(full) > 1 or with_colon != slots):
        return set(with_colon)
    are_paired = len(slots) % 2 == 0 and _are_field_names(full, slots)
    return set(slots[::2]) if are_paired else set()


def has_pairs(rows: Sequence[GridRow]) -> bool:
    """Whether some cells name the values to their right, so that no row names columns."""
    return bool(slots_of_names(rows))


def _share_with_colon(rows: Sequence[GridRow], slot: int) -> float:
    return sum(row.texts[slot].endswith(":") for row in rows) / len(rows)


def _are_field_names(rows: Sequence[GridRow], slots: Sequence[int]) -> bool:
    """Whether names stand down every other column, and more so than across the first row."""
    places = set(slots[::2])
    names = [pair[0] for row in rows for pair in row.pairs(places)]
    if len({name.casefold() for name in names}) < len(names):
        return False
    kinds = [_kinds(row) for row in rows]
    values = sum((_counts(kinds, slot) for slot in slots[1::2]), Counter[Kind]())
    is_mixed = 1 < values["text"] < values.total()
    share = sum(map(is_field_name, names)) / len(names)
    if share < (FEW_FIELD_NAMES if is_mixed else MOSTLY) or share * len(names) <= 1:
        return False
    first = [rows[0].texts[slot] for slot in rows[0].entries()]
    across = sum(map(is_only_field_name, first)) / len(first)
    down = sum(map(is_only_field_name, names)) / len(names)
    return down > across or (down == across and is_mixed)


def kinds_of_columns(rows: Sequence[GridRow]) -> dict[int, Kind]:
    """What most filled cells of each slot are."""
    kinds = [_kinds(row) for row in rows]
    slots = range(max(map(len, kinds), default=0))
    return {slot: _main_kind(_counts(kinds, slot)) for slot in slots}


def _kinds(row: GridRow) -> list[Kind]:
    return [_kind(cell.value, text) for cell, text in zip(row.cells, row.texts, strict=True)]


def _kind(value: Cell, text: str) -> Kind:
    if text.isalpha():
        return "" if text.casefold() in NO_VALUES else "text"
    if not text or text.casefold() in NO_VALUES:
        return ""
    if _YEAR.fullmatch(text):
        return "year"
    if isinstance(value, int | float):
        return "number"
    if _DATE.fullmatch(text):
        return "date"
    return "number" if _NUMBER.fullmatch(text) else "text"


def _counts(kinds: Sequence[Sequence[Kind]], slot: int) -> Counter[Kind]:
    counts = Counter(row[slot] for row in kinds if slot < len(row))
    counts.pop("", None)
    return counts


def _main_kind(counts: Counter[Kind]) -> Kind:
    filled = counts.total()
    if not filled:
        return ""
    if counts["year"] >= MOSTLY * filled:
        return "year"
    if counts["number"] + counts["year"] >= MOSTLY * filled:
        return "number"
    return "date" if counts["date"] >= MOSTLY * filled else "text"


def _header_end(rows: Sequence[GridRow], kinds: Sequence[Sequence[Kind]], start: int) -> int:
    """The row behind a header that begins with row ``start``."""
    stop = start + 1
    while stop < len(rows) and stop - start < MOST_HEADER_ROWS:
        if not _goes_on_below(rows, kinds, stop):
            break
        stop += 1
    return stop


def _goes_on_below(rows: Sequence[GridRow], kinds: Sequence[Sequence[Kind]], at: int) -> bool:
    """Whether row ``at`` belongs to the header that ends above it."""
    above, row = rows[at - 1], rows[at]
    slots = row.entries()
    if row.is_marked and above.is_marked and len(slots) > 1:
        return not _spans_body(row, rows[at + 1 : at + 2])
    if any(kinds[at][slot] in ("number", "date") for slot in slots) or len(slots) < 2:
        return False
    filled = [at for at, text in enumerate(row.texts) if text]
    if any(slot < len(above.cells) and row.cells[slot] is above.cells[slot] for slot in filled):
        return True
    named = [slot for slot in slots if row.texts[slot].casefold() not in NO_VALUES]
    if named and named[0] > 0 and all(_UNIT.fullmatch(row.texts[slot]) for slot in named):
        return all(slot < len(above.texts) and above.texts[slot] for slot in slots)
    if not _is_parted(above, row):
        return False
    return not row.texts[0] or _contrast(rows, kinds, at + 1, is_full=True) > 0


def _spans_body(row: GridRow, below: Sequence[GridRow]) -> bool:
    """Whether headings of a row go on beside the values below: they name rows, not columns."""
    for next_row in below:
        slots = range(min(len(row.cells), len(next_row.cells)))
        if not next_row.is_marked:
            return any(row.texts[at] and row.cells[at] is next_row.cells[at] for at in slots)
    return False


def _is_parted(above: GridRow, row: GridRow) -> bool:
    """Whether names stand above several names each: by their spans, or by blanks between them."""
    slots = [at for at in row.entries() if at < len(above.texts)]
    if any(above.goes_on(slot) and above.texts[slot] for slot in slots):
        return True
    if any(_is_repeated(above, slot) and not _is_repeated(row, slot) for slot in slots):
        return True
    names = [row.texts[slot].casefold() for slot in slots]
    are_doubled = len(set(names)) < len(names)
    return are_doubled and len(above.entries()) > 1 and any(not above.texts[at] for at in slots)


def _are_all_used(rows: Sequence[GridRow], stop: int) -> bool:
    """Whether something stands below each name."""
    slots = rows[stop - 1].entries()
    return all(any(_text_at(row, slot) for row in rows[stop:]) for slot in slots)


def _is_repeated(row: GridRow, slot: int) -> bool:
    return slot > 0 and row.texts[slot] == row.texts[slot - 1]


def _contrast(
    rows: Sequence[GridRow],
    kinds: Sequence[Sequence[Kind]],
    stop: int,
    *,
    is_full: bool,
) -> int:
    """How much more speaks for row ``stop - 1`` as names of the rows below than against it.

    A column counts by the kinds of its cells, and less where its name stands among them too.
    ``is_full``: the row has as many cells as the others, so that years and dates can be names.
    """
    if stop == len(rows):
        return 0
    head = rows[stop - 1]
    below = range(stop, len(rows))
    body = [kinds[at] for at in below if rows[at].texts != head.texts]
    heads = _names_of(rows, kinds, stop - 1)
    against = total = by_words = recurring = 0
    for slot in head.entries():
        text = head.texts[slot]
        vote = _vote(heads[slot], _counts(body, slot))
        recurring += heads[slot] == "text" and _recurs(text, slot, rows[stop:])
        if len(text) > MOST_SURE_NAME_CHARS:
            vote = -1
        against += vote < 0
        total += vote > 0
        by_words += vote > 0 and heads[slot] in ("text", "count")
    if not by_words and (not is_full or _is_named_below(heads, kinds[stop:])):
        return 0
    return 2 * total - 6 * against - recurring


def _is_named_below(heads: Sequence[Kind], body: Sequence[Sequence[Kind]]) -> bool:
    """Whether words stand below a year or day that stands above numbers: "Made on, 3 May"."""
    below = set(zip(heads, body[0], strict=False)) if body else set()
    return len(body) > 1 and not below.isdisjoint({("year", "text"), ("date", "text")})


def _vote(head: Kind, body: Counter[Kind]) -> int:
    main = _main_kind(body)
    if not head or not main:
        return 0
    if head == "count":
        return 1
    if head == "text":
        return int(main != "text")
    if head == main or head == "number" or (head == "year" and main == "date"):
        return -1
    return int(main == "number")


def _recurs(text: str, slot: int, rows: Sequence[GridRow]) -> bool:
    folded = text.casefold()
    texts = (row.texts[slot].casefold() for row in rows if slot < len(row.texts))
    return folded in texts


def _names_of(rows: Sequence[GridRow], kinds: Sequence[Sequence[Kind]], at: int) -> Sequence[Kind]:
    """The kinds of a row that may be names; some numbers and times count as words then.

    These are numbers that count up by one (where they begin in the first column, all below must be
    words), and different days or times over nothing but words.
    """
    slots = rows[at].entries()
    if dated := _dates_over_words(rows[at], kinds[at], kinds[at + 1 :]):
        return ["count" if slot in dated else kind for slot, kind in enumerate(kinds[at])]
    if not _counts_up(rows[at], kinds[at]) or _counts_up(rows[at + 1], kinds[at + 1]):
        return kinds[at]
    has_row_names = any(any(row.texts[: slots[0]]) for row in rows[at + 1 :])
    if kinds[at][slots[0]] == "number" and not has_row_names:
        body = kinds[at + 1 :]
        if any(_main_kind(_counts(body, slot)) not in ("text", "") for slot in slots):
            return kinds[at]
    return ["count" if kind == "number" else kind for kind in kinds[at]]


def _dates_over_words(
    row: GridRow,
    kinds: Sequence[Kind],
    body: Sequence[Sequence[Kind]],
) -> Set[int]:
    """The slots of different days or times over nothing but words.

    Two days beside a word are no names: "Period, 1 May, 5 May".
    """
    filled = row.entries()
    slots = [slot for slot in filled if kinds[slot] in ("date", "year")]
    texts = {row.texts[slot] for slot in slots}
    are_times = all(":" in text for text in texts)
    needed = 2 if are_times else min(MIN_COUNT, len(filled))
    are_names = len(texts) >= max(needed, len(slots))
    if are_names and all(set(_counts(body, slot)) == {"text"} for slot in slots):
        return set(slots)
    return set()


def _counts_up(row: GridRow, kinds: Sequence[Kind]) -> bool:
    texts = [row.texts[slot] for slot in row.entries() if kinds[slot] == "number"]
    if len(texts) < MIN_COUNT or not all(text.isdecimal() for text in texts):
        return False
    return all(int(two) == int(one) + 1 for one, two in pairwise(texts))


def _is_named_by_form(
    rows: Sequence[GridRow],
    kinds: Sequence[Sequence[Kind]],
    stop: int,
    *,
    needs_proof: bool,
) -> bool:
    """Whether words over words can be names: short, different, and hardly any of them below."""
    head = rows[stop - 1]
    slots = head.entries()
    texts = [head.texts[slot] for slot in slots]
    if any(kinds[stop - 1][slot] != "text" for slot in slots):
        return False
    if max(map(len, texts)) > MOST_NAME_CHARS or len(set(texts)) * 2 <= len(texts):
        return False
    body = [row for row in rows[stop:] if row.texts != head.texts]
    recurring = sum(_recurs(head.texts[slot], slot, body) for slot in slots)
    if not body or (recurring and recurring >= sum(map(is_only_field_name, texts))):
        return False
    widths = [len(row.entries()) for row in body]
    if needs_proof:
        named = sum(map(is_field_name, texts))
        return len(body) > 1 and set(widths) == {len(slots)} and named * 2 >= len(slots)
    if len(slots) == max(widths) == 2:
        return any(_is_unlike_body(head.texts[slot], slot, body) for slot in slots)
    return len(slots) * 2 >= max(widths)


def _is_unlike_body(text: str, slot: int, body: Sequence[GridRow]) -> bool:
    """Whether words name the words below them, rather than being one of them.

    They are a field's name, or all below have a figure, a capital or twice the length more, or
    stand there again and again.
    """
    texts = list(filter(None, [_text_at(row, slot) for row in body]))
    below = Counter(word for each in texts for word in field_words(each))
    is_named = any(below[word] * 2 <= len(texts) for word in field_words(text))
    if is_only_field_name(text) or is_named:
        return True
    if len(texts) < 2:
        return False
    have_figures = all(map(_FIGURE.search, texts)) and not _FIGURE.search(text)
    have_capitals = all(each[0].isupper() for each in texts) and text[0].islower()
    are_longer = min(map(len, texts)) > 2 * len(text)
    counts = Counter(texts)
    are_repeated = min(counts.values()) > 1 < len(counts) and text not in counts
    return have_figures or have_capitals or are_longer or are_repeated


def _columns(rows: Sequence[GridRow]) -> tuple[Column, ...]:
    """Slots with their names: those of all header rows from the top; doubles are numbered."""
    width = max(len(row.cells) for row in rows)
    names = [_joined(rows, slot) for slot in range(width)]
    found = list[Column]()
    seen = Counter[str]()
    for slot, name in enumerate(names):
        if found and found[-1].name and _is_one_column(rows, slot):
            found[-1] = Column(found[-1].name, found[-1].start, slot + 1)
            continue
        if name:
            seen[name.casefold()] += 1
            count = seen[name.casefold()]
            name = f"{name} {count}" if count > 1 else name
        found.append(Column(name, slot, slot + 1))
    return tuple(found)


def _is_one_column(rows: Sequence[GridRow], slot: int) -> bool:
    """Whether the same cells stand above a slot and the one to its left, in all header rows."""
    is_one = all(slot < len(row.cells) and row.goes_on(slot) for row in rows)
    return is_one and any(row.texts[slot] for row in rows)


def _joined(rows: Sequence[GridRow], slot: int) -> str:
    parts = list[str]()
    for at, row in enumerate(rows):
        text = _text_at(row, slot)
        if not text and at + 1 < len(rows) and _text_at(rows[at + 1], slot):
            text = _carried(row, rows[at + 1], slot)
        if text and text not in parts[-1:]:
            parts.append(text)
    return " ".join(parts)


def _carried(above: GridRow, row: GridRow, slot: int) -> str:
    """The name to the left in the row above, if it also stands above a name: it spans to here."""
    for at in range(slot - 1, -1, -1):
        if not _text_at(row, at):
            return ""
        if text := _text_at(above, at):
            return text
    return ""


def _text_at(row: GridRow, slot: int) -> str:
    return row.texts[slot] if slot < len(row.texts) else ""
