"""Texts in parts that take about as long to embed, so that others need not wait until all are done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

READ_CHARS = 1_500  # of a text that costs time: the default model reads 256 tokens and no more
MOST_TEXTS = 64
MOST_CHARS = 12_000  # that cost time: half a second on two cores


@dataclass(frozen=True, slots=True)
class Part:
    """Some texts that belong together; ``cost``: beside that of another part."""

    texts: Sequence[str]
    cost: float


def parts_of(texts: Sequence[str], *, most_chars: int = MOST_CHARS) -> Iterator[Part]:
    """All texts in their order; each part has one at least, and none of more is long.

    >>> [len(part.texts) for part in parts_of(["a " * 2_000] * 20)], [len(part.texts) for part in parts_of(["a"] * 100)]
    ([8, 8, 4], [64, 36])
    """
    start, chars = 0, 0
    for at, text in enumerate(texts):
        read = min(len(text), READ_CHARS)
        if at > start and (chars + read > most_chars or at - start == MOST_TEXTS):
            yield Part(texts[start:at], cost_of(texts[start:at]))
            start, chars = at, 0
        chars += read
    if texts:
        yield Part(texts[start:], cost_of(texts[start:]))


def cost_of(texts: Sequence[str]) -> float:
    """In full texts; an empty one costs a little too.

    >>> cost_of(["a" * 3_000, ""])
    1.01
    """
    return round(sum(0.005 + min(len(text), READ_CHARS) / READ_CHARS for text in texts), 6)
