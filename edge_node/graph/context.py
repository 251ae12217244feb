"""What a search hands to the reader of a question, within an exact number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import floor


@dataclass(frozen=True, slots=True)
class Context:
    """Lines of a graph in their order, and pieces, best first."""

    lines: tuple[str, ...]
    pieces: tuple[str, ...]
    tokens: int  # of both


def fitting(keys: Iterable[str], tokens_of: Callable[[str], int], limit_tokens: int) -> dict[str, int]:
    """The keys in their order that fit, with their tokens. Nothing is cut: what does not fit is skipped, and what is smaller may follow.

    >>> fitting("abc", {"a": 5, "b": 9, "c": 4}.__getitem__, 10)
    {'a': 5, 'c': 4}
    """
    taken: dict[str, int] = {}
    left = limit_tokens
    for key in keys:
        if left <= 0:
            break
        if key not in taken and (tokens := tokens_of(key)) <= left:
            taken[key] = tokens
            left -= tokens
    return taken


def part_of(limit_tokens: int, share: float) -> int:
    """A share of a number of tokens, rounded down.

    >>> part_of(100, 0.29), 100 * 0.29 < 29
    (29, True)
    """
    return floor(round(limit_tokens * share, 9))
