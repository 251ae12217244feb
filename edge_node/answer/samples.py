"""④ n answers in one batched call, over the passages and facts that were retrieved (DGRAG §III-C ④)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edge_node.answer.agreement import words
from shared.fence import Fence, one_line
from shared.inert import inert
from shared.passages import listed
from shared.ports import Generator, Message, Prompt
from shared.prompts import load_prompt
from shared.records import Evidence
from shared.refusals import REFUSAL
from shared.trace import Trace

ANSWER = load_prompt("edge_node", "answer")
TASK_ANSWER = load_prompt("edge_node", "task_answer").user.template
TASK_SUFFICIENT = load_prompt("edge_node", "task_sufficient").user.template


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the samples are drawn."""

    n: int
    max_tokens: int
    temperature: float
    seed: int


def answer_prompt(
    question: str, evidence: Sequence[Evidence], facts: Sequence[str], fence: Fence, *, task: str = TASK_ANSWER
) -> tuple[Message, ...]:
    """The messages for a question. Only their end differs by task, so a server keeps the common prefix from call to call."""
    relations = ["Known relations:", *map(one_line, facts)] if facts else []
    framed = fence.around("\n".join([listed(evidence), *relations]))
    return ANSWER.render(passages=framed, question=one_line(question), task=task)


def sufficiency_prompt(question: str, evidence: Sequence[Evidence], facts: Sequence[str], fence: Fence) -> tuple[Message, ...]:
    """The messages that ask whether the passages hold the answer."""
    return answer_prompt(question, evidence, facts, fence, task=TASK_SUFFICIENT)


async def draw(
    generator: Generator, messages: tuple[Message, ...], fence: Fence, sampling: Sampling, trace: Trace, *, deadline_s: float
) -> tuple[str, ...]:
    """Return n answers, stripped; one of them is asked for without chance so that n = 1 is deterministic.

    A sample that gives the prompt away is withheld: it counts as one that says nothing.
    """
    temperature = sampling.temperature if sampling.n > 1 else 0.0
    prompt = Prompt(
        messages, max_tokens=sampling.max_tokens, n=sampling.n, temperature=temperature, seed=sampling.seed, stop=("\nQuestion:",)
    )
    with trace.step("samples") as step:
        reply = step.model(await generator.generate(prompt, deadline_s=deadline_s))
    return tuple(REFUSAL if fence.is_given_away(text, messages) else _said(text) for text in reply.texts)


def _said(text: str) -> str:
    """A sample's answer, inert: a client sees it in the gate's report. One that holds no word but citation markers says nothing."""
    answer = inert(text).strip().removeprefix("Answer:").strip()
    return answer if words(answer) else REFUSAL
