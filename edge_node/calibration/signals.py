"""What the gate saw of a question, and what it would do with other thresholds (DGRAG §III-C ⑤). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Step = Literal["nearness", "unknown", "refusals", "sufficiency", "similarity"]
STEPS: tuple[Step, ...] = ("nearness", "unknown", "refusals", "sufficiency", "similarity")  # in the gate's order


@dataclass(frozen=True, slots=True)
class Signals:
    """The scores of one question. None: that step was switched off, or an earlier one escalated before it ran."""

    within: bool  # asked at the edge whose documents hold the answer
    escalated: bool  # by the gate that ran
    nearness: float | None  # cosine with the nearest passage
    unknown: float | None  # share of the question's words that stand nowhere in the site's documents
    refusals: float | None  # share of the samples that say that they lack information
    sufficiency: float | None  # P(yes) that the passages hold the answer
    similarity: float | None  # mean of cosine, Jaccard and semantic consistency


@dataclass(frozen=True, slots=True)
class Thresholds:
    """As ``edge_node.settings.GateSettings``; the defaults let everything pass."""

    min_nearness: float = -1.0
    max_unknown: float = 1.0
    max_refusals: float = 1.0
    min_sufficiency: float = 0.0
    min_similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class Escalation:
    """Shares of the questions that a gate with these thresholds escalates, in all and by the step that does it."""

    thresholds: Thresholds
    within: float
    out: float
    within_by: dict[str, float]
    out_by: dict[str, float]


def stopped_by(seen: Signals, limits: Thresholds) -> Step | None:
    """The step that would escalate a question, by the gate's own order and comparisons; None: it is answered at the edge.

    Where the gate that ran escalated before a step, nothing is known of what comes after; the step before is then named whatever its
    threshold, so a sweep never promises that a looser gate would have kept a question whose later scores nobody has seen.

    >>> seen = Signals(within=True, escalated=False, nearness=0.7, unknown=0.0, refusals=0.2, sufficiency=0.5, similarity=0.8)
    >>> stopped_by(seen, Thresholds(min_sufficiency=0.6)), stopped_by(seen, Thresholds(min_sufficiency=0.5))
    ('sufficiency', None)
    """
    scores = {
        "nearness": seen.nearness,
        "unknown": seen.unknown,
        "refusals": seen.refusals,
        "sufficiency": seen.sufficiency,
        "similarity": seen.similarity,
    }
    last: Step = "nearness"
    for step in STEPS:
        score = scores[step]
        if score is None:
            continue
        last = step
        if not _passes(step, score, limits):
            return step
    return last if seen.escalated and last != "similarity" else None


def escalation(rows: Sequence[Signals], limits: Thresholds) -> Escalation:
    """What these thresholds escalate. Raises ValueError without questions of both kinds."""
    shares = {True: _by_step(rows, limits, within=True), False: _by_step(rows, limits, within=False)}
    return Escalation(limits, sum(shares[True].values()), sum(shares[False].values()), shares[True], shares[False])


def _by_step(rows: Sequence[Signals], limits: Thresholds, *, within: bool) -> dict[str, float]:
    steps = [stopped_by(row, limits) for row in rows if row.within == within]
    if not steps:
        raise ValueError(f"there is no question asked {'within' if within else 'out of'} its domain")
    counted = Counter(steps)
    return {step: counted[step] / len(steps) for step in STEPS if counted[step]}


def _passes(step: Step, score: float, limits: Thresholds) -> bool:
    most = {"unknown": limits.max_unknown, "refusals": limits.max_refusals}
    if step in most:
        return score <= most[step]
    return score >= {"nearness": limits.min_nearness, "sufficiency": limits.min_sufficiency, "similarity": limits.min_similarity}[step]
