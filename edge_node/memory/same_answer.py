"""Whether a question asks in other words for what was learned: by its names, then by a token or two of the model (beyond FD-RAG §4.2).

A sentence encoder is as near to "When was it founded?" as to a true paraphrase of "Who founded it?", and the guards beside it
(``memory.guards``) hold both back. A small model that sees both questions tells them apart far better than it answers either.
"""

from __future__ import annotations

from edge_node.memory.guards import stands
from edge_node.memory.records import Recalled
from shared.ports import Generator, Prompt
from shared.telemetry.trace import Trace
from shared.text.fence import one_line
from shared.text.prompts import load_prompt
from shared.text.refusals import YES_OR_NO, probability_of
from shared.text.same_question import asks_otherwise, has_same_names, is_single
from shared.text.sentences import content_words

SAME_ANSWER = load_prompt("edge_node", "same_answer")
NEAR = 0.75  # cosine of both questions, from which on the model is asked
NO = 0.5  # P(yes) below which the model denies
TOP_LOGPROBS = 20


def may_answer(question: str, found: Recalled) -> bool:
    """Whether nothing that needs no model speaks against an answer that was learned of another question."""
    memory, backing = found.scored.memory, found.backing
    if memory.kind != "learned" or found.scored.cosine < NEAR or backing.silenced or backing.doubtful:
        return False
    return stands(memory, backing.sentences) and may_be_same(question, memory.question, memory.answer)


def may_be_same(question: str, learned: str, answer: str) -> bool:
    """Whether both questions ask for one thing, name the same, and are of types that can have one answer, which neither of them says.

    >>> [may_be_same("Who built it?", learned, "Ann Lee") for learned in ("By whom was it built?", "When was it built?")]
    [True, False]
    """
    if not (is_single(question) and is_single(learned)) or asks_otherwise(question, learned):
        return False
    return has_same_names(question, learned) and not content_words(answer) <= content_words(question)


async def same_answer(generator: Generator, question: str, learned: str, trace: Trace, *, deadline_s: float) -> float | None:
    """P(yes) that one short answer would be right for both questions: the mean of both orders, or the first where it is a no.

    None where the model says neither yes nor no, or not how surely. ``deadline_s``: of one call. Raises ModelTimeout, ModelUnavailable,
    ModelReplyError.
    """
    told = list[float]()
    for first, second in ((learned, question), (question, learned)):
        prompt = Prompt(SAME_ANSWER.render(first=one_line(first), second=one_line(second)), 1, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO)
        with trace.step("same answer") as step:
            reply = step.model(await generator.generate(prompt, deadline_s=deadline_s))
        sure = probability_of(reply.first_token, "yes", ["no"])
        if sure is None or sure < NO:
            return sure
        told.append(sure)
    return sum(told) / len(told)
