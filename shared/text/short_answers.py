"""Whether two answers to one question say the same: by their values, their yes or no, and else by their words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.text.citations import MARKER, NEGATION
from shared.text.sentences import content_words, sentences
from shared.text.support import stems
from shared.text.values import Value, values_in

SAME_WORDS = 2 / 3  # of the words of the shorter answer, that the other one has too
_YES = re.compile(r"\W*(?:yes|ja|oui|sí|是)\b", re.IGNORECASE)
_NO = re.compile(r"\W*(?:(?:nein|non|不是|否)\b|no(?=\s*(?:$|[,;:!?(\[–—]|-\s|\.(?!\s*\d))))", re.IGNORECASE)
_COUNTED = re.compile(
    r"\b(?:how (?:many|often|much|long|old)|longer|older|younger|number of|total|sum|altogether|in all|difference|average|mean|percentage"
    r"|wie (?:viele|oft)|anzahl|insgesamt|summe|differenz|unterschied|durchschnitt"
    r"|combien|somme|différence|moyenne|cuánt[oa]s?|suma|diferencia|media)\b|多少|几",
    re.IGNORECASE,
)


def asks_to_calculate(question: str) -> bool:
    """Whether its answer may be a figure that stands in no document.

    >>> asks_to_calculate("How many falls were there?"), asks_to_calculate("When is the test due?")
    (True, False)
    """
    return bool(_COUNTED.search(question))


def verdict_of(answer: str) -> bool | None:
    """True and False for an answer that begins with Yes or No, else None.

    >>> verdict_of("No. It is 5 mg."), verdict_of("Nein"), verdict_of("Nora did."), verdict_of("No later than 5 May")
    (False, False, None, None)
    """
    if _YES.match(answer):
        return True
    return False if _NO.match(answer) else None


def without_verdict(answer: str) -> str:
    """What follows a Yes or No.

    >>> without_verdict("No, 4 hours are below 12."), without_verdict("No more than 5 mg")
    (', 4 hours are below 12.', 'No more than 5 mg')
    """
    return re.sub(r"^\W*\w+", "", answer) if verdict_of(answer) is not None else answer


def same_answer(first: str, second: str, question: str = "") -> bool:
    """Whether both say the same. What only explains it, behind the first sentence, plays no part, nor does a value of the question.

    >>> same_answer("27 April 2026 at 9:00 [1].", "On April 27."), same_answer("Ward 5", "Ward 7"), same_answer("Yes.", "No.")
    (True, False, False)
    >>> same_answer("Because the plant was flooded.", "The plant in Ghent was flooded on 2 April [2].")
    True
    >>> same_answer("Pump Velora on 27 April", "Pump Merano on 27 April", "Which pump failed on 27 April?")
    False
    """
    one, other = _core(first), _core(second)
    if verdict_of(one) is not None or verdict_of(other) is not None:
        return verdict_of(one) == verdict_of(other)
    if bool(NEGATION.search(one)) != bool(NEGATION.search(other)):
        return False
    asked = values_in(question)
    ours, theirs = (frozenset(value for value in values_in(each) if not value.is_in(asked)) for each in (one, other))
    kinds = {value.kind for value in ours} & {value.kind for value in theirs}
    if kinds:
        return _agree(*(frozenset(value for value in several if value.kind in kinds) for several in (ours, theirs)))
    words, others = stems(content_words(one)), stems(content_words(other))
    repeated = stems(content_words(question))
    if words - repeated and others - repeated:
        words, others = words - repeated, others - repeated
    if not words or not others:
        return words == others
    return len(words & others) >= SAME_WORDS * min(len(words), len(others))


def agreement(answers: Sequence[str], question: str = "") -> list[list[int]]:
    """Numbers of answers that say the same, the largest group first; of equal ones that with the first answer.

    >>> agreement(["Ward 5", "Ward 7", "ward 5."])
    [[0, 2], [1]]
    """
    groups = list[list[int]]()
    for row, answer in enumerate(answers):
        like = next((group for group in groups if same_answer(answers[group[0]], answer, question)), None)
        if like is None:
            groups.append([row])
        else:
            like.append(row)
    return sorted(groups, key=lambda group: (-len(group), group[0]))


def short_answer(answer: str) -> str:
    """The answer itself, without what explains it: its Yes or No, else its first sentence; without markers.

    >>> short_answer("No. Bumblebees come from 9 am on [2]."), short_answer("Ida Lund [1]. She built the mill.")
    ('No', 'Ida Lund.')
    """
    first = re.search(r"\w+", answer)
    if first and verdict_of(answer) is not None:
        return first[0]
    return _core(answer).strip()


def _core(answer: str) -> str:
    """Its first sentence, without markers."""
    bare = MARKER.sub("", answer).strip()
    start, end = sentences(bare)[0] if bare else (0, 0)
    return bare[start:end]


def _agree(ours: frozenset[Value], theirs: frozenset[Value]) -> bool:
    """Whether the one who names fewer values names only what the other names too; a date's day stands in its date."""
    fewer, more = sorted((ours, theirs), key=len)
    return all(is_named(value, more) for value in fewer)


def is_named(value: Value, values: frozenset[Value]) -> bool:
    """Whether a value, or a date that it is a part of or that is a part of it, is among ``values``."""
    if value.is_in(values):
        return True
    readings = {reading for one in values for reading in one.readings}
    return any(_is_part(own, reading) or _is_part(reading, own) for own in value.readings for reading in readings)


def _is_part(part: str, date: str) -> bool:
    """Whether a day, a month or a year is that of a longer date.

    >>> _is_part("04-27", "2026-04-27"), _is_part("2026", "2026-04-27"), _is_part("27", "2026-04-27"), _is_part("18", "-18")
    (True, True, False, False)
    """
    is_longer = len(date) > len(part) and "-" in date[1:]
    return is_longer and (date.startswith(f"{part}-") or ("-" in part[1:] and date.endswith(f"-{part}")))
