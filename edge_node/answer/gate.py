"""⑤ The gate: confidence, then similarity, then selection, in this order (DGRAG §III-C ⑤). Every score it saw is in its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edge_node.answer.agreement import mean_pairwise_jaccard, medoid, unmarked
from shared.deadline import Deadline
from shared.first_token import most_probable_letter, probability_of
from shared.ports import Embedder, FloatArray, Generator, Message, Prompt
from shared.prompts import load_prompt
from shared.records import Confidence, GateReport, Similarity
from shared.refusals import is_refusal
from shared.trace import OpenStep, Trace
from shared.vectors import mean_pairwise_cosine

COMPARE = load_prompt("edge_node", "compare")
SAME_CLAIMS = load_prompt("edge_node", "task_same_claims")
SELECT_BEST = load_prompt("edge_node", "task_select_best")
PROBE_TOKENS = 1
TOP_LOGPROBS = 10


@dataclass(frozen=True, slots=True)
class GateLimits:
    """Thresholds of the three steps; each in [0, 1] but for ``min_nearness``, a cosine."""

    min_nearness: float
    max_refusals: float
    min_sufficiency: float
    min_similarity: float


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its samples, and the prompt that asks whether the passages suffice."""

    text: str
    samples: tuple[str, ...]
    sufficiency_probe: tuple[Message, ...]
    nearness: float  # best cosine of a passage


class Gate:
    """Decides whether local answers suffice."""

    def __init__(self, generator: Generator, embedder: Embedder, limits: GateLimits) -> None:
        self._generator = generator
        self._embedder = embedder
        self.limits = limits

    def too_far(self, nearness: float) -> GateReport | None:
        """The decision to escalate before anything is sampled: what was found here is about something else."""
        if nearness >= self.limits.min_nearness:
            return None
        confidence = Confidence(0, 0, None, self.limits.min_sufficiency, round(nearness, 4), self.limits.min_nearness)
        reason = f"the nearest passage here has a cosine of {nearness:.2f} with the question, below {self.limits.min_nearness:.2f}"
        return GateReport("escalate", reason, confidence)

    async def judge(self, question: Question, trace: Trace, deadline: Deadline) -> GateReport:
        """Return the decision with all scores. Raises ModelError when the model cannot be asked."""
        with trace.step("gate: confidence") as step:
            confidence = await self._confidence(question, step, deadline)
        reason = self._lacks_confidence(confidence)
        if reason:
            return GateReport("escalate", reason, confidence, samples=question.samples)
        answers = [i for i, sample in enumerate(question.samples) if not is_refusal(sample)]
        with trace.step("gate: similarity") as step:
            similarity, vectors = await self._similarity(question, answers, step, deadline)
        report = GateReport("escalate", "", confidence, similarity, question.samples)
        if similarity.mean < similarity.threshold:
            return replace(report, reason=f"the answers agree only to {similarity.mean:.2f}, below {similarity.threshold:.2f}")
        with trace.step("gate: selection") as step:
            selected = await self._select(question, answers, vectors, step, deadline)
        return replace(report, decision="local", reason=f"the answers agree to {similarity.mean:.2f}", selected=selected)

    async def _confidence(self, question: Question, step: OpenStep, deadline: Deadline) -> Confidence:
        refusals = sum(is_refusal(sample) for sample in question.samples)
        limits = self.limits
        confidence = Confidence(
            refusals, len(question.samples), None, limits.min_sufficiency, round(question.nearness, 4), limits.min_nearness
        )
        if self._lacks_confidence(confidence):
            return confidence  # the lexical pre-check decided: the call is saved
        prompt = Prompt(question.sufficiency_probe, max_tokens=PROBE_TOKENS, top_logprobs=TOP_LOGPROBS)
        reply = step.model(await self._generator.generate(prompt, deadline_s=deadline.left_s()))
        return replace(confidence, sufficiency=_round(probability_of(reply.first_token, "yes", ["no"])))

    def _lacks_confidence(self, seen: Confidence) -> str:
        if seen.refusals == seen.samples or seen.refusals / seen.samples > self.limits.max_refusals:
            return f"{seen.refusals} of {seen.samples} answers say that the documents here do not tell"
        if seen.sufficiency is not None and seen.sufficiency < seen.threshold:
            return f"the passages found here hold the answer with probability {seen.sufficiency:.2f}, below {seen.threshold:.2f}"
        return ""

    async def _similarity(
        self, question: Question, answers: Sequence[int], step: OpenStep, deadline: Deadline
    ) -> tuple[Similarity, FloatArray]:
        texts = [unmarked(question.samples[i]) for i in answers]
        vectors = await self._embedder.embed(texts)
        cosine, jaccard, semantic = mean_pairwise_cosine(vectors), mean_pairwise_jaccard(texts), 1.0
        if len(set(texts)) > 1:
            prompt = Prompt(
                self._compare(question.text, texts, SAME_CLAIMS.user.template), max_tokens=PROBE_TOKENS, top_logprobs=TOP_LOGPROBS
            )
            reply = step.model(await self._generator.generate(prompt, deadline_s=deadline.left_s()))
            judged = probability_of(reply.first_token, "yes", ["no"])
            semantic = cosine if judged is None else judged  # a model that says neither leaves the meaning to the embedder
        mean = (cosine + jaccard + semantic) / 3
        return Similarity(round(cosine, 4), round(jaccard, 4), round(semantic, 4), round(mean, 4), self.limits.min_similarity), vectors

    async def _select(self, question: Question, answers: Sequence[int], vectors: FloatArray, step: OpenStep, deadline: Deadline) -> int:
        texts = [unmarked(question.samples[i]) for i in answers]
        if len(set(texts)) == 1:
            return max(answers, key=lambda i: (len(question.samples[i]), -i))  # alike but for markers: one that cites
        prompt = Prompt(self._compare(question.text, texts, SELECT_BEST.user.template), max_tokens=PROBE_TOKENS, top_logprobs=TOP_LOGPROBS)
        reply = step.model(await self._generator.generate(prompt, deadline_s=deadline.left_s()))
        best = most_probable_letter(reply.first_token, len(texts))
        if best is None:
            best = medoid((vectors @ vectors.T).tolist(), range(len(texts)))
        return answers[best]

    def _compare(self, question: str, answers: Sequence[str], task: str) -> tuple[Message, ...]:
        listed = "\n".join(f"{chr(ord('A') + i)}. {answer}" for i, answer in enumerate(answers))
        return COMPARE.render(question=question, answers=listed, task=task)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
