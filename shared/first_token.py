"""A model's verdict read off the distribution of its first token: calibrated where its words are not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def probability_of(first_token: Mapping[str, float] | None, wanted: str, others: Sequence[str]) -> float | None:
    """P(wanted) among the words ``wanted`` and ``others``, from log-probabilities of the first token.

    Tokens count for a word when they begin it, whatever their case and leading blanks ("Yes", " yes", "Y").
    None when the distribution holds none of the words, so that nothing can be said.

    >>> round(probability_of({"Yes": math.log(0.6), "no": math.log(0.2), "maybe": math.log(0.2)}, "yes", ["no"]), 2)
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


def probability_of_start(first_token: Mapping[str, float] | None, text: str) -> float | None:
    """The probability that an answer begins with ``text``, from log-probabilities of its first token; None without any.

    A token counts from three letters on: a shorter one begins much else, too.

    >>> round(probability_of_start({"Ins": math.log(0.3), "In": math.log(0.5), "The": math.log(0.2)}, "Insufficient information."), 2)
    0.3
    """
    if not first_token:
        return None
    started = {token.strip().casefold(): logprob for token, logprob in first_token.items()}
    return sum(math.exp(logprob) for token, logprob in started.items() if len(token) > 2 and text.casefold().startswith(token))


def most_probable_letter(first_token: Mapping[str, float] | None, count: int) -> int | None:
    """Which of the first ``count`` letters is the most probable first token; None when none of them is there.

    >>> most_probable_letter({"B": -0.1, "A": -2.0}, 3)
    1
    """
    letters = {chr(ord("A") + i): i for i in range(count)}
    ranked = sorted((first_token or {}).items(), key=lambda item: -item[1])
    found = (letters.get(token.strip().upper().rstrip(".):")) for token, _ in ranked)
    return next((letter for letter in found if letter is not None), None)
