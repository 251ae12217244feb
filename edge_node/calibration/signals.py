"""What the gate saw of a question, and what it would do with other thresholds (DGRAG §III-C ⑤). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from edge_node.answering.gate_rules import NEARNESS, RULES, SIMILARITY


@dataclass(frozen=True, slots=True)
class Signals:
    """The scores of one question, each by the name of its rule.

    None: that step was switched off, or an earlier one escalated before it ran.
    """

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


def stopped_by(seen: Signals, limits: Thresholds) -> str | None:
    """The name of the rule that would escalate a question, in the gate's own order; None: it is answered at the edge.

    Where the gate that ran escalated before a step, nothing is known of what comes after; the step before is then named whatever its
    threshold, so a sweep never promises that a looser gate would have kept a question whose later scores nobody has seen.

    >>> seen = Signals(within=True, escalated=False, nearness=0.7, unknown=0.0, refusals=0.2, sufficiency=0.5, similarity=0.8)
    >>> stopped_by(seen, Thresholds(min_sufficiency=0.6)), stopped_by(seen, Thresholds(min_sufficiency=0.5))
    ('sufficiency', None)
    """
    last = NEARNESS.name
    for rule in RULES:
        score: float | None = getattr(seen, rule.name)
        if score is None:
            continue
        last = rule.name
        if not rule.holds(score, getattr(limits, rule.setting)):
            return rule.name
    return last if seen.escalated and last != SIMILARITY.name else None


def escalation(rows: Sequence[Signals], limits: Thresholds) -> Escalation:
    """What these thresholds escalate. Raises ValueError without questions of both kinds."""
    shares = {True: _by_step(rows, limits, within=True), False: _by_step(rows, limits, within=False)}
    return Escalation(limits, sum(shares[True].values()), sum(shares[False].values()), shares[True], shares[False])


def _by_step(rows: Sequence[Signals], limits: Thresholds, *, within: bool) -> dict[str, float]:
    steps = [stopped_by(row, limits) for row in rows if row.within == within]
    if not steps:
        raise ValueError(f"there is no question asked {'within' if within else 'out of'} its domain")
    counted = Counter(steps)
    return {step: counted[step] / len(steps) for step in (rule.name for rule in RULES) if counted[step]}
