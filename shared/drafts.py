"""An answer first: n short answers in one call, the one that most of them give, and whether the passages show it (DGRAG §III-C ④ ⑤).

The prompts of a question differ only in their end, so a server reads the passages once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from shared.ports import Generator, Message, Prompt
from shared.records import Citation, Evidence
from shared.telemetry.trace import OpenStep, Trace
from shared.text.asking import asked
from shared.text.citations import MARKER
from shared.text.claims import Bearing, cite_answer
from shared.text.fence import Fence, one_line
from shared.text.inert import inert
from shared.text.prompts import listed, load_prompt
from shared.text.quoting import COPIED_WORDS, is_copy
from shared.text.refusals import REFUSAL, YES_OR_NO, is_refusal, probability_of
from shared.text.short_answers import agreement, same_answer

DRAFT = load_prompt("shared", "draft")
TASK_ANSWER = "Answer:"
TASK_CHECK = load_prompt("shared", "task_check").user
STOP = ("\nQuestion:", "\nPassages:")
TOP_LOGPROBS = 10
STEPS = ("samples", "gate: confidence")  # of a trace: drawing and checking
_WORD = re.compile(r"\w+")

Messages = Callable[[str], tuple[Message, ...]]  # the prompt of a question, for a task at its end


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the samples are drawn; one of them without chance."""

    n: int
    max_tokens: int
    temperature: float
    seed: int


@dataclass(frozen=True, slots=True)
class Draft:
    """Samples, and the one that stands for what most of them say; ``selected``: None where most have no answer that a passage bears.

    ``answer``: what of the selected sample the passages bear. ``agreement``: the share of pairs of samples with an answer that
    say the same. ``shown``: P(yes) that the passages show it; None: nobody asked, or the model said neither.
    """

    samples: tuple[str, ...]
    refusals: int
    selected: int | None = None
    answer: str = ""
    agreement: float = 0.0
    shown: float | None = None


def draft_messages(question: str, passages: str, fence: Fence, task: str) -> tuple[Message, ...]:
    """The prompt over passages as they are listed, with what else stands beside them."""
    return DRAFT.render(passages=fence.around(passages), question=asked(question), task=task)


def messages_over(question: str, passages: Sequence[Evidence], fence: Fence) -> Messages:
    """The prompts over numbered passages."""
    return lambda task: draft_messages(question, listed(passages), fence, task)


async def draft(
    question: str,
    messages: Messages,
    citable: Sequence[Evidence],
    generator: Generator,
    fence: Fence,
    sampling: Sampling,
    trace: Trace,
    *,
    left_s: Callable[[], float],
    is_checked: bool = True,
    steps: tuple[str, str] = STEPS,
) -> Draft:
    """Draw the samples, choose, and ask whether the passages show it. ``left_s``: until the deadline. Raises ModelError."""
    draw_step, check_step = steps
    with trace.step(draw_step) as step:
        samples = await _draw(messages(TASK_ANSWER), generator, fence, sampling, step, deadline_s=left_s())
    found = await asyncio.to_thread(select, question, samples, citable)
    if found.selected is None or not is_checked:
        return found
    with trace.step(check_step) as step:
        shown = await shown_probability(messages, found.answer, generator, step, deadline_s=left_s())
    return replace(found, shown=shown)


def select(question: str, samples: tuple[str, ...], citable: Sequence[Evidence]) -> Draft:
    """The first sample of the largest group that says the same, of those whose figures and names the passages bear.

    A copy of what is not to be quoted is no answer.
    """
    bearing = Bearing(question, [f"{one.title}\n{one.document}\n{one.text}" for one in citable])
    hidden = [one.text for one in citable if not one.quotable]
    answering = [row for row, sample in enumerate(samples) if not is_refusal(sample)]
    refusals = len(samples) - len(answering)
    if refusals * 2 > len(samples):
        return Draft(samples, refusals)

    def borne_part(sample: str) -> str:
        part = bearing.part(sample)
        bare = MARKER.sub("", part)
        is_long = len(_WORD.findall(bare)) >= COPIED_WORDS
        return "" if is_long and any(is_copy(bare, text) for text in hidden) else part

    bare = {row: MARKER.sub("", samples[row]) for row in answering}
    groups = [[answering[place] for place in group] for group in agreement(list(bare.values()))]
    parts = ((row, borne_part(samples[row])) for group in groups for row in group)
    selected, answer = next(((row, part) for row, part in parts if part), (None, ""))
    pairs = list(combinations(answering, 2))
    alike = sum(same_answer(bare[one], bare[other]) for one, other in pairs)
    return Draft(samples, refusals, selected, answer, alike / len(pairs) if pairs else 1.0)


async def shown_probability(messages: Messages, answer: str, generator: Generator, step: OpenStep, *, deadline_s: float) -> float | None:
    """P(yes) that the passages together show that this answers the question. Raises ModelError."""
    task = TASK_CHECK.substitute(answer=one_line(MARKER.sub("", answer)))
    prompt = Prompt(messages(task), max_tokens=1, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO)
    reply = step.model(await generator.generate(prompt, deadline_s=deadline_s))
    return probability_of(reply.first_token, "yes", ["no"])


def cited(question: str, found: Draft, citable: Sequence[Evidence], *, numbered: int | None = None) -> tuple[str, tuple[Citation, ...]]:
    """The selected answer with its citations; ("", ()) where none is selected, or no passage says a word of it.

    ``numbered``: how many of the passages had a number in the prompt; None: all.
    """
    if not found.answer:
        return "", ()
    text, citations = cite_answer(question, found.answer, citable, numbered=numbered)
    return (text, citations) if citations else ("", ())


async def _draw(
    messages: tuple[Message, ...], generator: Generator, fence: Fence, sampling: Sampling, step: OpenStep, *, deadline_s: float
) -> tuple[str, ...]:
    """The samples, inert: a client sees them in the gate's report. One that gives the prompt away counts as one without an answer."""
    prompt = Prompt(
        messages,
        max_tokens=sampling.max_tokens,
        n=sampling.n,
        temperature=sampling.temperature if sampling.n > 1 else 0.0,
        seed=sampling.seed,
        stop=STOP,
    )
    reply = step.model(await generator.generate(prompt, deadline_s=deadline_s))
    return tuple(REFUSAL if fence.is_given_away(text, messages) else _said(text) for text in reply.texts)


def _said(text: str) -> str:
    answer = inert(text).strip().removeprefix(TASK_ANSWER).strip()
    return answer if _WORD.search(MARKER.sub("", answer)) else REFUSAL
