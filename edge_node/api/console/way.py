"""The route that a question took, for the picture of it and in words for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from edge_node.answering.gate_rules import explanation
from shared.missing import missing_reason, missing_sentence, why_missing
from shared.plural import counted
from shared.records import Answer, EdgeReport, GateReport, TraceStep
from shared.telemetry.trace import CLOUD, ESCALATED, component_of

GATE = "gate"  # the component


@dataclass(frozen=True, slots=True)
class Spent:
    """What some steps have taken."""

    ms: float
    calls: int
    tokens: int
    bytes: int

    @classmethod
    def of(cls, steps: Iterable[TraceStep], within: Iterable[TraceStep] = ()) -> Spent:
        """Of some steps, and of the calls and tokens of others that were made meanwhile."""
        own, inner = list(steps), list(within)
        calls = sum(one.calls for one in own + inner)
        tokens = sum(one.tokens_in + one.tokens_out for one in own + inner)
        return cls(sum(one.ms for one in own), calls, tokens, sum(one.bytes_in + one.bytes_out for one in own))


@dataclass(frozen=True, slots=True)
class Site:
    """A site that was asked, or passed over; ``words``: what it gave, or why it gave nothing."""

    report: EdgeReport
    words: str

    @property
    def is_missing(self) -> bool:
        """Whether it gave no answer."""
        return self.report.status != "answered"


@dataclass(frozen=True, slots=True)
class Way:
    """The route that a question took. ``missing``: a sentence about the sites that gave no answer; ``reason``: what else is to be said."""

    home: Spent
    gate: Spent
    cloud: Spent | None  # None: it did not leave the site
    sites: tuple[Site, ...]
    all: Spent
    gate_words: str
    missing: str
    reason: str

    @classmethod
    def of(cls, answer: Answer) -> Way:
        """Read out of an answer."""
        own = [one for one in answer.trace if not one.step.startswith(CLOUD)]
        inner = [one for one in answer.trace if one.step.startswith(CLOUD)]
        left = [one for one in own if one.step == ESCALATED]
        gate = [one for one in own if component_of(one.step) == GATE]
        return cls(
            Spent.of(one for one in own if one not in left and one not in gate),
            Spent.of(gate),
            Spent.of(left, inner) if left else None,
            tuple(Site(report, why_missing(report) or gave(report)) for report in answer.edges),
            Spent.of(own, inner),
            told_gate(answer.gate) if answer.gate else "",
            missing_sentence(answer.edges),
            other_reason(answer),
        )


def gave(report: EdgeReport) -> str:
    """What a site that answered has sent.

    >>> from shared.records import EdgeId
    >>> gave(EdgeReport(EdgeId("b"), "evidence", "answered", 9, 60, 1)), gave(EdgeReport(EdgeId("b"), "evidence", "answered", 9, 60, 0))
    ('it sent 1 passage', 'it found nothing near the question')
    """
    if report.reports_there:
        return f"it read {report.reports} of {counted(report.reports_there, 'report')} and told {counted(report.evidence, 'point')}"
    return f"it sent {counted(report.evidence, 'passage')}" if report.evidence else "it found nothing near the question"


def told_gate(gate: GateReport) -> str:
    """What the gate found, in plain words; its numbers are in the report.

    >>> told_gate(GateReport("local", "the answers agree to 0.91"))
    'What was found at this site is enough.'
    """
    return explanation(gate) or sentence(gate.reason)


def other_reason(answer: Answer) -> str:
    """What an answer says of itself besides who is missing, in plain words where the gate says it; empty where nothing is left."""
    gate, missing = answer.gate, missing_reason(answer.edges)
    parts = [part for part in answer.reason.split("; ") if part and part != missing]
    return " ".join(told_gate(gate) if gate and part == gate.reason else sentence(part) for part in parts)


def sentence(words: str) -> str:
    """Words as a sentence.

    >>> sentence("no site answered"), sentence("")
    ('No site answered.', '')
    """
    return f"{words[0].upper()}{words[1:].rstrip('.')}." if words else ""
