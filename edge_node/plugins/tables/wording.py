"""Whether a query's result answers its question, and how it is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from edge_node.plugins.tables.cells import Value, shown
from edge_node.plugins.tables.matching import allowed_missing, is_month, is_number, stems_of
from edge_node.plugins.tables.query import Select, Source, label, literals, selects
from edge_node.plugins.tables.question import Asked, TableQuestion
from edge_node.plugins.tables.sandbox import Result
from edge_node.plugins.tables.vocabulary import (
    MONEY,
    MONEY_HEADING,
    SOFT,
    folded,
    is_same,
    meanings,
    stem,
)
from shared.text.language import GERMAN

MOST_SAID = 20  # rows of a list; one that has more is no answer
SAID = {
    "rows": ("number of rows", "Anzahl der Zeilen"),
    "count": ("number of", "Anzahl von"),
    "sum": ("sum of", "Summe von"),
    "total": ("sum of", "Summe von"),
    "avg": ("mean of", "Mittel von"),
    "min": ("lowest", "kleinstes"),
    "max": ("highest", "größtes"),
    "over": ("over {} rows", "über {} Zeilen"),
}
_TIME = re.compile(
    r"\d{4}-\d{2}|\d{1,2}:\d{2}|\b(?:19|20)\d\d\b|\b(?:jan|feb|mar|mär|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-z]*\b|\bQ[1-4]\b"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch",
    re.IGNORECASE,
)
_EXTREMES = tuple(  # each line: stems of words for the same
    frozenset(map(stem, line.split()))
    for line in (
        "minimum min minimal mindestbestand",
        "maximum max maximal",
        "last letzte letzter",
        "first erste erster",
        "oldest",
        "next",
    )
)
_HEDGED = re.compile(
    r"(?<!\w)(\w++)\s*+(?:[<>=]++|LIKE)\s*+('\d{4}[^']*+')\s++OR\s++(?!\1\b)\w++\s*+(?:[<>=]++|LIKE)\s*+\2",
    re.IGNORECASE,
)
_FUNCTION = re.compile(
    r"(count|sum|total|avg|min|max)\s*+\(\s*+(?:distinct\s++)?([^()]*+)\)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Cited:
    """A row of a table that a result rests on; ``at``: its number among those that SQL knows."""

    source: Source
    at: int

    @property
    def row(self) -> int:
        """Its number in the document's table."""
        return self.source.profile.data.rows[self.at]

    @property
    def cells(self) -> tuple[Value, ...]:
        """Its values, a column each."""
        return self.source.sql.rows[self.at]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A query with its result, the tables that it read, and all rows that it rests on.

    ``read_as``: cells that stand for words of the question that no cell has.
    """

    query: str
    result: Result
    read: tuple[Source, ...]
    rows: tuple[Cited, ...]
    read_as: tuple[str, ...] = ()

    @property
    def first(self) -> Select:
        """Its outermost SELECT."""
        return next(iter(sorted(selects(self.query), key=lambda select: select.depth)))


def doubt(question: TableQuestion, outcome: Outcome) -> str:
    """Why a result is no answer to a question, for the log; "" where nothing speaks against it."""
    return (
        _misshapen(question, outcome)
        or _mistyped(question, outcome)
        or _unnamed_price(question, outcome)
        or _unmet(question, outcome)
    )


def _misshapen(question: TableQuestion, outcome: Outcome) -> str:
    """Why a query cannot be one for such a question; "" where it can."""
    rows, first = outcome.result.rows, outcome.first
    is_scalar = not first["from"] or first.summarises or first.has_extreme
    takes_part = first["where"] or first["limit"] or is_scalar
    is_joined = "join" in first["from"].casefold()
    has_sum = re.search(r"\b(?:sum|total|count)\s*\(", outcome.query, re.IGNORECASE) is not None
    has_rank = re.search(r"\border\b|\bm(?:in|ax)\s*\(", outcome.query, re.IGNORECASE) is not None
    is_ranked = has_rank or _is_in_heading(question, outcome)
    sums = question.sums and not question.ranks
    reasons = {
        "it rests on no row": not outcome.rows,
        "the list is too long": len(rows) > MOST_SAID,
        "it compares two dates with one": _HEDGED.search(outcome.query) is not None,
        "it takes the first rows of no order": bool(first["limit"]) and not first["order"],
        "it gives the whole table": not (takes_part or is_joined or question.lists_all),
        "it ranks nothing": question.ranks and not is_ranked,
        "it ranks instead of summing": sums and bool(first["limit"]),
        "it sums nothing": sums and not has_sum and len(rows) > 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _mistyped(question: TableQuestion, outcome: Outcome) -> str:
    """Why a result cannot be of the kind that a question asks for; "" where it can."""
    values = [value for row in outcome.result.rows for value in row if value is not None]
    numbers = [value for value in values if isinstance(value, int | float)]
    if question.counts and not numbers and len(outcome.result.rows) == 1:
        return "it counts nothing"
    if question.when and not any(_TIME.search(str(value)) for value in values):
        return "it gives no time"
    if question.who and len(numbers) == len(values):
        return "it names nobody"
    return ""


def _unnamed_price(question: TableQuestion, outcome: Outcome) -> str:
    """That a question asks for money and a query reads none; "" where it does."""
    if not MONEY.search(question.text):
        return ""
    for source in outcome.read:
        for name, column in source.columns.items():
            is_read = (source.sql.name, name) in outcome.result.read
            if is_read and MONEY_HEADING.search(column.heading.replace("_", " ")):
                return ""
    return "it names no price"


def is_empty(outcome: Outcome) -> bool:
    """Whether a result has no row, or nothing in its rows, or counts none."""
    rows = outcome.result.rows
    return (
        not rows
        or all(value is None for row in rows for value in row)
        or (len(rows) == 1 and not outcome.rows)
    )


def _is_in_heading(question: TableQuestion, outcome: Outcome) -> bool:
    """Whether a column is itself the least or the last of something: "Minimum", "Last turned"."""
    words = stems_of(question.text)
    headings = [stems for source in outcome.read for stems in source.profile.headings]
    return any(stems & same and words & same for same in _EXTREMES for stems in headings)


def _unmet(question: TableQuestion, outcome: Outcome) -> str:
    """Which words of a question neither the tables that were read nor the query know."""
    said = literals(outcome.query)
    missing = [one for one in question.words if not _is_met(one, outcome, said)]
    names = [one.word for one in missing if one.is_name]
    if names:
        return f"it leaves out: {', '.join(names)}"
    lacking = [one for one in missing if one.word.casefold() not in SOFT]
    if question.focus in {one.word for one in lacking}:
        return f"nothing is what is asked for: {question.focus}"
    words = [one for one in question.words if not is_number(one)]
    return (
        "it is about something else" if len(lacking) > allowed_missing(question, len(words)) else ""
    )


def _is_met(asked: Asked, outcome: Outcome, said: Sequence[str]) -> bool:
    wanted = meanings(asked.word)
    profiles = [source.profile for source in outcome.read]
    if any(profile.heading_columns(asked) or profile.in_title(asked) for profile in profiles):
        return True
    if _is_in(asked, wanted, said):
        return True
    rows = [[shown(value) for value in row.cells if value is not None] for row in outcome.rows]
    return all(_is_in(asked, wanted, texts) for texts in rows)


def _is_in(asked: Asked, wanted: frozenset[str], texts: Sequence[str]) -> bool:
    stems = stems_of(" ".join(texts)) | {folded(text) for text in texts}
    if stems & wanted or any(is_same(stem(asked.word), one) for one in stems):
        return True
    if asked.month:
        return any(
            re.search(rf"-{asked.month:02}(?:-|$)", text) or is_month(text, asked.month)
            for text in texts
        )
    return is_number(asked) and any(asked.word.replace(",", "") in text for text in texts)


def said(question: TableQuestion, outcome: Outcome, markers: Sequence[str]) -> str:
    """The answer: its values first, then what they are.

    ``markers``: of the citations, one a cited row. Where each row of the result is a row of a
    table, its marker stands behind it.
    """
    words = _Words(question, outcome)
    lines = list[str]()
    is_by_row = (
        len(markers) == len(outcome.result.rows)
        and len(outcome.rows) == len(markers)
        and not outcome.first.summarises
    )
    for at, row in enumerate(outcome.result.rows):
        lines.append(words.row(row) + (f" {markers[at]}" if is_by_row else ""))
    end = "" if is_by_row or not markers else f" {''.join(markers)}"
    first = words.labels[0]
    is_named = len(lines) > 1
    text = "; ".join(lines) + (f" – {first}" if is_named else "")
    return text + end


class _Words:
    def __init__(self, question: TableQuestion, outcome: Outcome) -> None:
        self._outcome = outcome
        self._column = 1 if question.language == GERMAN else 0
        self.labels = [self._label(name) for name in outcome.result.names]

    def _label(self, name: str) -> str:
        found = _FUNCTION.fullmatch(name.strip())
        if found is None:
            return label(name, self._outcome.read)
        function, inside = found[1].casefold(), found[2].strip()
        if function == "count" and inside == "*":
            return SAID["rows"][self._column]
        return f"{SAID[function][self._column]} {label(inside, self._outcome.read)}"

    def row(self, row: Sequence[Value]) -> str:
        """A row of the result: its first value, and in brackets what it is, and the others."""
        values = [shown(value) for value in row]
        parts = [
            f"{name}: {value}"
            for name, value in zip(self.labels[1:], values[1:], strict=True)
            if value not in ("–", values[0])
        ]
        if len(self._outcome.result.rows) == 1:
            parts = [self.labels[0], *parts, *self._about(values)]
        return f"{values[0]} ({'; '.join(parts)})" if parts else values[0]

    def _about(self, values: Sequence[str]) -> list[str]:
        """What the one row of a result is of: the row's own name, or of how many rows it tells."""
        rows = self._outcome.rows
        if len(rows) > 1:
            return (
                []
                if self.labels[0] == SAID["rows"][self._column]
                else [SAID["over"][self._column].format(len(rows))]
            )
        name = shown(rows[0].cells[0])
        heading = next(iter(rows[0].source.columns.values())).heading
        return [] if name in values or self._outcome.first.summarises else [f"{heading}: {name}"]
