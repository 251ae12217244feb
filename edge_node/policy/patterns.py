"""Regular expressions that a person may write into a policy: a small language in which no search can run away.

A backtracking search tries, from each place of a text, at most one way for each combination of its choices. Here all choices are
bounded and their product is capped, so a search makes at most ``MAX_WAYS × MAX_CHARS`` steps from each place, whatever the text says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from difflib import get_close_matches

from pydantic_core import ErrorDetails

from shared.errors import InputError

MAX_CHARS = 200
MAX_WAYS = 1_000  # product of the choices of all quantifiers and branches
MAX_REPEATS = 64
_TOKEN = re.compile(
    r"(?P<atom>\\[dwsbDWSB]|\\[^\w]|\[\^?(?:\\.|[^\]\\\[])+\]|[^\\\[\](){}*+?|])"
    r"|(?P<open>\((?:\?:)?(?!\?))|(?P<close>\))|(?P<branch>\|)|(?P<repeat>\{(?P<least>\d{1,3})(?:,(?P<most>\d{1,3}))?\}|\?)"
)

Step = str | int
_TABLE = re.compile(r"\s*+\[\s*+([^\[\]]+)\]")
_ONE_OF_MANY = re.compile(r"\s*+\[\[\s*+([^\[\]]+)\]\]")
_KEY = re.compile(r"""\s*("[^"]+"|'[^']+'|[\w.-]+)\s*=""")


def told(text: str, fault: ErrorDetails, known: Collection[str]) -> str:
    """One fault of the file. known: the fields that there are where it stands."""
    where, what = fault["loc"], fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        alike = get_close_matches(str(where[-1]), known, n=1)
        what = "there is no such field" + (f"; did you mean {alike[0]}?" if alike else "")
    line = line_of(text, where)
    names = " ".join(str(step + 1 if isinstance(step, int) else step) for step in where)
    return ": ".join(filter(None, [f"line {line}" if line else "", names, what]))


def line_of(text: str, where: Sequence[Step]) -> int | None:
    r"""The line, from 1 on, of the field ``where`` of a TOML file, or of the smallest part around it that has a line of its own.

    >>> line_of("version = 1\n[[exceptions]]\nedges = []\n[[exceptions]]\nshare = 3", ("exceptions", 1, "share"))
    5
    """
    table: tuple[Step, ...] = ()
    best, found, counts = 0, None, Counter[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _ONE_OF_MANY.match(line):
            name = header[1].rstrip()
            path = table = (*_plain(name), counts[name])
            counts[name] += 1
        elif header := _TABLE.match(line):
            path = table = _plain(header[1].rstrip())
        elif key := _KEY.match(line):
            path = (*table, *_plain(key[1]))
        else:
            continue
        if len(path) > best and tuple(where[: len(path)]) == path:
            best, found = len(path), number
    return found


def _plain(name: str) -> tuple[Step, ...]:
    return (name[1:-1],) if name[0] in "\"'" else tuple(part.strip() for part in name.split("."))


def bounded(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of characters, classes, groups, ``|``, ``?`` and ``{m,n}``; upper and lower case are one.

    Raises InputError for ``*``, ``+``, ``{m,}``, back references, look-arounds, repeated groups, and where the choices multiply too far.

    >>> bounded("PAT-[0-9]{6}").search("see pat-004711").group()
    'pat-004711'
    """
    if len(pattern) > MAX_CHARS:
        raise _refused(pattern, f"it has more than {MAX_CHARS} characters")
    if _ways(pattern) > MAX_WAYS:
        raise _refused(pattern, f"its choices multiply to more than {MAX_WAYS}")
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise _refused(pattern, str(error)) from error
    if compiled.search("") is not None:
        raise _refused(pattern, "it fits an empty text")
    return compiled


def _ways(pattern: str) -> int:
    ways, place, before = 1, 0, ""
    while place < len(pattern):
        token = _TOKEN.match(pattern, place)
        if token is None:
            raise _refused(pattern, f"{pattern[place : place + 3]!r} is not allowed; say how often at most, as in [0-9]{{1,10}}")
        if token["branch"]:
            ways *= 2
        if token["repeat"]:
            ways *= _choices(pattern, token, before)
        before = "repeat" if token["repeat"] else str(token.lastgroup)
        place = token.end()
    return ways


def _choices(pattern: str, token: re.Match[str], before: str) -> int:
    if token["repeat"] == "?" and before in {"atom", "close"}:
        return 2
    if before != "atom":
        raise _refused(pattern, "only a single character or class can be repeated")
    least, most = int(token["least"]), int(token["most"] or token["least"])
    if not least <= most <= MAX_REPEATS:
        raise _refused(pattern, f"it repeats more than {MAX_REPEATS} times")
    return most - least + 1


def _refused(pattern: str, why: str) -> InputError:
    return InputError(f"the pattern {pattern[:80]!r} cannot be used: {why}", next_step="write it simpler")
