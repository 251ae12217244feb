"""What an edge remembers of a question: its answer in the words of a text, and the sentences that say so (FD-RAG §4.1, eq. 10 and 11)."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from shared.sentences import WORD

Kind = Literal["template", "model", "learned"]  # made from a fact, written by a model, or taken from an answer that was given

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


def said_key(secret: bytes, question: str, answer: str) -> str:
    """Return what a question with its answer is known by where their words may not stand: HMAC-SHA-256 in hexadecimal digits.

    Of all words in their order, whatever their case and punctuation. Who says so plays no part: a verdict is on the answer, and would be
    lost as soon as a document's new version, a template or a model says the same again.

    >>> said_key(b"s", "Who built it?", "Ann Lee") == said_key(b"s", "who built it", "Ann Lee.") != said_key(b"s", "Who built it?", "Bo")
    True
    """
    told = "\n".join(" ".join(WORD.findall(text.casefold())) for text in (question, answer))
    return hmac.digest(secret, told.encode("utf-8", "surrogatepass"), hashlib.sha256).hex()
