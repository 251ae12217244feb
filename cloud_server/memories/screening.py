"""Which memories are held back: those that say what another of their edge says, and hubs, as of summaries (goal S10).

Copies go by their words: "Who founded it?" and "When was it founded?" have a cosine of 0.97, and are two memories.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cloud_server.summaries.screening import HUB, NEAR_DUPLICATE, Sample, hubs
from shared.ports import FloatArray
from shared.sentences import WORD

UNCONFIRMED = "unconfirmed"  # its owner was asked for its passage, which does not hold its answer


def words_of(question: str, answer: str) -> str:
    """What a memory says, whatever its case and punctuation.

    >>> words_of("Who built it?", "Ann Lee") == words_of("who built it", "ann lee.")
    True
    """
    return "\n".join(" ".join(WORD.findall(text.casefold())) for text in (question, answer))


def judged(new: Sequence[str], vectors: FloatArray, kept: Iterable[str], sample: Sample) -> list[str]:
    """For each of ``new``, words with their rows of ``vectors`` (n, d), why it is held back, "" when it is not.

    kept: words of the edge's others, that are matched.

    >>> import numpy as np
    >>> judged(["a", "b", "a"], np.eye(3, dtype=np.float32), ["b"], Sample.of({}, but="ward"))
    ['', 'near_duplicate', 'near_duplicate']
    """
    seen, verdicts = set(kept), list[str]()
    for words, is_hub in zip(new, hubs(vectors, sample).tolist(), strict=True):
        verdicts.append(HUB if is_hub else NEAR_DUPLICATE if words in seen else "")
        if not verdicts[-1]:
            seen.add(words)
    return verdicts
