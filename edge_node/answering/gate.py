"""⑤ The gate: do the drafts agree, and do the passages show what they say (DGRAG §III-C ⑤)? Every signal is in its report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from edge_node.answering.gate_rules import NEARNESS, RULES, UNBORNE, UNKNOWN, Rule
from edge_node.settings import GateSettings
from shared.drafts import Draft
from shared.ports import Embedder
from shared.records import Confidence, GateReport, Similarity
from shared.telemetry.trace import Trace
from shared.text.citations import MARKER as ANY_MARKER
from shared.text.refusals import is_refusal
from shared.vectors import mean_pairwise_cosine

WORD = re.compile(r"\w+")
MARKER = re.compile(r"\[\d+(?:\s*,\s*\d+)*\]")
NOT_STATED = "no draft of an answer is borne out by the passages found here"


def unmarked(text: str) -> str:
    """The text without citation markers, in single blanks.

    >>> unmarked("Juniper Ward did [3].")
    'Juniper Ward did.'
    """
    return re.sub(r"(?<!\s)\s++([.,;!?])", r"\1", " ".join(MARKER.sub(" ", text).split()))


def words(text: str) -> frozenset[str]:
    """The set of a text's words, case folded, citation markers left out.

    >>> sorted(words("The pump [1] stopped."))
    ['pump', 'stopped', 'the']
    """
    return frozenset(WORD.findall(MARKER.sub(" ", text).casefold()))


def mean_pairwise_jaccard(texts: Sequence[str]) -> float:
    """Mean over all pairs of |A ∩ B| / |A ∪ B| of their word sets; 1.0 for a single text (DGRAG §III-C ⑤ 2).

    >>> mean_pairwise_jaccard(["a b", "b c"])
    0.3333333333333333
    """
    sets = [words(text) for text in texts]
    scores = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in combinations(sets, 2)]
    return sum(scores) / len(scores) if scores else 1.0


class Gate:
    """Decides whether the local answer suffices."""

    def __init__(self, embedder: Embedder, settings: GateSettings) -> None:
        self._embedder = embedder
        self.settings = settings

    def with_settings(self, settings: GateSettings) -> Gate:
        """A gate with other thresholds."""
        return Gate(self._embedder, settings)

    @property
    def asks_model(self) -> bool:
        """Whether the model is asked if the passages show the answer."""
        return self.settings.min_sufficiency > 0

    def too_far(self, nearness: float, unknown: float) -> GateReport | None:
        """The decision to ask elsewhere first: what is here is about something else. It ends nothing: the draft comes later."""
        report = GateReport("local", "", self._seen(nearness, unknown))
        return self._escalating(report, (NEARNESS, UNKNOWN))

    async def judge(self, draft: Draft, nearness: float, unknown: float, trace: Trace) -> GateReport:
        """The decision over a draft, with all signals. Raises the embedder's ModelError."""
        none = draft.refusals == len(draft.samples)
        confidence = replace(
            self._seen(nearness, unknown),
            refusals=draft.refusals,
            samples=len(draft.samples),
            sufficiency=0.0 if none and self.asks_model else _rounded(draft.shown),
        )
        report = GateReport("local", "", confidence, samples=draft.samples, selected=draft.selected)
        answers = [unmarked(sample) for sample in draft.samples if not is_refusal(sample)]
        if self.settings.min_similarity > 0 and answers:
            with trace.step("gate: similarity"):
                report = replace(report, similarity=await self._similarity(answers, draft.agreement))
        if (escalating := self._escalating(report, RULES)) is not None:
            return escalating
        if draft.selected is None:
            return replace(report, decision="escalate", reason=NOT_STATED, rule=UNBORNE)
        agreed = "the answers are not compared" if report.similarity is None else f"the answers agree to {report.similarity.mean:.2f}"
        return replace(report, reason=agreed)

    def _escalating(self, report: GateReport, rules: Sequence[Rule]) -> GateReport | None:
        """The report of the first rule that does not hold; None where all hold."""
        for rule in rules:
            signal, bound = rule.signal(report), getattr(self.settings, rule.setting)
            if signal is not None and not rule.holds(signal, bound):
                return replace(report, decision="escalate", reason=rule.sentence(signal, bound), rule=rule.name)
        return None

    def _seen(self, nearness: float, unknown: float) -> Confidence:
        settings = self.settings
        return Confidence(
            0, 0, None, settings.min_sufficiency, round(nearness, 4), settings.min_nearness, round(unknown, 4), settings.max_unknown
        )

    async def _similarity(self, answers: Sequence[str], agreement: float) -> Similarity:
        """The mean of cosine, Jaccard and the share of pairs that say the same."""
        is_one = len({ANY_MARKER.sub("", answer) for answer in answers}) == 1
        cosine = 1.0 if is_one else mean_pairwise_cosine(await self._embedder.embed(list(answers)))
        jaccard = mean_pairwise_jaccard(answers)
        mean = (cosine + jaccard + agreement) / 3
        return Similarity(round(cosine, 4), round(jaccard, 4), round(agreement, 4), round(mean, 4), self.settings.min_similarity)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
