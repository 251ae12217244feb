"""The least score that a memory of each kind needs to answer (τ, FD-RAG §4.2), as settings name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from edge_node.memory.records import Kind

KINDS: tuple[Kind, ...] = get_args(Kind)
THRESHOLDS: Mapping[Kind, float] = {"template": 0.92, "model": 0.92, "learned": 0.88}
HIGHEST = 2.0  # a score is at most 1: above it never answers
_FORM = "as in template=0.92,model=0.92,learned=0.88"


def parsed_thresholds(value: object) -> dict[Kind, float]:
    """Thresholds by kind, as in "template=0.95,learned=2", or as a mapping; a kind that is not named keeps its own.

    Raises ValueError that says what is wrong.

    >>> parsed_thresholds("template=0.95, learned=2")
    {'template': 0.95, 'model': 0.92, 'learned': 2.0}
    """
    named = _parsed(value) if isinstance(value, str) else value
    if not isinstance(named, Mapping) or not all(isinstance(least, float | int) for least in named.values()):
        raise ValueError(f"{value!r} must name kinds of memories with their least scores, {_FORM}")
    if others := sorted(set(map(str, named)) - set(KINDS)):
        raise ValueError(f"there is no kind of memories {others[0]!r}: use {', '.join(KINDS)}")
    if not all(0 <= least <= HIGHEST for least in named.values()):
        raise ValueError(f"{value!r} must name scores from 0 to {HIGHEST:g}; one above 1 never answers")
    return {kind: float(named.get(kind, THRESHOLDS[kind])) for kind in KINDS}


def _parsed(text: str) -> dict[str, float]:
    least: dict[str, float] = {}
    for part in text.split(","):
        kind, _, score = (word.strip() for word in part.partition("="))
        if not kind or kind in least:
            raise ValueError(f"{text!r} must name each kind once, {_FORM}")
        try:
            least[kind] = float(score)
        except ValueError:
            raise ValueError(f"the least score of {kind!r} must be a number, {_FORM}") from None
    return least
