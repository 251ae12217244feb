"""Which of two answers is better, by a language model: by criteria, each in both orders (GraphRAG §3.4, LightRAG §4.1, DGRAG §IV-B).

The verdict is the probability of the letters A and B as the first token of the reply: a small model judges so what its words get wrong,
and the mean over both orders is free of its liking for one place.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.records import AnswerRow, Judgement
from shared.errors import ModelReplyError
from shared.ports import Generator, Prompt, Reply
from shared.text.prompts import load_prompt
from shared.text.refusals import probability_of

CRITERIA = {
    "comprehensiveness": "how much detail the answer gives to cover all aspects and details of the question.",
    "diversity": "how varied and rich the answer is in perspectives and insights on the question.",
    "empowerment": "how well the answer helps the reader to understand the topic and to make informed judgements about it.",
    "overall": "all in all, from comprehensiveness, diversity and how well it helps the reader to understand and judge.",
    "directness": "how specifically and clearly the answer addresses the question.",  # against the others: a control
}
TOP_LOGPROBS = 20
MAX_TOKENS = 4  # a server that lists no probabilities may write "Answer A"
JUDGE = load_prompt("benchmarks", "judge")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems' answers to one asking."""

    ours: AnswerRow
    theirs: AnswerRow


def judge_prompt(question: str, first: str, second: str, criterion: str) -> Prompt:
    """Ask for a letter. All but the end is the same for every criterion, so a server that keeps prefixes reads the answers once."""
    messages = JUDGE.render(question=question, first=first.strip(), second=second.strip(), criterion=CRITERIA[criterion])
    return Prompt(messages, max_tokens=MAX_TOKENS, top_logprobs=TOP_LOGPROBS)


def preference(reply: Reply) -> float:
    """P(the first answer is better), [0, 1]; without probabilities 1 or 0, by the letter that it says. Raises ModelReplyError for neither.

    >>> preference(Reply(("Answer B.",), tokens_in=9, tokens_out=3))
    0.0
    """
    if (probability := probability_of(reply.first_token, "A", ["B"])) is not None:
        return probability
    letters = [word for word in reply.texts[0].replace("*", " ").replace(".", " ").replace(":", " ").split() if word in {"A", "B"}]
    if not letters:
        raise ModelReplyError(f"the judge named neither A nor B: {reply.texts[0][:40]!r}")
    return float(letters[0] == "A")


async def judge(generator: Generator, pair: Pair, criterion: str, *, ours_first: bool, deadline_s: float) -> Judgement:
    """Judge a pair on one criterion in one order. Equal answers are a tie, and no call. Raises ModelError: the unit is to be skipped."""
    first, second = (pair.ours, pair.theirs) if ours_first else (pair.theirs, pair.ours)
    p_first, tied = 0.5, first.answer.split() == second.answer.split()
    if not tied:
        prompt = judge_prompt(first.question, first.answer, second.answer, criterion)
        p_first = preference(await generator.generate(prompt, deadline_s=deadline_s))
    return Judgement(
        split=pair.ours.split,
        scenario=pair.ours.scenario,
        question_id=pair.ours.question_id,
        edge=pair.ours.edge,
        system=pair.ours.system,
        against=pair.theirs.system,
        criterion=criterion,
        first=first.system,
        p_first=p_first,
        tied=tied,
    )
