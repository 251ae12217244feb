"""What was retrieved against what was needed; no model is asked."""

from __future__ import annotations

from collections.abc import Sequence


def recall_at(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """Share of the needed documents among the first ``k`` found, [0, 1]. Raises ValueError where none is needed.

    >>> recall_at(["a", "x", "b"], ["a", "b"], 2)
    0.5
    """
    needed = _needed(gold)
    return len(needed & set(found[:k])) / len(needed)


def all_at(found: Sequence[str], gold: Sequence[str], k: int) -> float:
    """1.0 if all needed documents are among the first ``k`` found, else 0.0. Raises ValueError where none is needed.

    >>> all_at(["a", "x", "b"], ["a", "b"], 2), all_at(["a", "x", "b"], ["a", "b"], 3)
    (0.0, 1.0)
    """
    return float(_needed(gold) <= set(found[:k]))


def _needed(gold: Sequence[str]) -> frozenset[str]:
    if not gold:
        raise ValueError("no document is known to be needed, so no recall can be measured: leave the question out")
    return frozenset(gold)
