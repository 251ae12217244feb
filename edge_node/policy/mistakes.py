"""What is wrong with a policy file, in words, with the line where it stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from difflib import get_close_matches

from pydantic_core import ErrorDetails

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
