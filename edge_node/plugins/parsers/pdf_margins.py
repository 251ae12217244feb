"""Running lines and page numbers: what only a printed page needs, by comparing the pages' edges."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edge_node.plugins.parsers.pdf_rows import Row, line_of

EDGE_ROWS = 3  # at the top and at the foot of a page
FEWEST_PAGES = 3  # that show a line to be a running one
FARTHEST = 30  # more than a page's place in the file: the number is no page's
_NUMBERS = re.compile(r"\d+")
_PAGE_WORD = (
    r"(?:pages?|seite|p\.|pp\.|s\.|pg\.?|p[aá]g\.|página|pagina|side|sida|sivu|sayfa|strana|strona"
    r"|oldal|стр\.?|страница|blatt|folio|第)"
)
_TOTAL = r"(?:\s*(?:/|of|von|de|sur|di|van|av|af|z|ze|из)\s*(\d{1,5}))?"
_ALONE = re.compile(rf"[-–—|\[(]?\s*(\d{{1,5}}){_TOTAL}\s*[-–—|\])]?", re.IGNORECASE)
_SPELT = re.compile(
    rf"(?:[-–—|\[(]\s{{0,9}})?(?<!\w){_PAGE_WORD}\s{{0,9}}+[-–—]?\s{{0,9}}+(\d{{1,5}})(?!\d){_TOTAL}"
    r"\s{0,9}+(?:[页頁]|ページ)?\s{0,9}+[-–—|\])]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Place:
    page: int
    row: int
    is_top: bool


def running_rows(pages: Sequence[Sequence[Row]]) -> tuple[set[tuple[int, int]], int]:
    """(page, row) of what recurs at the pages' edges, and how many those are.

    A running line has the same words on most pages, or on most of the left or the right ones; one
    with figures has them on nearly all. Its first one stays. A page number goes up by one with the
    pages, and stands alone or behind "page": any other number is the text's, and so are the words
    that stand beside it.
    """
    texts = {place: line_of(pages[place.page][place.row]).text for place in _edges(pages)}
    dropped = {*_repeated(texts, len(pages)), *_page_numbers(texts, len(pages))}
    return {(place.page, place.row) for place in dropped}, len(dropped)


def _repeated(texts: dict[_Place, str], page_count: int) -> Iterator[_Place]:
    same = defaultdict[tuple[bool, str], list[_Place]](list)
    for place, text in texts.items():
        same[place.is_top, text].append(place)
    for (_, text), group in same.items():
        if _is_running(text, {place.page for place in group}, page_count):
            yield from group[1:]


def _is_running(text: str, pages: set[int], page_count: int) -> bool:
    if len(pages) < FEWEST_PAGES or text.isdigit():
        return False
    if _NUMBERS.search(text):
        return len(pages) >= page_count - max(1, page_count // 10)
    is_one_side = len({page % 2 for page in pages}) == 1
    return len(pages) > page_count // 2 or (is_one_side and len(pages) >= 2 * page_count // 5)


def _page_numbers(texts: dict[_Place, str], page_count: int) -> Iterator[_Place]:
    alone = defaultdict[tuple[bool, str], dict[_Place, int]](dict)
    spelt = defaultdict[tuple[bool, str], dict[_Place, int]](dict)
    for place, text in texts.items():
        if number := _ALONE.fullmatch(text):
            if number[2] is None or int(number[2]) == page_count:
                alone[place.is_top, _NUMBERS.sub("#", text)][place] = int(number[1])
        elif number := _SPELT.search(text):
            rest = f"{text[: number.start()]} {text[number.end() :]}".strip()
            spelt[place.is_top, rest][place] = int(number[1])
    for numbers in alone.values():
        yield from _counting(numbers, page_count)
    for (_, rest), numbers in spelt.items():
        counting = _counting(numbers, page_count)
        if any(map(str.isalnum, rest)):
            yield from counting[1:]  # its words stay once
        else:
            yield from counting
            yield from (place for place in numbers if numbers[place] == place.page + 1)


def _edges(pages: Sequence[Sequence[Row]]) -> Iterator[_Place]:
    """Rows at the edges; on a page of few rows, such as a slide, most of them are its text."""
    for page, rows in enumerate(pages):
        width = min(EDGE_ROWS, max(1, len(rows) // 3)) if rows else 0
        for row in range(width):
            yield _Place(page, row, is_top=True)
        for row in range(max(width, len(rows) - width), len(rows)):
            yield _Place(page, row, is_top=False)


def _counting(numbers: dict[_Place, int], page_count: int) -> list[_Place]:
    """Where numbers go up with the pages; nowhere if most of them do not, or too few."""
    offsets = Counter(number - place.page - 1 for place, number in numbers.items())
    if not offsets:
        return []
    offset = offsets.most_common(1)[0][0]
    counting = [place for place, number in numbers.items() if number - place.page - 1 == offset]
    shown, all_pages = ({place.page for place in each} for each in (counting, numbers))
    is_shown = len(shown) >= max(FEWEST_PAGES, page_count // 3, 0.8 * len(all_pages))
    return counting if is_shown and offset <= FARTHEST else []
