"""⑤ The gate's rules: what is compared with which setting, and what a person is told where one does not hold (DGRAG §III-C ⑤).

The gate, its calibration, the console and the reports read them here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shared.records import GateReport


@dataclass(frozen=True, slots=True)
class Rule:
    """A signal and its bound. ``is_most``: the signal may be that large at most, else it must be that large.

    ``plain``: for a person who asks; ``exact``: with ``{signal}`` and ``{bound}``, for the report.
    """

    name: str
    setting: str
    is_most: bool
    signal: Callable[[GateReport], float | None]
    plain: str
    exact: str

    def holds(self, signal: float, bound: float) -> bool:
        """Whether a signal keeps within its bound."""
        return signal <= bound if self.is_most else signal >= bound

    def sentence(self, signal: float, bound: float) -> str:
        """What is said of a signal that does not."""
        return self.exact.format(signal=signal, bound=bound)


def _nearness(report: GateReport) -> float | None:
    return report.confidence.nearness if report.confidence else None


def _unknown(report: GateReport) -> float | None:
    return report.confidence.unknown if report.confidence else None


def _refusals(report: GateReport) -> float | None:
    seen = report.confidence
    return seen.refusals / seen.samples if seen and seen.samples else None


def _sufficiency(report: GateReport) -> float | None:
    return report.confidence.sufficiency if report.confidence else None


def _similarity(report: GateReport) -> float | None:
    return report.similarity.mean if report.similarity else None


NEARNESS = Rule(
    "nearness",
    "min_nearness",
    False,
    _nearness,
    "No passage of this site is close to the question.",
    "the nearest passage here has a cosine of {signal:.2f} with the question, below {bound:.2f}",
)
UNKNOWN = Rule(
    "unknown",
    "max_unknown",
    True,
    _unknown,
    "The question has words that no document of this site has.",
    "{signal:.0%} of the question's words stand in no document here, over {bound:.0%}",
)
REFUSALS = Rule(
    "refusals",
    "max_refusals",
    True,
    _refusals,
    "The drafts say that the passages of this site do not answer it.",
    "{signal:.0%} of the drafts say that the passages found here do not answer it",
)
SUFFICIENCY = Rule(
    "sufficiency",
    "min_sufficiency",
    False,
    _sufficiency,
    "What was found at this site does not seem to be enough.",
    "the passages found here show the answer with probability {signal:.4g}, below {bound:.4g}",
)
SIMILARITY = Rule(
    "similarity",
    "min_similarity",
    False,
    _similarity,
    "Several drafts of an answer did not say the same.",
    "the answers agree only to {signal:.2f}, below {bound:.2f}",
)
RULES: tuple[Rule, ...] = (NEARNESS, UNKNOWN, REFUSALS, SUFFICIENCY, SIMILARITY)
RULE_OF = {rule.name: rule for rule in RULES}
UNBORNE = "unborne"  # the name of what is no threshold: no draft's figures stand in the passages, or no passage bears it
NOT_BORNE = "The passages of this site do not bear out any draft."
DOUBTED = "doubted"  # nor is this: the answer passes by what the question asks


def explanation(report: GateReport) -> str:
    """What the gate found, for a person; "" where the report alone says it.

    >>> explanation(GateReport("escalate", "the answers agree only to 0.20, below 0.70", rule="similarity"))
    'Several drafts of an answer did not say the same.'
    """
    if report.decision == "local":
        return "What was found at this site is enough."
    if report.rule == UNBORNE:
        return NOT_BORNE
    if report.rule == DOUBTED:
        return f"{report.reason[:1].upper()}{report.reason[1:]}."
    return RULE_OF[report.rule].plain if report.rule in RULE_OF else ""
