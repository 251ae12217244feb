"""READ PATH, before all else: what is asked next in a conversation becomes a question that can be understood without it.

A search sees one question at a time. "And who closed it?" finds nothing; "Who closed Merle Quarry?" does. The model is asked only where a
question leans on what was said before, and what it writes counts only where all its names are from the conversation.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.errors import ModelError
from shared.ports import Generator, Prompt
from shared.telemetry.logs import redacted
from shared.telemetry.trace import Trace
from shared.text.citations import NUMBER_SHOWN
from shared.text.fence import one_line
from shared.text.prompts import load_prompt
from shared.text.same_question import is_word_for_word, names_in
from shared.text.sentences import content_words
from shared.wire import MAX_QUESTION_CHARS

log = logging.getLogger("dgrag.edge.follow_up")
FOLLOW_UP = load_prompt("edge_node", "follow_up")
EXCHANGES = 3  # of the conversation that the model reads: the last ones
ANSWER_CHARS = 400  # of each answer that it reads
LOOKED_AT_CHARS = 4 * ANSWER_CHARS  # of each answer, with its markers and blanks
MAX_TOKENS = 64
LEAST_WORDS = 3  # content words of a question that stands alone: "Why Larch Ward?" does not
# Words that point to what was said before, words that may, and openings that go on with it
POINTS_BACK = re.compile(r"\b(?:it|its|they|them|theirs?|him|his|s?he|hers?|this|these|those|same|former|latter)\b", re.IGNORECASE)
MAY_POINT_BACK = re.compile(r"\b(?:that|there|then|ones?|others?|previous|above|mentioned|first|second|third|last)\b", re.IGNORECASE)
GOES_ON = re.compile(
    r"\W*(?:and|but|or|so|also|(?:what|how) about|what else|who else|where else|why not|tell me more|more)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question of the conversation so far, and its answer; "" where there was none."""

    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class StandaloneQuestion:
    """A question of its own. ``is_typed``: no word of it comes from an answer alone, so it may leave as any question."""

    question: str
    is_typed: bool = True


def stands_alone(question: str) -> bool:
    """Whether a question names what it is about, and points to nothing that was said before.

    >>> [stands_alone(asked) for asked in ("Which pumps failed on Juniper Ward?", "And which ward reported it?", "Why Larch Ward?")]
    [True, False, False]
    """
    leans = _leans(question) or MAY_POINT_BACK.search(question)
    return not leans and bool(names_in(question)) and len(content_words(question)) >= LEAST_WORDS


async def standalone(
    generator: Generator, question: str, earlier: Sequence[Exchange], trace: Trace, *, deadline_s: float
) -> StandaloneQuestion:
    """What is asked, so that it can be understood without what was said before; as it stands where nothing was said, or nothing is missing.

    Where the model fails, or writes a name that nobody has said, the last question stands before this one: a search finds what both
    are about. Such a text was not asked so by anybody; and a word of an answer may be of a document that does not leave.
    ``deadline_s``: of the one call.
    """
    if not earlier or stands_alone(question):
        return StandaloneQuestion(question)
    earlier = [Exchange(one.question, one.answer[:LOOKED_AT_CHARS]) for one in earlier[-EXCHANGES:]]
    prompt = Prompt(FOLLOW_UP.render(conversation=_told(earlier), question=one_line(question)), MAX_TOKENS, stop=("\n",))
    try:
        with trace.step("follow-up") as step:
            written = one_line(step.model(await generator.generate(prompt, deadline_s=deadline_s)).texts[0])
    except ModelError as error:
        log.warning("a follow-up was not rewritten: %s", redacted(error))
        written = ""
    if not _may_count(written, question, earlier):
        return StandaloneQuestion(f"{earlier[-1].question} {question}"[-MAX_QUESTION_CHARS:], is_typed=False)
    typed = content_words(" ".join((question, *(one.question for one in earlier))))
    answered = content_words(" ".join(one.answer for one in earlier))
    return StandaloneQuestion(written, is_typed=not (content_words(written) & answered) - typed)


def _leans(question: str) -> bool:
    return bool(POINTS_BACK.search(question) or GOES_ON.match(question))


def _told(earlier: Sequence[Exchange]) -> str:
    return "\n".join(f"Question: {one_line(one.question)}\nAnswer: {_short(one.answer)}" for one in earlier)


def _short(answer: str) -> str:
    return one_line(NUMBER_SHOWN.sub("", answer))[:ANSWER_CHARS]


def _may_count(written: str, question: str, earlier: Sequence[Exchange]) -> bool:
    """Whether a rewriting asks anew, keeps the names of what was asked, says what was left out, and has no name that nobody has said."""
    words, wanted = content_words(written), content_words(question)
    said = content_words(" ".join((question, *(f"{one.question} {one.answer}" for one in earlier))))
    asks = written.endswith("?") or not question.rstrip().endswith("?")
    is_new = not any(is_word_for_word(written, one.question) for one in earlier)
    is_whole = bool(words - wanted) or (bool(names_in(question)) and not _leans(question))
    return bool(words) and asks and is_new and is_whole and names_in(question) <= words and names_in(written) <= said
