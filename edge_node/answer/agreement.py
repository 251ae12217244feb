"""The numbers of the gate: refusals, word overlap, probabilities read off the first token (DGRAG §III-C ⑤)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations

WORD = re.compile(r"\w+")
MARKER = re.compile(r"\[\d+(?:\s*,\s*\d+)*\]")


def unmarked(text: str) -> str:
    """The text without citation markers, in single blanks.

    >>> unmarked("Juniper Ward did [3].")
    'Juniper Ward did.'
    """
    return re.sub(r"\s+([.,;!?])", r"\1", " ".join(MARKER.sub(" ", text).split()))


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


def probability_of(first_token: Mapping[str, float] | None, wanted: str, others: Sequence[str]) -> float | None:
    """P(wanted) among the words ``wanted`` and ``others``, from the log-probabilities of the first token.

    Tokens count for a word when they begin it, whatever their case and leading blanks ("Yes", " yes", "Y").
    None when the distribution holds none of the words, so that nothing can be said.

    >>> probability_of({"Yes": math.log(0.6), "no": math.log(0.2), "maybe": math.log(0.2)}, "yes", ["no"])
    0.75
    """
    mass = dict.fromkeys([wanted, *others], 0.0)
    for token, logprob in (first_token or {}).items():
        stripped = token.strip().casefold()
        for word in mass:
            if stripped and word.casefold().startswith(stripped):
                mass[word] += math.exp(logprob)
                break
    total = sum(mass.values())
    return mass[wanted] / total if total > 0 else None


def most_probable_letter(first_token: Mapping[str, float] | None, count: int) -> int | None:
    """Which of the first ``count`` letters is the most probable first token; None when none of them is there.

    >>> most_probable_letter({"B": -0.1, "A": -2.0}, 3)
    1
    """
    letters = {chr(ord("A") + i): i for i in range(count)}
    ranked = sorted((first_token or {}).items(), key=lambda item: -item[1])
    found = (letters.get(token.strip().upper().rstrip(".):")) for token, _ in ranked)
    return next((letter for letter in found if letter is not None), None)


def medoid(similarity: Sequence[Sequence[float]], among: Sequence[int]) -> int:
    """The member of ``among`` most similar to the others, lowest number on a tie: the choice when a model gives none."""
    return max(among, key=lambda i: (sum(similarity[i][j] for j in among), -i))
