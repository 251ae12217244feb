"""The numbers that Word shows before paragraphs of lists, headings, clauses ("Art. 3")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from edge_node.plugins.parsers.package import Element, is_true

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
VAL = f"{W}val"
LEVELS = 9
_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_MOST_ROMAN = 4_999


@dataclass(slots=True)
class Level:
    """One level of a list. ``text``: as it is shown, "%1" for the number of the first level.

    ``style``: paragraphs of that style stand on it.
    """

    kind: str = "decimal"
    text: str = ""
    start: int = 1
    style: str = ""
    is_legal: bool = False  # all its numbers are shown as 1, 2, 3


@dataclass(slots=True)
class NumberedList:
    """A list: its levels, the counters it shares with others, and where it starts anew."""

    levels: list[Level]
    counters: list[int | None]
    restarts: dict[int, int] = field(default_factory=dict)


class Numbering:
    """All lists of a document, and how far each has counted."""

    def __init__(self, lists: dict[str, NumberedList]) -> None:
        self._lists = lists

    def level_of_style(self, number: str, style: str) -> int:
        """The level on which a list has paragraphs of a style; 0 if it does not say."""
        levels = self._lists[number].levels if number in self._lists else []
        return next((at for at, level in enumerate(levels) if level.style == style and style), 0)

    def next_label(self, number: str, level: int) -> str | None:
        """Count one paragraph, and return its number.

        It is ``""`` for a bullet, and None where there is no such list.
        """
        if number not in self._lists:
            return None
        numbered = self._lists[number]
        level = min(max(level, 0), LEVELS - 1)
        counters = numbered.counters
        if level in numbered.restarts:
            counters[level] = numbered.restarts.pop(level) - 1
        for above in range(level):
            if counters[above] is None:
                counters[above] = numbered.levels[above].start
        before = counters[level]
        counters[level] = numbered.levels[level].start if before is None else before + 1
        counters[level + 1 :] = [None] * (LEVELS - level - 1)
        return _label(numbered, level)


def lists_of_word(
    tree: Element | None, list_of_style: Callable[[str], str]
) -> dict[str, NumberedList]:
    """The lists of a ``w:numbering``, by their numbers."""
    lists = dict[str, NumberedList]()
    if tree is None:
        return lists
    abstract = {each.get(f"{W}abstractNumId", ""): each for each in tree.iter(f"{W}abstractNum")}
    numbers = {each.get(f"{W}numId", ""): each for each in tree.iter(f"{W}num")}
    counters = dict[str, list[int | None]]()
    for number, element in numbers.items():
        at = _value(element, "abstractNumId")
        if at in abstract and (link := _value(abstract[at], "numStyleLink")):
            linked = numbers.get(list_of_style(link))
            at = _value(linked, "abstractNumId") if linked is not None else at
        if at in abstract:
            shared = counters.setdefault(at, [None] * LEVELS)
            lists[number] = _list(abstract[at], element, shared)
    return lists


def _value(element: Element, name: str) -> str:
    child = element.find(f"{W}{name}")
    return "" if child is None else child.get(VAL, "")


def _number(text: str, default: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else default


def _list(abstract: Element, number: Element, counters: list[int | None]) -> NumberedList:
    levels = [Level() for _ in range(LEVELS)]
    for element in abstract.findall(f"{W}lvl"):
        _fill(levels, element)
    restarts = dict[int, int]()
    for override in number.findall(f"{W}lvlOverride"):
        at = _number(override.get(f"{W}ilvl", ""), 0)
        if start := _value(override, "startOverride"):
            restarts[at] = _number(start, 1)
        for element in override.findall(f"{W}lvl"):
            _fill(levels, element)
    return NumberedList(levels, counters, restarts)


def _fill(levels: list[Level], element: Element) -> None:
    at = _number(element.get(f"{W}ilvl", ""), 0)
    if at < LEVELS:
        levels[at] = Level(
            _value(element, "numFmt") or "decimal",
            _value(element, "lvlText"),
            _number(_value(element, "start"), 1),
            _value(element, "pStyle"),
            is_true(element.find(f"{W}isLgl"), VAL),
        )


def _label(numbered: NumberedList, level: int) -> str:
    shown = numbered.levels[level]
    if shown.kind == "bullet":
        return ""
    label = shown.text
    for at in range(level + 1):
        kind = "decimal" if shown.is_legal else numbered.levels[at].kind
        label = label.replace(f"%{at + 1}", formatted_number(numbered.counters[at] or 0, kind))
    label = label.strip()
    return label if any(sign.isalnum() for sign in label) else ""


def formatted_number(number: int, kind: str) -> str:
    """A number as Word's ``w:numFmt`` shows it.

    >>> [formatted_number(4, kind) for kind in ('decimal', 'upperRoman', 'lowerLetter')]
    ['4', 'IV', 'd']
    """
    match kind:
        case "none" | "bullet":
            return ""
        case "decimalZero":
            return f"{number:02}"
        case "lowerRoman" | "upperRoman":
            digits = roman(number)
        case "lowerLetter" | "upperLetter":
            digits = letters(number)
        case "ordinal":
            return f"{number}."
        case _:
            return str(number)
    return digits.upper() if kind.startswith("upper") else digits


def roman(number: int) -> str:
    """A number from 1 to 4,999 in small Roman digits, another one in ours."""
    if not 0 < number <= _MOST_ROMAN:
        return str(number)
    digits = ""
    for value, sign in _ROMAN:
        digits += sign * (number // value)
        number %= value
    return digits


def letters(number: int) -> str:
    """From a to z, then from aa to zz: as Word counts.

    >>> letters(3), letters(28)
    ('c', 'bb')
    """
    if not 0 < number <= 26 * LEVELS:
        return str(number)
    return chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
