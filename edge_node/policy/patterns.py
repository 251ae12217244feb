"""Regular expressions that a person may write into a policy: a small language in which no search can run away.

A backtracking search tries, from each place of a text, at most one way for each combination of its choices. Here all choices are
bounded and their product is capped, so a search makes at most ``MAX_WAYS × MAX_CHARS`` steps from each place, whatever the text says.
"""

from __future__ import annotations

import re

from shared.errors import InputError

MAX_CHARS = 200
MAX_WAYS = 1_000  # product of the choices of all quantifiers and branches
MAX_REPEATS = 64
_TOKEN = re.compile(
    r"(?P<atom>\\[dwsbDWSB]|\\[^\w]|\[\^?(?:\\.|[^\]\\\[])+\]|[^\\\[\](){}*+?|])"
    r"|(?P<open>\((?:\?:)?(?!\?))|(?P<close>\))|(?P<branch>\|)|(?P<repeat>\{(?P<least>\d{1,3})(?:,(?P<most>\d{1,3}))?\}|\?)"
)


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
