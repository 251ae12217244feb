"""No text makes a regular expression of the product run away: `re` holds the interpreter's lock, so one would stop a service."""

import re
from functools import partial
from itertools import product

import pytest

from tests.support.adversarial import TooSlowError, Used, applied, cpu_seconds, hostile, patterns_of_the_product, written

pytestmark = pytest.mark.campaign

SMALL, LARGE = 2_000, 200_000  # characters
SCREEN_S = 0.5  # CPU time for 2,000 characters: linear ones take less than a millisecond
LEAST_S = 2.5  # CPU time for 200,000: linear ones take 0.01 to 0.4 s, a quadratic one that the screen lets pass takes a minute
SLOWEST = 3  # strings of a pattern that are tried at full length: the clock tells times below a millisecond badly
CUT = {"shared.text.refusals": 600}  # MAX_SENTENCE_CHARS: all that these patterns are shown
OLD_PAGE_NUMBER = re.compile(r"(?:page|seite|p\.)?\s*[-–—]?\s*\d{1,5}\s*[-–—]?(?:\s*(?:/|of|von)\s*\d{1,5})?", re.IGNORECASE)


def runaway(used: Used) -> str:
    """The string on which the pattern takes too long, "": none. The slowest of the short ones are tried at full length, once.

    CPU time of this process alone counts, so a busy machine changes it by a factor of two or three; what is told apart is a factor of
    100: from 2,000 to 200,000 characters a quadratic search takes 10,000 times as long, a linear one 100 times.
    """
    short, long = (min(size, CUT.get(used.place.rpartition(".")[0], size)) for size in (SMALL, LARGE))
    tried = list[tuple[float, str, tuple[str, str, str]]]()
    for operation, form in product(sorted(used.operations), hostile(used.pattern)):
        text = written(form, short, used.pattern)
        try:
            spent = cpu_seconds(partial(applied, used.pattern, operation, text), budget_s=SCREEN_S)
        except TooSlowError:
            return f"{operation} {text[:60]!r}… of {short}"
        tried.append((spent, operation, form))
    for _, operation, form in sorted(tried, reverse=True)[:SLOWEST]:
        text = written(form, long, used.pattern)
        try:
            cpu_seconds(partial(applied, used.pattern, operation, text), budget_s=LEAST_S)
        except TooSlowError:
            return f"{operation} {text[:60]!r}… of {long}"
    return ""


def test_every_pattern_takes_time_linear_in_the_text():
    patterns = patterns_of_the_product()
    assert len(patterns) > 150
    assert [f"{used.place}: {text}" for used in patterns if (text := runaway(used))] == []


@pytest.mark.parametrize(
    ("pattern", "operation"),
    [(OLD_PAGE_NUMBER, "fullmatch"), (OLD_PAGE_NUMBER, "finditer"), (re.compile(r"a+b"), "finditer")],
    ids=["fullmatch", "finditer", "quadratic in fast steps"],
)
def test_a_pattern_that_runs_away_is_found(pattern, operation):
    assert runaway(Used("a control", pattern, frozenset({operation}))) != ""
