"""What a memory may answer: a cosine cannot tell "Who founded it?" from "When was it founded?", so the score alone does not decide.

Each guard is from questions that a sentence encoder takes for one (``shared.text.same_question``). They hold a memory back where in doubt:
the question then goes the slow way (beyond FD-RAG §4.2, which answers where S >= τ).
"""

from __future__ import annotations

from collections.abc import Sequence

from edge_node.memory.records import Backing, Memory, Scored
from edge_node.settings import MemorySettings
from shared.text.citations import MARKER, is_supported
from shared.text.same_question import covered, fits, is_narrower, is_other_answer, is_same_way, is_single, is_word_for_word
from shared.text.sentences import WORD, content_words

BELOW = "its score is below the threshold"
BARRED = "it was deleted, or called wrong at least as often as right"
DOUBTFUL = "newer passages are nearer to its question"
OTHER_FORM = "the question is compound, compares, denies, or wants yes or no"
UNSAID = "the question has words that the memory and its sentences do not have"
NARROWER = "the memory is about something narrower than what is asked"
OTHER_TYPE = "the question asks for something of another type"
OTHER_WAY = "the question says it the other way round, of another time, or with other small words"
IN_QUESTION = "the answer stands in the question"
RIVAL = "another memory answers otherwise"
CHANGED = "the text that it rests on is not there as it was"

RIVAL_WITHIN = 0.05  # of the score


def rejection(question: str, best: Scored, rivals: Sequence[Scored], backing: Backing, settings: MemorySettings) -> str:
    """Return why the best memory may not answer a question; "" where it may.

    ``rivals``: the others that were found, but those that are barred.
    """
    memory, sentences = best.memory, [text for text in backing.sentences if text is not None]
    if objection := _held_against(best, backing, settings):
        return objection
    is_repeated = memory.kind == "learned" and is_word_for_word(question, memory.question)  # somebody called just this answer right
    if objection := "" if is_repeated else _said_otherwise(question, memory, sentences, settings):
        return objection
    return RIVAL if any(is_rival(question, best, other) for other in rivals) else ""


def _said_otherwise(question: str, memory: Memory, sentences: Sequence[str], settings: MemorySettings) -> str:
    """What speaks against a memory whose question is asked in other words."""
    if not (is_single(question) and is_single(memory.question)):
        return OTHER_FORM
    if covered(question, [memory.question, *sentences]) < settings.memory_cover:
        return UNSAID
    if is_narrower(memory.question, question):
        return NARROWER
    if not fits(question, memory.question, memory.answer):
        return OTHER_TYPE
    if not is_same_way(question, memory.question):
        return OTHER_WAY
    return IN_QUESTION if content_words(memory.answer) <= content_words(question) else ""


def _held_against(best: Scored, backing: Backing, settings: MemorySettings) -> str:
    if best.score < settings.memory_threshold[best.memory.kind]:
        return BELOW
    if backing.silenced:
        return BARRED
    if backing.doubtful:
        return DOUBTFUL
    return "" if stands(best.memory, backing.sentences) else CHANGED


def stands(memory: Memory, sentences: Sequence[str | None]) -> bool:
    """Whether each of a memory's sentences is there, and one of them holds its answer word by word; a learned one's: as citations go.

    >>> stands(Memory("", "model", "Who built it?", "Ann Lee", (), frozenset()), ["Ann Lee built it."])
    True
    """
    there = [text for text in sentences if text is not None]
    if len(there) < len(sentences):
        return False
    if memory.kind == "learned":
        return is_supported(MARKER.sub("", memory.answer), there)
    return any(_words(memory.answer) <= _words(text) for text in there)


def is_rival(question: str, best: Scored, other: Scored) -> bool:
    """Whether another memory is as near to a question, and answers it otherwise."""
    one, two = best.memory, other.memory
    return other.score >= best.score - RIVAL_WITHIN and is_other_answer(question, one.question, one.answer, two.question, two.answer)


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold()))
