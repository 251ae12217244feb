"""The gate's scores in an answer of a run."""

from __future__ import annotations

from benchmarks.records import AnswerRow
from edge_node.calibration.signals import Signals


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
