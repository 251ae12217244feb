"""What one answer is worth against the one that is expected. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from deploy.evaluation.questions import OwnQuestion
from deploy.evaluation.text import claims, is_told, referenced
from shared.records import Answer
from shared.reduce import sentences_left_out

UNASKED = frozenset({"skipped", "offline"})  # of a site's report: nothing went there


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of asking once. ``error``: why there is no answer, in words."""

    question: str
    seconds: float
    answer: Answer | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A part of the expected answer, and whether the answer tells it."""

    text: str
    is_told: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """One question with its answer, judged. ``hit``: None where no document holds an answer, so that there is nothing to find."""

    asked: OwnQuestion
    reply: Reply
    claims: tuple[Claim, ...]  # none where no document holds an answer
    hit: bool | None
    sentences: int = 0  # of the answer, those that the service left out included
    supported: int = 0  # of them, those that cite what says them
    tokens: int = 0
    sites_asked: int = 0

    @property
    def answered(self) -> bool:
        """Whether the service says that it has an answer."""
        return self.reply.answer is not None and self.reply.answer.answered

    @property
    def trouble(self) -> str:
        """Why there is no answer, or not the one that could be, in words: an edge, the cloud or a model was busy or away."""
        if self.reply.answer is None:
            return f"failed: {self.reply.error}"
        return f"degraded: {self.reply.answer.reason}" if self.reply.answer.degraded else ""

    @property
    def score(self) -> float:
        """Share of the claims that are told; where no document holds an answer 1 if the service says so."""
        if self.claims:
            return sum(claim.is_told for claim in self.claims) / len(self.claims)
        return float(self.reply.answer is not None and not self.answered)

    @property
    def correct(self) -> bool:
        """Whether all is told, or nothing where there is nothing to tell."""
        return self.score == 1.0


def judged(asked: OwnQuestion, reply: Reply) -> Verdict:
    """Judge a reply by rule, without a model. One that failed tells nothing and finds nothing."""
    answer, expected = reply.answer, claims(asked.answer) if asked.answer else []
    if answer is None:
        return Verdict(asked, reply, tuple(Claim(text, is_told=False) for text in expected), hit=False if expected else None)
    said = answer.answer if answer.answered else ""
    sentences, supported = referenced(said, {one.n for one in answer.citations}, min_words=1)
    return Verdict(
        asked,
        reply,
        tuple(Claim(text, is_told(text, said, asked.question)) for text in expected),
        _is_hit(asked, expected, answer) if expected else None,
        sentences + sentences_left_out(answer.reason),
        supported,
        sum(step.tokens_in + step.tokens_out for step in answer.trace),
        sum(report.status not in UNASKED for report in answer.edges),
    )


def _is_hit(asked: OwnQuestion, expected: list[str], answer: Answer) -> bool:
    """Whether each named site gave a passage, or cited passages together hold each claim."""
    gave = {str(one.edge) for one in answer.citations} | {str(one.edge) for one in answer.edges if one.evidence}
    if asked.sites and gave.issuperset(asked.sites):
        return True
    return all(any(is_told(claim, one.quote, asked.question) for one in answer.citations) for claim in expected)
