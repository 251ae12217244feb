"""Single facts by two short calls: words that the model copies from a sentence, and whether that sentence states them (FD-RAG §4.3).

FD-RAG's Memorizer answers from what was written before the question came. Such memories hold the answer to few new questions; the
sentences nearest to a question hold most. So the model copies a span of at most SPAN_TOKENS from three of them. The span must stand in a
sentence word by word and may not repeat the question; a second call of one token tells whether the sentence alone states it. How sure
that is, is the probability of the span, times that of "yes", times the share of the question's words in the sentence and its title.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.ports import Generator, Message, Prompt
from shared.records import Evidence
from shared.telemetry.trace import Trace
from shared.text.fence import Fence, one_line
from shared.text.prompts import load_prompt
from shared.text.refusals import YES_OR_NO, probability_of
from shared.text.sentences import WORD, content_words, names_in

SPAN = load_prompt("edge_node", "span")
SPAN_CHECK = load_prompt("edge_node", "span_check")
SENTENCES = 3  # that a span is copied from: they held the answer of 53 of 61 single facts, and of 59 of 79 later ones
SPAN_TOKENS = 14
TOP_LOGPROBS = 20
NOTHING = "none"
MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DATE = re.compile(rf"(?:\d{{1,2}} {MONTH}|{MONTH}(?: \d{{1,2}},?)?) \d{{4}}\b")
GENITIVE = re.compile(r"[’']s\b")


@dataclass(frozen=True, slots=True)
class Span:
    """A short answer with the sentence that it was copied from. ``certainty`` in [0, 1] is the product of the other three."""

    text: str
    sentence: Evidence
    probability: float  # of the span, given the sentences
    stated: float  # that the sentence states it
    cover: float  # share of the question's content words in sentence and title

    @property
    def certainty(self) -> float:
        """What a threshold is chosen for."""
        return self.probability * self.stated * self.cover


def told(sentence: Evidence) -> str:
    """A sentence below its title, which says whom "he" and "it" mean."""
    return one_line(f"{sentence.title}: {sentence.text}" if sentence.title else sentence.text)


def source_of(span: str, question: str, sentences: Sequence[Evidence]) -> Evidence | None:
    """The first sentence in which a span stands word by word; None where none has it, or the question says as much itself.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> said = [Evidence(EdgeId("e"), DocumentId("d"), "d", ChunkId("d:0"), (0, 9), "Ida Tarrow opened Merle Quarry.", 0.5)]
    >>> source_of("Ida Tarrow", "Who opened Merle Quarry?", said) is said[0], source_of("Merle Quarry", "Who opened Merle Quarry?", said)
    (True, None)
    """
    words = _words(span)
    if not words.strip() or span.strip().casefold().rstrip(".") == NOTHING or words in _words(question):
        return None
    return next((one for one in sentences if words in _words(one.text)), None)


def whole_date(span: str, question: str, sentence: str) -> str:
    """The date in an English sentence whose year was copied for a question that asks when, where only one has that year; else the span.

    >>> whole_date("1936", "When was he born?", "He was born on 2 May 1936."), whole_date("1936", "Which year was it?", "On 2 May 1936.")
    ('2 May 1936', '1936')
    """
    dates = [found for found in DATE.findall(sentence) if found.endswith(f" {span}")] if question.casefold().startswith("when ") else []
    return dates[0] if len(dates) == 1 and sentence.count(span) == 1 else span


def cover(question: str, sentence: Evidence) -> float:
    """The share of the question's content words that stand in a sentence or its title."""
    wanted = content_words(question)
    return len(wanted & content_words(f"{sentence.title} {sentence.text}")) / len(wanted) if wanted else 0.0


def names_are_there(question: str, sentence: Evidence) -> bool:
    """Whether each proper name of the question stands in the sentence or its title: else it tells of somebody else."""
    said = _words(f"{sentence.title} {sentence.text}")
    return all(_words(name) in said for name in names_in(question))


def span_prompt(question: str, sentences: Sequence[Evidence], fence: Fence) -> tuple[Message, ...]:
    """The messages that ask for a span. Rules and examples come first, so a server keeps them from question to question."""
    framed = fence.around("\n".join(f"[{n}] {told(one)}" for n, one in enumerate(sentences, start=1)))
    return SPAN.render(sentences=framed, question=one_line(question))


async def copied(
    generator: Generator, question: str, sentences: Sequence[Evidence], fence: Fence, trace: Trace, *, deadline_s: float
) -> Span | None:
    """The span that the model copies, with how sure that is; None where it copies nothing of use, or tells no probabilities.

    Raises ModelTimeout, ModelUnavailable, ModelReplyError.
    """
    messages = span_prompt(question, sentences, fence)
    with trace.step("span") as step:
        prompt = Prompt(messages, SPAN_TOKENS, stop=("\n",), top_logprobs=1)
        reply = step.model(await generator.generate(prompt, deadline_s=deadline_s))
    text = reply.texts[0].strip().rstrip(".")
    source = source_of(text, question, sentences)
    if source is None or reply.log_probability is None or any(reply.truncated):
        return None
    messages = SPAN_CHECK.render(sentence=told(source), question=one_line(question), answer=text)
    with trace.step("span check") as step:
        reply_to_check = step.model(
            await generator.generate(Prompt(messages, 1, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO), deadline_s=deadline_s)
        )
    stated = probability_of(reply_to_check.first_token, "yes", ["no"])
    if stated is None:
        return None
    return Span(whole_date(text, question, source.text), source, math.exp(min(reply.log_probability, 0.0)), stated, cover(question, source))


def _words(text: str) -> str:
    """Words between blanks, in lower case."""
    words = WORD.findall(GENITIVE.sub("", text).casefold())
    return f" {' '.join(words)} "
