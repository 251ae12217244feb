"""⑤ The gate: confidence, then similarity, then selection, in this order (DGRAG §III-C ⑤). Every score it saw is in its report.

Whether the passages suffice is asked before anything is sampled: the prompt begins as that of the samples does, so the server reads it
once, and a question that escalates costs no samples. A threshold that everything reaches switches its step off and saves the step's call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from edge_node.settings import GateSettings
from shared.limits import Deadline
from shared.ports import Embedder, Generator, Message, Prompt
from shared.records import Confidence, Evidence, GateReport, Similarity
from shared.telemetry.trace import OpenStep, Trace
from shared.text.prompts import load_prompt
from shared.text.refusals import YES_OR_NO, is_refusal, letters_of, most_probable_letter, probability_of
from shared.text.support import may_stand
from shared.vectors import mean_pairwise_cosine

COMPARE = load_prompt("edge_node", "compare")
SAME_CLAIMS = load_prompt("edge_node", "task_same_claims")
SELECT_BEST = load_prompt("edge_node", "task_select_best")
PROBE_TOKENS = 1
TOP_LOGPROBS = 10

WORD = re.compile(r"\w+")
MARKER = re.compile(r"\[\d+(?:\s*,\s*\d+)*\]")


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


def medoid(similarity: Sequence[Sequence[float]], among: Sequence[int]) -> int:
    """The member of ``among`` most similar to the others, lowest number on a tie: the choice when a model gives none."""
    return max(among, key=lambda i: (sum(similarity[i][j] for j in among), -i))


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its samples, and what was seen before they were drawn."""

    text: str
    samples: tuple[str, ...]
    sufficiency: float | None  # P(yes) that the passages hold the answer; None: nobody asked, or the model said neither
    nearness: float  # best cosine of a passage
    unknown: float = 0.0  # share of its words that stand nowhere in the documents
    passages: tuple[Evidence, ...] = ()  # that the samples were drawn over

    def refuses(self, i: int) -> bool:
        """Whether a sample says that it has no answer, or has no sentence that any passage could say, by its words."""
        return is_refusal(self.samples[i]) or (bool(self.passages) and not may_stand(self.samples[i], self.passages))


class Gate:
    """Decides whether local answers suffice."""

    def __init__(self, generator: Generator, embedder: Embedder, settings: GateSettings) -> None:
        self._generator = generator
        self._embedder = embedder
        self.settings = settings

    def with_settings(self, settings: GateSettings) -> Gate:
        """A gate with other thresholds."""
        return Gate(self._generator, self._embedder, settings)

    @property
    def minds_refusals(self) -> bool:
        """Whether too many of them make it escalate; an answer that no passage says is one."""
        return self.settings.max_refusals < 1

    def too_far(self, nearness: float, unknown: float) -> GateReport | None:
        """The decision to escalate before a model is asked: what is here is about something else, or lacks what the question names."""
        settings = self.settings
        if nearness < settings.min_nearness:
            reason = f"the nearest passage here has a cosine of {nearness:.2f} with the question, below {settings.min_nearness:.2f}"
        elif unknown > settings.max_unknown:
            reason = f"{unknown:.0%} of the question's words stand in no document here, over {settings.max_unknown:.0%}"
        else:
            return None
        return GateReport("escalate", reason, self.seen(nearness, unknown))

    async def sufficiency(self, probe: tuple[Message, ...], trace: Trace, deadline: Deadline) -> float | None:
        """P(yes) that the passages hold the answer; None where the step is off. Raises ModelError when the model cannot be asked."""
        if self.settings.min_sufficiency <= 0:
            return None
        with trace.step("gate: confidence") as step:
            prompt = Prompt(probe, max_tokens=PROBE_TOKENS, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO)
            reply = step.model(await self._generator.generate(prompt, deadline_s=deadline.left_s()))
        return _round(probability_of(reply.first_token, "yes", ["no"]))

    def too_little(self, sufficiency: float | None, nearness: float, unknown: float) -> GateReport | None:
        """The decision to escalate before anything is sampled: the passages do not hold the answer."""
        seen = self.seen(nearness, unknown, sufficiency=sufficiency)
        reason = self._lacks_confidence(seen)
        return GateReport("escalate", reason, seen) if reason else None

    async def judge(self, question: Question, trace: Trace, deadline: Deadline) -> GateReport:
        """Return the decision with all scores. Raises ModelError when the model cannot be asked."""
        refusals = sum(map(question.refuses, range(len(question.samples))))
        confidence = replace(
            self.seen(question.nearness, question.unknown, sufficiency=question.sufficiency),
            refusals=refusals,
            samples=len(question.samples),
        )
        reason = self._lacks_confidence(confidence)
        if reason:
            return GateReport("escalate", reason, confidence, samples=question.samples)
        everyone = range(len(question.samples))
        answers = [i for i in everyone if not question.refuses(i)] or list(everyone)
        report = GateReport("local", "how far the answers agree is not looked at", confidence, samples=question.samples)
        if self.settings.min_similarity > 0:
            with trace.step("gate: similarity") as step:
                similarity = await self._similarity(question, answers, step, deadline)
            bound = "at least " if similarity.semantic is None else ""
            report = replace(report, reason=f"the answers agree to {bound}{similarity.mean:.2f}", similarity=similarity)
            if similarity.mean < similarity.threshold:
                reason = f"the answers agree only to {similarity.mean:.2f}, below {similarity.threshold:.2f}"
                return replace(report, decision="escalate", reason=reason)
        with trace.step("gate: selection") as step:
            return replace(report, selected=await self._select(question, answers, step, deadline))

    def seen(self, nearness: float, unknown: float, *, sufficiency: float | None = None) -> Confidence:
        """What is known before anything is sampled, beside the thresholds."""
        settings = self.settings
        return Confidence(
            0, 0, sufficiency, settings.min_sufficiency, round(nearness, 4), settings.min_nearness, round(unknown, 4), settings.max_unknown
        )

    def _lacks_confidence(self, seen: Confidence) -> str:
        if seen.refusals > self.settings.max_refusals * seen.samples:
            return f"{seen.refusals} of {seen.samples} answers say nothing that the passages found here tell"
        if seen.sufficiency is not None and seen.sufficiency < seen.threshold:
            return f"the passages found here hold the answer with probability {seen.sufficiency:.4g}, below {seen.threshold:.4g}"
        return ""

    async def _similarity(self, question: Question, answers: Sequence[int], step: OpenStep, deadline: Deadline) -> Similarity:
        """The mean of cosine, Jaccard and the model's word. Where the first two decide, no model is asked, and the bound is the mean."""
        texts, least = [unmarked(question.samples[i]) for i in answers], self.settings.min_similarity
        cosine, jaccard = mean_pairwise_cosine(await self._embedder.embed(texts)), mean_pairwise_jaccard(texts)
        seen, semantic = cosine + jaccard, None
        if len(set(texts)) == 1:
            semantic = 1.0
        elif seen + 1 >= 3 * least > seen:
            semantic = await self._same_claims(question.text, texts, step, deadline)
            semantic = cosine if semantic is None else semantic  # a model that says neither leaves the meaning to the embedder
        mean = (seen + (semantic if semantic is not None else float(seen < 3 * least))) / 3
        return Similarity(round(cosine, 4), round(jaccard, 4), _round(semantic), round(mean, 4), least)

    async def _same_claims(self, question: str, texts: Sequence[str], step: OpenStep, deadline: Deadline) -> float | None:
        prompt = Prompt(
            self._compare(question, texts, SAME_CLAIMS.user.template), max_tokens=PROBE_TOKENS, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO
        )
        reply = step.model(await self._generator.generate(prompt, deadline_s=deadline.left_s()))
        return probability_of(reply.first_token, "yes", ["no"])

    async def _select(self, question: Question, answers: Sequence[int], step: OpenStep, deadline: Deadline) -> int:
        texts = [unmarked(question.samples[i]) for i in answers]
        if len(set(texts)) == 1:
            return max(answers, key=lambda i: (len(question.samples[i]), -i))  # alike but for markers: one that cites
        messages, letters = self._compare(question.text, texts, SELECT_BEST.user.template), letters_of(len(texts))
        prompt = Prompt(messages, max_tokens=PROBE_TOKENS, top_logprobs=TOP_LOGPROBS, choices=letters)
        reply = step.model(await self._generator.generate(prompt, deadline_s=deadline.left_s()))
        best = most_probable_letter(reply.first_token, len(texts))
        if best is None:
            vectors = await self._embedder.embed(texts)
            best = medoid((vectors @ vectors.T).tolist(), range(len(texts)))
        return answers[best]

    def _compare(self, question: str, answers: Sequence[str], task: str) -> tuple[Message, ...]:
        listed = "\n".join(f"{chr(ord('A') + i)}. {answer}" for i, answer in enumerate(answers))
        return COMPARE.render(question=question, answers=listed, task=task)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
