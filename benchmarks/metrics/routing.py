"""Summary matching: whether the best m summaries belong to the edge that has the answer (DGRAG §IV-E1, Fig. 10).

``edges`` are those of the matched summaries, best first, with repetitions; fewer than ``m`` count as they are. ``owners`` have the
document that the question is about.
"""

from __future__ import annotations

from collections.abc import Sequence


def hit(edges: Sequence[str], owners: Sequence[str], m: int) -> bool:
    """At least one of the first ``m`` is an owner.

    >>> hit(["art", "cs", "cs"], ["cs"], 1), hit(["art", "cs", "cs"], ["cs"], 2)
    (False, True)
    """
    return any(edge in owners for edge in edges[:m])


def any_mismatch(edges: Sequence[str], owners: Sequence[str], m: int) -> bool:
    """At least one of the first ``m`` is no owner.

    >>> any_mismatch(["cs", "cs", "art"], ["cs"], 2), any_mismatch(["cs", "cs", "art"], ["cs"], 3)
    (False, True)
    """
    return any(edge not in owners for edge in edges[:m])


def right_share(edges: Sequence[str], owners: Sequence[str], m: int) -> float:
    """Share of the first ``m`` that are owners, [0, 1]; 0 where nothing was matched.

    >>> right_share(["cs", "art", "cs", "cs"], ["cs"], 4)
    0.75
    """
    chosen = edges[:m]
    return sum(edge in owners for edge in chosen) / len(chosen) if chosen else 0.0
