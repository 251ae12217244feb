"""The numbers of the gate: word overlap and the medoid (DGRAG §III-C ⑤)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

WORD = re.compile(r"\w+")
MARKER = re.compile(r"\[\d+(?:\s*,\s*\d+)*\]")


def unmarked(text: str) -> str:
    """The text without citation markers, in single blanks.

    >>> unmarked("Juniper Ward did [3].")
    'Juniper Ward did.'
    """
    return re.sub(r"(?<!\s)\s++([.,;!?])", r"\1", " ".join(MARKER.sub(" ", text).split()))


def words(text: str) -> frozenset[str]:
    """The set of a text's words, case folded, citation markers left out.

    >>> sorted(words("The pump [1] stopped."))
    ['pump', 'stopped', 'the']
    """
    return frozenset(WORD.findall(MARKER.sub(" ", text).casefold()))


def mean_pairwise_jaccard(texts: Sequence[str]) -> float:
    """Mean over all pairs of |A ∩ B| / |A ∪ B| of their word sets; 1.0 for a single text (DGRAG §III-C ⑤ 2).

    >>> mean_pairwise_jaccard(["a b", "b c"])
    0.3333333333333333
    """
    sets = [words(text) for text in texts]
    scores = [len(a & b) / len(a | b) if a | b else 1.0 for a, b in combinations(sets, 2)]
    return sum(scores) / len(scores) if scores else 1.0


def medoid(similarity: Sequence[Sequence[float]], among: Sequence[int]) -> int:
    """The member of ``among`` most similar to the others, lowest number on a tie: the choice when a model gives none."""
    return max(among, key=lambda i: (sum(similarity[i][j] for j in among), -i))
