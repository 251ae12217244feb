"""④ n answers in one batched call, over the passages and facts that were retrieved (DGRAG §III-C ④)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edge_node.answering.gate import words
from edge_node.records import Retrieval
from shared.ports import Generator, Message, Prompt
from shared.records import Evidence
from shared.telemetry.trace import Trace
from shared.text.asking import asked
from shared.text.citations import MARKER
from shared.text.fence import Fence, one_line
from shared.text.inert import inert
from shared.text.prompts import listed, load_prompt
from shared.text.refusals import REFUSAL
from shared.text.sentences import content_words, sentences

ANSWER = load_prompt("edge_node", "answer")
TASK_ANSWER = load_prompt("edge_node", "task_answer").user.template
TASK_SUFFICIENT = load_prompt("edge_node", "task_sufficient").user.template
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the samples are drawn."""

    n: int
    max_tokens: int
    temperature: float
    seed: int


def answer_prompt(question: str, found: Retrieval, fence: Fence, *, task: str = TASK_ANSWER) -> tuple[Message, ...]:
    """The messages for a question. Only their end differs by task, so a server keeps the common prefix from call to call.

    The numbers of the summaries go on from those of the passages, and those of the descriptions from theirs.
    """
    texts = [f"[{n}] {one_line(text.line)}" for n, text in enumerate(found.written, start=len(found.evidence) + 1)]
    summaries, descriptions = texts[: len(found.summaries)], texts[len(found.summaries) :]
    parts = [
        listed(found.evidence),
        *(["Summaries of several passages:", *summaries] if summaries else []),
        *(["Descriptions from the same documents:", *descriptions] if descriptions else []),
        *(["Known relations:", *map(one_line, found.facts)] if found.facts else []),
    ]
    framed = fence.around("\n".join(parts))
    return ANSWER.render(passages=framed, question=asked(question), task=task)


def sufficiency_prompt(question: str, found: Retrieval, fence: Fence) -> tuple[Message, ...]:
    """The messages that ask whether the passages hold the answer."""
    return answer_prompt(question, found, fence, task=TASK_SUFFICIENT)


def with_passages(answer: str, found: Retrieval) -> str:
    """An answer with passages of ``found.citable`` in the place of the summaries and descriptions that it cites: nobody can open these.

    For each it is the passage that shares most words with the sentence; of equal ones the one nearest the question.

    >>> from edge_node.records import PassageSummary
    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> texts = "Gates.", "Pumps fail."
    >>> below = (Evidence(EdgeId("a"), DocumentId("d"), "d", ChunkId(text), (0, len(text)), text, 0.5) for text in texts)
    >>> with_passages("Two pumps fail [1].", Retrieval((), summaries=(PassageSummary("n", "Pumps and gates.", 0.6, tuple(below)),)))
    'Two pumps fail [2].'
    """
    if not found.written:
        return answer
    rows = {passage: row for row, passage in enumerate(found.citable, start=1)}
    below = {n: text.passages for n, text in enumerate(found.written, start=len(found.evidence) + 1)}
    pieces = (answer[start:end] for start, end in sentences(answer))
    return "".join(_opened(piece, below, rows) for piece in pieces)


def _opened(sentence: str, below: Mapping[int, Sequence[Evidence]], rows: Mapping[Evidence, int]) -> str:
    said = content_words(MARKER.sub("", sentence))

    def number(match: re.Match[str]) -> str:
        passages = below.get(int(match[0]))
        return str(rows[max(passages, key=lambda one: len(said & content_words(one.text)))]) if passages else match[0]

    return MARKER.sub(lambda marker: _NUMBER.sub(number, marker[0]), sentence)


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
