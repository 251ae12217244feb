"""Memories of one chunk: what the templates ask of its facts, and the anchors that any memory of it is found by (FD-RAG §4.1, eq. 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from edge_node.graph.facts import Fact
from edge_node.memory.anchors import anchors_of
from edge_node.memory.records import Memory, Support, memory_of
from edge_node.memory.templates import asked_of
from shared.ports import FloatArray

Anchoring = Literal["question", "own"]  # whose words: the memory's question's, or those of the sentences that it rests on

ANCHORINGS: tuple[Anchoring, ...] = ("question", "own")
TEMPLATES = 1  # to be raised when what is made of facts differs
SAME_FROM = 0.97  # cosine of two questions with one answer


def version_of(anchoring: Anchoring) -> int:
    """A number above 0 that is another one where the same facts bring other memories, or other anchors.

    >>> version_of("question") != version_of("own")
    True
    """
    return TEMPLATES * len(ANCHORINGS) + ANCHORINGS.index(anchoring)


def names_in(facts: Iterable[Fact]) -> frozenset[str]:
    """What facts tell of by name.

    >>> names_in([Fact("d:0", 0, 9, "the Orrin Mill", "place", "has", "have", "", "two looms", "concept", False)])
    frozenset({'the Orrin Mill'})
    """
    phrases = (phrase for fact in facts for phrase in (fact.subject, fact.object))
    return frozenset(phrase for phrase in phrases if any(letter.isupper() for letter in phrase))


def anchored(memory: Memory, names: Iterable[str], texts: Mapping[str, str], anchoring: Anchoring) -> Memory:
    """A memory with its anchors. ``names``: those that its chunks tell of; ``texts``: its chunks', by id."""
    if anchoring == "question":
        return replace(memory, anchors=anchors_of(memory.question, names))
    told = (texts[place.chunk_id][place.start : place.end] for place in memory.supports if place.chunk_id in texts)
    return replace(memory, anchors=anchors_of(" ".join(told), names))


def asked_of_chunk(facts: Sequence[Fact], text: str, anchoring: Anchoring) -> list[Memory]:
    """Return what the templates ask of the facts of one chunk, its text beside them, with anchors; best first, each once.

    >>> fact = Fact("d:0", 0, 42, "Orrin Mill", "place", "was built", "build", "in", "1962", "date", False)
    >>> [(memory.question, sorted(memory.anchors)) for memory in asked_of_chunk([fact], "", "question")]
    [('When was Orrin Mill built?', ['built', 'orrin mill'])]
    """
    names = names_in(facts)
    drafts = (
        memory_of("template", draft.question, draft.answer, [Support(draft.fact.chunk_id, draft.fact.start, draft.fact.end)], ())
        for draft in asked_of(facts)
    )
    memories = {draft.memory_id: draft for draft in drafts}.values()
    return [anchored(memory, names, {place.chunk_id: text for place in memory.supports}, anchoring) for memory in memories]


def without_repeats(memories: Sequence[Memory], vectors: FloatArray) -> list[int]:
    """Rows of the memories of one chunk but those that ask with other words what an earlier one asks, and answer the same.

    vectors (n, d), of norm 1.
    """
    kept = list[int]()
    for row, memory in enumerate(memories):
        same = [other for other in kept if memories[other].answer.casefold() == memory.answer.casefold()]
        if not same or float((vectors[same] @ vectors[row]).max()) < SAME_FROM:
            kept.append(row)
    return kept
