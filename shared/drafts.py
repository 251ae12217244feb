"""An answer first: n short answers in one call, the one that most of them give, and whether the passages show it (DGRAG §III-C ④ ⑤).

The prompts of a question differ only in their end, so a server reads the passages once.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log

from shared.ports import Generator, Message, Prompt
from shared.records import Citation, DocumentId, EdgeId, Evidence
from shared.telemetry.trace import OpenStep, Trace
from shared.text.asking import asked
from shared.text.citations import MARKER
from shared.text.claims import Bearing, cite_answers
from shared.text.comparing import compared, compares, side_by_side
from shared.text.doubts import doubt_about
from shared.text.fence import Fence, one_line
from shared.text.inert import inert
from shared.text.prompts import listed, load_prompt
from shared.text.quoting import COPIED_WORDS, is_copy
from shared.text.refusals import REFUSAL, YES_OR_NO, is_refusal, probability_of
from shared.text.sentences import content_words, names_in, questions_in
from shared.text.short_answers import agreement, same_answer, verdict_of
from shared.text.support import stems
from shared.text.values import values_in

DRAFT = load_prompt("shared", "draft")
TASK_ANSWER = "Answer:"
TASK_PART = load_prompt("shared", "task_part").user
TASK_CHECK = load_prompt("shared", "task_check").user
FEWEST_OF_A_PART, MOST_OF_A_PART = 3, 5  # passages that a part is answered from
QUESTION_SHARE = 0.3  # of the weight of a part's words, for those of the whole question: "that person" has none of its own
MOST_PARTS = 3  # of a question that are answered one by one; each costs a call over the same passages
COMPARED = 2  # documents beside each other, of as many as MOST_PARTS that are asked
STOP = ("\nQuestion:", "\nPassages:")
TOP_LOGPROBS = 10
STEPS = ("samples", "gate: confidence")  # of a trace: drawing and checking
_WORD = re.compile(r"\w+")

Document = tuple[EdgeId, DocumentId]  # two sites may call theirs by the same id
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

    ``parts``: the drafts of a question's parts, each with its ``part``; then the fields are those of all of them together. Where the
    question compares documents, each part is what one ``document`` says.
    """

    samples: tuple[str, ...]
    refusals: int
    selected: int | None = None
    answer: str = ""
    agreement: float = 0.0
    shown: float | None = None
    part: str = ""
    document: Document | None = None
    parts: tuple[Draft, ...] = ()

    def is_guess(self, *, min_agreement: float, min_sufficiency: float, doubt: str = "") -> bool:
        """Whether the samples do not say the same, and one thing more speaks against what was selected.

        Each alone makes an answer uncertain; an answer against which two speak is a guess among the passages.
        """
        is_doubted = bool(self.refusals or doubt) or (self.shown is not None and self.shown < min_sufficiency)
        return self.agreement < min_agreement and is_doubted


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer with its citations; ``unanswered``: the parts of the question to which nothing is cited."""

    text: str = ""
    citations: tuple[Citation, ...] = ()
    unanswered: tuple[str, ...] = ()

    def doubt(self, question: str, read: Sequence[Evidence]) -> str:
        """Why a reader should look at the source, though samples and check agree; "" where nothing speaks for that."""
        if self.unanswered:
            return f"no answer was found to “{one_line(self.unanswered[0])}”"
        return doubt_about(question, self.text, self.citations, read)


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
    """Draw the samples, choose, and ask whether the passages show it. ``left_s``: until the deadline. Raises ModelError.

    A question of several parts is answered part by part: a small model that is asked for two things at once tells one of them. One that
    compares documents is asked of each of them: over all of them, a small model finds one answer.
    """
    draw_step, check_step = steps
    if core := compared(question) if compares(question) else "":
        with trace.step(draw_step) as step:
            drawing = _Drawing(citable, generator, fence, sampling, step, left_s)
            said = await drawing.by_document(core, _nearest_documents(question, citable), is_checked=is_checked)
        if len(said) == COMPARED:
            known = [one.shown for one in said if one.shown is not None]
            return replace(together(said), shown=min(known, default=None))
    with trace.step(draw_step) as step:
        drawing = _Drawing(citable, generator, fence, sampling, step, left_s)
        found = await drawing.by_part(question, messages)
    is_partly = any(part.selected is None for part in found.parts)  # half an answer does not answer the whole question
    if found.selected is None or not is_checked or is_partly:
        return found
    with trace.step(check_step) as step:
        shown = await shown_probability(messages, found.answer, generator, step, deadline_s=left_s())
    return replace(found, shown=shown)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """What samples are drawn over, by whom and how, within one step of a trace."""

    citable: Sequence[Evidence]
    generator: Generator
    fence: Fence
    sampling: Sampling
    step: OpenStep
    left_s: Callable[[], float]

    async def by_part(self, question: str, messages: Messages) -> Draft:
        """The whole question, or each of its parts after what was said to those before it. Raises ModelError."""
        _, *parts = questions_in(question)
        if not 1 < len(parts) <= MOST_PARTS:
            return await self._one(question, messages(TASK_ANSWER), self.citable)
        drafts = list[Draft]()
        answered = ""
        for part in parts:
            task = TASK_PART.substitute(answered=answered, part=part).rstrip()
            rows = nearest_rows(f"{answered}{part}", question, self.citable)
            over_rows = draft_messages(question, listed(self.citable, rows), self.fence, task)
            found = await self._one(question, over_rows, self.citable, part=part)
            drafts.append(found)
            answer = one_line(MARKER.sub("", found.answer))
            answered += f"{part} {answer}\n" if answer else ""
        return together(drafts)

    async def by_document(self, question: str, documents: Sequence[Document], *, is_checked: bool) -> list[Draft]:
        """What each of these documents says; of more than two, the first two that say anything. Raises ModelError."""
        found = list[Draft]()
        for document in documents:
            own = [one for one in self.citable if _document(one) == document]
            messages, shown = messages_over(question, own, self.fence), None
            said = await self._one(question, messages(TASK_ANSWER), own, part=question)
            if said.selected is None:
                continue
            if is_checked:
                shown = await shown_probability(messages, said.answer, self.generator, self.step, deadline_s=self.left_s())
            bare = " ".join(MARKER.sub("", said.answer).split())  # its markers count the passages of this document alone
            found.append(replace(said, answer=bare, shown=shown, document=document))
            if len(found) == COMPARED:
                break
        return found

    async def _one(self, question: str, messages: tuple[Message, ...], citable: Sequence[Evidence], *, part: str = "") -> Draft:
        """Samples, inert: a client sees them in the gate's report. One that gives the prompt away counts as one without an answer."""
        sampling = self.sampling
        prompt = Prompt(
            messages,
            max_tokens=sampling.max_tokens,
            n=sampling.n,
            temperature=sampling.temperature if sampling.n > 1 else 0.0,
            seed=sampling.seed,
            stop=STOP,
        )
        reply = self.step.model(await self.generator.generate(prompt, deadline_s=self.left_s()))
        samples = tuple(REFUSAL if self.fence.is_given_away(text, messages) else _said(text, part) for text in reply.texts)
        return replace(await asyncio.to_thread(select, question, samples, citable), part=part)


def nearest_rows(part: str, question: str, citable: Sequence[Evidence]) -> list[int]:
    """Rows of the passages with most of a part's words, the rarer the more, and then of the question's; all where none has any.

    A small model that reads about all parts at once takes a figure of another one.
    """
    held = [_words_of(one) for one in citable]
    rarity = _rarity(held)
    scores = [
        sum(rarity[word] for word in words & _stems_of(part)) + QUESTION_SHARE * sum(rarity[word] for word in words & _stems_of(question))
        for words in held
    ]
    order = sorted(range(len(held)), key=lambda row: -scores[row])
    most = max(FEWEST_OF_A_PART, min(MOST_OF_A_PART, len(held) // 2))
    return sorted(order[:most]) if any(scores) else list(range(len(held)))


def _nearest_documents(question: str, citable: Sequence[Evidence]) -> list[Document]:
    """The documents that hold most words of a question that compares them, the rarer the more; it names its subject and often them."""
    held = dict[Document, frozenset[str]]()
    for one in citable:
        held[_document(one)] = held.get(_document(one), frozenset()) | _words_of(one)
    rarity, asked = _rarity(list(held.values())), _stems_of(question)
    return sorted(held, key=lambda document: -sum(rarity[word] for word in held[document] & asked))[:MOST_PARTS]


def _words_of(passage: Evidence) -> frozenset[str]:
    return _stems_of(f"{passage.title} {passage.document} {passage.edge} {passage.text}")


def _stems_of(text: str) -> frozenset[str]:
    return stems(content_words(text))


def _rarity(texts: Sequence[frozenset[str]]) -> Mapping[str, float]:
    """What a word tells, by how few of the texts have it."""
    holders = Counter(word for words in texts for word in words)
    return {word: log(1 + len(texts) / count) for word, count in holders.items()}


def _document(passage: Evidence) -> Document:
    return passage.edge, passage.document_id


def together(parts: Sequence[Draft]) -> Draft:
    """The drafts of a question's parts as one: as sure as the least sure of them.

    >>> both = together([Draft(("5 mg",), 0, 0, "5 mg", 1.0, part="Which dose?"), Draft((REFUSAL,), 1, part="Since when?")])
    >>> both.samples, both.refusals, both.answer
    (('5 mg. Insufficient information.',), 0, '5 mg.')
    """
    rows = zip(*(one.samples for one in parts), strict=True)
    answers = [as_sentence(one.answer) for one in parts if one.answer]
    return Draft(
        samples=tuple(" ".join(map(as_sentence, samples)) for samples in rows),
        refusals=max(one.refusals for one in parts if one.answer or not answers),
        selected=next((one.selected for one in parts if one.selected is not None), None),
        answer=" ".join(answers),
        agreement=min((one.agreement for one in parts if one.answer), default=0.0),
        parts=tuple(parts),
    )


def as_sentence(text: str) -> str:
    """A short answer as a sentence, so that another one may follow.

    >>> as_sentence("in room 7.03 [1]"), as_sentence("Yes.")
    ('In room 7.03 [1].', 'Yes.')
    """
    trimmed = text.strip()
    ended = trimmed if MARKER.sub("", trimmed).rstrip().endswith((".", "!", "?", "。")) else f"{trimmed}."
    return ended[:1].upper() + ended[1:]


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
        names = frozenset(_WORD.findall(" ".join(names_in(bare))))
        spoken = [word for word in _WORD.findall(bare) if word not in names and not word.isdecimal()]
        is_long = len(spoken) >= COPIED_WORDS
        return "" if is_long and any(is_copy(bare, text) for text in hidden) else part

    bare = {row: MARKER.sub("", samples[row]) for row in answering}
    groups = [[answering[place] for place in group] for group in agreement(list(bare.values()), question)]
    parts = ((row, borne_part(samples[row])) for group in groups for row in _fullest_first(group, bare))
    selected, answer = next(((row, part) for row, part in parts if part), (None, ""))
    pairs = list(combinations(answering, 2))
    alike = sum(same_answer(bare[one], bare[other], question) for one, other in pairs)
    return Draft(samples, refusals, selected, answer, alike / len(pairs) if pairs else 1.0)


def _fullest_first(group: Sequence[int], samples: Mapping[int, str]) -> list[int]:
    """Samples that say the same, first the one with most values that most of them name: "2 %, at most 10 %" before "2 %".

    A bare Yes or No comes behind one with its reason.
    """
    values = {row: values_in(samples[row]) for row in group}

    def shared(row: int) -> int:
        holders = (sum(value.is_in(others) for others in values.values()) for value in values[row])
        return sum(count * 2 > len(group) for count in holders)

    def is_bare(row: int) -> bool:
        return len(_WORD.findall(samples[row])) == 1

    return sorted(group, key=lambda row: (-shared(row), is_bare(row) and verdict_of(samples[row]) is not None, row))


async def shown_probability(messages: Messages, answer: str, generator: Generator, step: OpenStep, *, deadline_s: float) -> float | None:
    """P(yes) that the passages together show that this answers the question. Raises ModelError."""
    task = TASK_CHECK.substitute(answer=one_line(MARKER.sub("", answer)))
    prompt = Prompt(messages(task), max_tokens=1, top_logprobs=TOP_LOGPROBS, choices=YES_OR_NO)
    reply = step.model(await generator.generate(prompt, deadline_s=deadline_s))
    return probability_of(reply.first_token, "yes", ["no"])


def cited(question: str, found: Draft, citable: Sequence[Evidence], *, numbered: int | None = None) -> CitedAnswer:
    """The selected answer with its citations; a part of which no passage says a word is left out.

    ``numbered``: how many of the passages had a number in the prompt; None: all.
    """
    if not found.parts:
        text, citations = cite_answers([(question, found.answer)], citable, numbered=numbered)
        return CitedAnswer(text[0], citations) if citations else CitedAnswer()
    answers = [(one.part, as_sentence(one.answer) if one.answer else "") for one in found.parts]
    documents = [one.document for one in found.parts if one.document]
    texts, citations = cite_answers(answers, citable, numbered=numbered, documents=documents)
    if documents and all(texts):
        names = {_document(one): one.document for one in reversed(citable)}
        said = [(inert(one_line(MARKER.sub("", names[document]))), text) for document, text in zip(documents, texts, strict=True)]
        is_same = all(same_answer(one.answer, other.answer) for one, other in combinations(found.parts, 2))
        return CitedAnswer(side_by_side(question, said, is_same=is_same), citations)
    answered = dict[str, str]()  # a part that is answered as one before it is not answered
    unanswered = list[str]()
    for one, answer in zip(found.parts, texts, strict=True):
        if answer and answer not in answered:
            answered[answer] = one.part
        elif verdict_of(answer) is None:
            unanswered.append(one.part)
    return CitedAnswer(" ".join(answered), citations, tuple(unanswered))


def _said(text: str, part: str) -> str:
    """The answer, without the question that a small model repeats before it."""
    answer = inert(text).strip().removeprefix(TASK_ANSWER).strip()
    if part and answer.casefold().startswith(part.casefold()):
        answer = answer[len(part) :].strip()
    return answer if _WORD.search(MARKER.sub("", answer)) else REFUSAL
