"""What an edge remembers of a question: its answer in the words of a text, and the sentences that say so (FD-RAG §4.1, eq. 10 and 11)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from edge_node.records import Kind

ID_BYTES = 8


@dataclass(frozen=True, slots=True, order=True)
class Support:
    """A sentence that a memory rests on: characters [start, end) of a chunk's text."""

    chunk_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Memory:
    """A question with its answer. ``supports``: at least one, sorted, each once; ``anchors``: the words that it is found by.

    Made by ``memory_of``. The hyperedges of a memory are those that its sentences are in now, so they are not part of it.
    """

    memory_id: str
    kind: Kind
    question: str
    answer: str
    supports: tuple[Support, ...]
    anchors: frozenset[str]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory for people, with what was said of it. ``doubtful``: a later passage is nearer to its question than its own."""

    memory: Memory
    good: int  # how often somebody called its answer right
    bad: int
    doubtful: bool
    barred: bool = False  # somebody deleted it: it never answers


@dataclass(frozen=True, slots=True)
class Rating:
    """How often people said that an answer was right, and that it was wrong. ``barred``: it is to be given no more, whatever they say."""

    good: int = 0
    bad: int = 0
    barred: bool = False

    @property
    def silences(self) -> bool:
        """Whether the answer may not be given: one ``bad`` is enough where nobody, or one alone, called it right.

        >>> [Rating(good, bad).silences for good, bad in ((0, 0), (0, 1), (1, 1), (2, 1))], Rating(9, 0, barred=True).silences
        ([False, True, True, False], True)
        """
        return self.barred or self.bad >= max(1, self.good)


def memory_of(kind: Kind, question: str, answer: str, supports: Iterable[Support], anchors: Iterable[str]) -> Memory:
    """Return the memory with its id, which the anchors play no part in.

    >>> memory = memory_of("template", "Who built it?", "Ann Lee", [Support("d:0", 0, 19)], ["build"])
    >>> memory.memory_id == memory_of("template", "Who built it?", "Ann Lee", [Support("d:0", 0, 19)] * 2, []).memory_id
    True
    """
    told = tuple(sorted(set(supports)))
    return Memory(memory_id_of(kind, question, answer, told), kind, question, answer, told, frozenset(anchors))


def memory_id_of(kind: Kind, question: str, answer: str, supports: Iterable[Support]) -> str:
    """Return 16 hexadecimal digits, the same ones wherever the same is remembered of the same sentences; their order plays no part.

    >>> memory_id_of("learned", "Who built it?", "Ann Lee", [Support("d:1", 4, 9), Support("d:0", 0, 19)])
    'a1eed584a46d5dbd'
    """
    places = sorted({(support.chunk_id, support.start, support.end) for support in supports})
    return blake2b(json.dumps([kind, question, answer, places]).encode(), digest_size=ID_BYTES).hexdigest()


@dataclass(frozen=True, slots=True)
class Backing:
    """What stands for and against a memory now. ``sentences``: what each of its supports points at in the store; None: nothing."""

    sentences: tuple[str | None, ...]
    good: int = 0  # how often it was called right
    bad: int = 0
    doubtful: bool = False
    barred: bool = False  # somebody deleted it

    @property
    def silenced(self) -> bool:
        """What people said of it keeps it from answering: ``Rating.silences``."""
        return Rating(self.good, self.bad, self.barred).silences


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory with S = α cosine + (1 - α) dice (FD-RAG eq. 11), and the other memories that ask and answer the same."""

    memory: Memory
    score: float
    cosine: float
    dice: float
    same: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that was found, and what stands for and against it in the store at this moment."""

    scored: Scored
    backing: Backing
