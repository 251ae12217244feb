"""What the gate saw of a question, and what it would do with other thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.records import AnswerRow

Step = Literal["nearness", "unknown", "refusals", "sufficiency", "similarity"]
STEPS: tuple[Step, ...] = ("nearness", "unknown", "refusals", "sufficiency", "similarity")  # in the gate's order (DGRAG §III-C ⑤)


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


def signals_of(row: AnswerRow) -> Signals | None:
    """The gate's scores in an answer; None where no gate ran, or the question belongs neither here nor elsewhere alone."""
    if row.error or row.gate is None or row.scenario == "mixed":
        return None
    confidence, similarity = row.gate.get("confidence") or {}, row.gate.get("similarity") or {}
    samples = confidence.get("samples", 0)
    return Signals(
        within=row.scenario == "within",
        escalated=row.gate["decision"] == "escalate",
        nearness=confidence.get("nearness"),
        unknown=confidence.get("unknown"),
        refusals=confidence["refusals"] / samples if samples else None,
        sufficiency=confidence.get("sufficiency"),
        similarity=similarity.get("mean"),
    )


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


def _passes(step: Step, score: float, limits: Thresholds) -> bool:
    most = {"unknown": limits.max_unknown, "refusals": limits.max_refusals}
    if step in most:
        return score <= most[step]
    return score >= {"nearness": limits.min_nearness, "sufficiency": limits.min_sufficiency, "similarity": limits.min_similarity}[step]
