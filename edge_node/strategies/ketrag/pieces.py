"""Sub-chunks (KET-RAG §5.1, Alg. 3 l. 9)."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import pairwise

_WORD_START = re.compile(r"(?<=\s)\S")


def pieces_of(text: str, tau: int) -> list[tuple[int, int]]:
    """Spans [start, end) of 2**tau pieces of about equal length that cover the text, each but the first beginning with a word.

    Fewer where the text has too few words. Characters stand for the paper's tokens. tau >= 0.

    >>> pieces_of("a b c d", 1)
    [(0, 4), (4, 7)]
    """
    starts = [match.start() for match in _WORD_START.finditer(text)] if tau else []
    shares = [len(text) * part / 2**tau for part in range(1, 2**tau)]
    cuts = {_nearest(starts, share) for share in shares} if starts else set()
    return list(pairwise(sorted({0, *cuts, len(text)})))


def _nearest(starts: Sequence[int], place: float) -> int:
    """The member of the sorted ``starts`` next to a place, the lesser of two."""
    at = bisect(starts, place)
    return min(starts[max(at - 1, 0) : at + 1], key=lambda start: abs(start - place))


def pieces_naming(names: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """The pieces of one chunk, given as id -> text, that an element of the skeleton is linked to in the chunk's place (§5.1, last lines).

    Those that hold the most of its names, whatever the case: so all of them where none holds any.

    >>> pieces_naming(["Orrin Mill"], {"c.0": "The mill", "c.1": "of ORRIN MILL."})
    ['c.1']
    """
    held = {key: sum(name.casefold() in text.casefold() for name in names) for key, text in texts.items()}
    most = max(held.values(), default=0)
    return [key for key, count in held.items() if count == most]
