"""Whether the owner's passage says what a stored answer says, and the answer that is then given. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from cloud_server.memories.bank import Candidate
from shared.citations import cite
from shared.fence import one_line
from shared.inert import inert
from shared.names import names_in
from shared.records import Answer, Evidence, MemoryReport
from shared.refusals import is_refusal
from shared.same_question import covered
from shared.sentences import WORD, sentences


def holds_answer(answer: str, text: str) -> bool:
    """Whether one sentence of a text holds all words of an answer.

    >>> holds_answer("Ann Lee", "Bo Lee sold it. Ann met him."), holds_answer("Ann Lee", "It was built by Ann Lee.")
    (False, True)
    """
    return any(_words(answer) <= _words(text[start:end]) for start, end in sentences(text)) and bool(_words(answer))


def confirming(question: str, told: str, answer: str, passages: Sequence[Evidence]) -> Evidence | None:
    """The first passage that confirms an answer to ``told`` as one to ``question``; None: none does.

    It may be quoted, one sentence of it holds the answer, all content words of the question stand in that or in ``told``, and each name
    of the question in the passage or its title.
    """
    for passage in passages:
        said = [passage.text[start:end] for start, end in sentences(passage.text)]
        is_said = any(holds_answer(answer, sentence) and covered(question, [told, sentence]) >= 1 for sentence in said)
        shown = _words(f"{passage.title} {passage.text}")
        if passage.quotable and is_said and all(_words(name) <= shown for name in names_in(question)):
            return passage
    return None


def given(best: Candidate, passage: Evidence, query_id: str, *, threshold: float) -> Answer | None:
    """The stored answer with its citation; None: it is a refusal, or cannot be cited."""
    text, citations = cite(one_line(inert(best.memory.answer)), [passage])
    if not citations or is_refusal(text):
        return None
    said = MemoryReport(
        memory_id=best.memory.memory_id,
        kind="direct",
        question=one_line(inert(best.memory.question)),
        answer=text,
        score=round(best.score, 4),
        cosine=round(best.cosine, 4),
        dice=round(best.dice, 4),
        threshold=threshold,
    )
    return Answer(query_id, text, citations, "memory", memory=said)


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold()))
