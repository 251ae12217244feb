"""Summary matching: whether the best m summaries belong to the edge that has the answer (DGRAG §IV-E1, Fig. 10).

``edges`` are the owners of the matched summaries, best first, with repetitions; fewer than ``m`` count as they are.
"""

from __future__ import annotations

from collections.abc import Sequence


def hit(edges: Sequence[str], domain: str, m: int) -> bool:
    """At least one of the first ``m`` belongs to ``domain``.

    >>> hit(["art", "cs", "cs"], "cs", 1), hit(["art", "cs", "cs"], "cs", 2)
    (False, True)
    """
    return domain in edges[:m]


def any_mismatch(edges: Sequence[str], domain: str, m: int) -> bool:
    """At least one of the first ``m`` belongs to another edge.

    >>> any_mismatch(["cs", "cs", "art"], "cs", 2), any_mismatch(["cs", "cs", "art"], "cs", 3)
    (False, True)
    """
    return any(edge != domain for edge in edges[:m])


def right_share(edges: Sequence[str], domain: str, m: int) -> float:
    """Share of the first ``m`` that belongs to ``domain``, [0, 1]; 0 where nothing was matched.

    >>> right_share(["cs", "art", "cs", "cs"], "cs", 4)
    0.75
    """
    chosen = edges[:m]
    return sum(edge == domain for edge in chosen) / len(chosen) if chosen else 0.0
