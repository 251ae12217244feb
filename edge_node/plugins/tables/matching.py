"""Which tables a question is about: its words in their headings, cells and documents' titles."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from edge_node.plugins.tables.cells import MONTHS, Columns, columns_of, shown
from edge_node.plugins.tables.question import Asked, TableQuestion
from edge_node.plugins.tables.store import StoredTable
from edge_node.plugins.tables.vocabulary import SMALL, SOFT, is_same, meanings, stem, words_of

MOST_TABLES = 2  # that a query may read
NEARLY_AS_GOOD = 0.85  # of the best table's score: the model is shown both
FEW_WORDS, MANY_WORDS = 5, 7  # of a question, from which on a table need not have one, or two
MOST_HINTS = 6  # of a table
OTHER_YEAR = 0.5  # of its score counts where the title says another year than the question
_YEAR = re.compile(r"(?:19|20)\d\d")
OF_TITLE, OF_CELL, OF_HEADING = 0.7, 1.0, 1.1  # what a word counts, by where it stands


def stems_of(text: str) -> frozenset[str]:
    """The stems of a text's words; of a code its parts too.

    >>> sorted(stems_of("value_eur of IS-200"))
    ['200', 'eur', 'is', 'is-200', 'valu']
    """
    words = [
        word
        for word in words_of(text.replace("_", " "))
        if word.casefold() not in SMALL or not word.islower()
    ]
    parts = (part for word in words for part in (word, *_parts(word)))
    return frozenset(stem(part) for part in parts)


def _parts(word: str) -> list[str]:
    return [
        part
        for part in words_of(word.replace("-", " ").replace("/", " ").replace(".", " "))
        if part != word
    ]


class Profile:
    """A table and where each of its words stands."""

    def __init__(self, stored: StoredTable) -> None:
        self.stored = stored
        self.data: Columns = columns_of(stored.table)
        name = stored.document.rpartition("/")[2]
        name = name.rpartition(".")[0] or name
        self.headings = [stems_of(column.heading) for column in self.data.columns]
        own = stems_of(stored.table.name).union(*self.headings)
        of_others = stems_of(" ".join(stored.siblings)) - own
        self.title = (stems_of(f"{name} {stored.title}") - of_others) | stems_of(stored.table.name)
        self.values: dict[str, set[tuple[int, str]]] = defaultdict(set)  # by stem: column and text
        for at, column in enumerate(self.data.columns):
            for value in {shown(value) for value in column.values if value is not None}:
                for one in stems_of(value) | {stem(value)}:
                    self.values[one].add((at, value))

    @cached_property
    def days(self) -> frozenset[str]:
        """Beginnings of its dates: years, and months as "2026-04"."""
        dates = [
            value
            for column in self.data.columns
            if column.kind == "date"
            for value in column.values
        ]
        return frozenset(str(date)[:end] for date in dates if date for end in (4, 7))

    def heading_columns(self, asked: Asked, *, loosely: bool = True) -> list[int]:
        """The columns whose heading has a word."""
        wanted = meanings(asked.word)
        if asked.month:
            wanted |= {
                one for stems in self.headings for one in stems if is_month(one, asked.month)
            }
        exact = [at for at, stems in enumerate(self.headings) if stems & wanted]
        if exact or not loosely:
            return exact
        return [
            at
            for at, stems in enumerate(self.headings)
            if any(is_same(stem(asked.word), one) for one in stems)
        ]

    def in_title(self, asked: Asked) -> bool:
        """Whether the title of its document, or its sheet's, has a word."""
        wanted = meanings(asked.word)
        has_month = bool(asked.month) and any(is_month(one, asked.month) for one in self.title)
        return (
            bool(self.title & wanted)
            or has_month
            or any(is_same(stem(asked.word), one) for one in self.title)
        )

    def cells(self, asked: Asked, *, loosely: bool = False) -> set[tuple[int, str]]:
        """Column and text of the cells that have a word. ``loosely``: also misspelt."""
        wanted = {stem(asked.word)} if asked.is_name else meanings(asked.word)
        if asked.month:
            wanted = frozenset(one for one in self.values if is_month(one, asked.month))
        found = set[tuple[int, str]]().union(*(self.values.get(one, ()) for one in wanted))
        if found or not loosely:
            return found
        own = stem(asked.word)
        return found.union(*(cells for one, cells in self.values.items() if is_same(own, one)))

    def has_day(self, asked: Asked) -> bool:
        """Whether one of its dates is in a month or year that is asked for."""
        if asked.month:
            return any(day[5:] == f"{asked.month:02}" for day in self.days)
        return asked.word in self.days


def is_month(word: str, month: int) -> bool:
    """Whether a word is the name of a month, or its first letters."""
    word = word.casefold()
    return word[:3] in MONTHS and MONTHS[word[:3]] == month and word.isalpha()


@dataclass(frozen=True, slots=True)
class Hint:
    """The texts of a column that have the same words of a question."""

    column: int
    values: tuple[str, ...]
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Match:
    """Tables that a question is about, the likeliest first.

    ``hints``: for each, the cells that the question names.
    """

    tables: tuple[Profile, ...]
    hints: tuple[tuple[Hint, ...], ...]


def match(question: TableQuestion, profiles: Sequence[Profile]) -> Match | None:
    """The tables for a question; None where none says most of what it asks for."""
    strange = {
        one for one in question.words if not any(_strength(profile, one) for profile in profiles)
    }
    scored = sorted(
        ((_score(question, profile, strange), -at) for at, profile in enumerate(profiles)),
        reverse=True,
    )
    chosen = list[Profile]()
    for score, at in scored:
        if (
            score <= 0
            or (chosen and score < NEARLY_AS_GOOD * scored[0][0])
            or len(chosen) == MOST_TABLES
        ):
            break
        chosen.append(profiles[-at])
    if not chosen:
        return None
    missing = [
        one
        for one in question.words
        if one.is_name and not is_number(one) and not covers(chosen[0], one, strange)
    ]
    if missing and not any(covers(profile, one, strange) for one in missing for profile in chosen):
        others = [
            profiles[-at]
            for _, at in scored
            if all(covers(profiles[-at], one, strange) for one in missing)
        ]
        if not others:
            return None
        chosen = [chosen[0], others[0]]
    if not is_about(question, chosen, strange):
        return None
    return Match(tuple(chosen), tuple(_hints(question, profile, strange) for profile in chosen))


def is_number(asked: Asked) -> bool:
    """Whether a word is a number alone, which a query may compare with, or a date's part."""
    return asked.word.replace(".", "").replace(",", "").replace(":", "").replace("-", "").isdigit()


def covers(profile: Profile, asked: Asked, strange: set[Asked]) -> bool:
    """Whether a table has a word, misspelt where no table has it as it is."""
    return _strength(profile, asked) > 0 or (
        asked in strange and bool(profile.cells(asked, loosely=True))
    )


def is_about(question: TableQuestion, profiles: Iterable[Profile], strange: set[Asked]) -> bool:
    """Whether tables have what a question asks for.

    That is its focus, all of its names, and nearly all of its other words, but for numbers.
    """
    tables = list(profiles)
    missing = [
        one
        for one in question.words
        if not any(covers(profile, one, strange) for profile in tables)
    ]
    words = [one for one in question.words if not is_number(one)]
    lacking = [one for one in missing if not is_number(one) and one.word.casefold() not in SOFT]
    has_names = not any(one.is_name for one in lacking)
    has_focus = question.focus not in {one.word for one in lacking}
    is_inside = any(
        profile.heading_columns(one) or profile.cells(one, loosely=one in strange)
        for one in words
        for profile in tables
    )
    return (
        has_names
        and has_focus
        and is_inside
        and len(lacking) <= allowed_missing(question, len(words))
    )


def allowed_missing(question: TableQuestion, words: int) -> int:
    """How many of its words a table need not have.

    Some of a long question; none where no word is known to be the one that is asked for: "What did
    the repair of the pump cost?" asks for its last word, "Which pump was replaced?" for its first.
    """
    few = FEW_WORDS - question.ranks  # "waited longest" is seldom said as the heading says it
    if not question.focus or words < few:
        return 0
    return 1 if words < MANY_WORDS else 2


def _score(question: TableQuestion, profile: Profile, strange: set[Asked]) -> float:
    score = 0.0
    for one in question.words:
        strength = _strength(profile, one) or (
            OF_CELL if one in strange and profile.cells(one, loosely=True) else 0.0
        )
        score += strength * (1.5 if one.word == question.focus else 1.0)
    return score * (OTHER_YEAR if _is_of_other_year(question, profile) else 1.0)


def _is_of_other_year(question: TableQuestion, profile: Profile) -> bool:
    """Whether question and title name years, and none of these is the same."""
    asked = {one.word for one in question.words if _YEAR.fullmatch(one.word)}
    titled = {one for one in profile.title if _YEAR.fullmatch(one)}
    has_it = any(asked & stems for stems in profile.headings) or bool(asked & profile.days)
    return bool(asked and titled) and not asked & titled and not has_it


def _strength(profile: Profile, asked: Asked) -> float:
    if profile.heading_columns(asked):
        return OF_HEADING
    if profile.cells(asked) or profile.has_day(asked):
        return OF_CELL
    return OF_TITLE if profile.in_title(asked) else 0.0


def _hints(question: TableQuestion, profile: Profile, strange: set[Asked]) -> tuple[Hint, ...]:
    """The cells that have most of the question's words, by column.

    Cells that only have some of the words of others are left out.
    """
    words = defaultdict[tuple[int, str], set[str]](set)
    for one in question.words:
        for cell in profile.cells(one, loosely=one in strange):
            if profile.data.columns[cell[0]].kind == "text":
                words[cell].add(one.word)
    groups = defaultdict[tuple[int, frozenset[str]], list[str]](list)
    for (column, value), named in sorted(
        words.items(), key=lambda item: (item[0][0], len(item[0][1]), item[0][1])
    ):
        groups[column, frozenset(named)].append(value)
    named_sets = {named for _, named in groups}
    found = [
        (len(named), Hint(column, tuple(values), named))
        for (column, named), values in groups.items()
    ]
    kept = [
        (count, hint)
        for count, hint in found
        if not any(hint.words < others for others in named_sets)
    ]
    kept.sort(key=lambda item: -item[0])
    return tuple(hint for _, hint in kept[:MOST_HINTS])
