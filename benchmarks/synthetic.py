"""Text of any length whose names grow into a graph like that of real text: few names everywhere, most in one place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

NEW_NAMES = 5  # of a passage; each is told of together with a name that was there before
WORDS_TOLD, WORDS_BETWEEN = 20, 110  # of a sentence with names, and after it: a passage has about 1,100 tokens
SYLLABLES = [consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in ("a", "e", "i", "o", "u")]
VERBS = ("supplies", "inspects", "replaced", "borders", "finances", "describes", "employs", "repaired")
PROSE = (
    "the water level was measured again after the night shift because most of the older records were found to be incomplete and nobody "
    "could say when the last change had been made or which of the two methods should be trusted in such a case while others held that "
    "every figure since the first year had been read from one instrument by one person under much the same light and weather"
)
FILLER = 3 * PROSE.split()


class Names:
    """Names by number, each two made-up words; the same for the same seed."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._names: list[str] = []

    def __len__(self) -> int:
        return len(self._names)

    def new(self) -> str:
        """One that was not there."""
        first, second = ("".join(SYLLABLES[i] for i in row).capitalize() for row in self._rng.integers(0, len(SYLLABLES), (2, 3)))
        self._names.append(f"{first}n {second}r")
        return self._names[-1]

    def old(self) -> str:
        """One that was there; the k-th with a chance of about k to the power of -0.7."""
        return self._names[int(len(self._names) * self._rng.random() ** (1 / 0.3))]

    def filler(self, words: int) -> str:
        """Words without a name."""
        start = int(self._rng.integers(0, len(FILLER) - words))
        return " ".join(FILLER[start : start + words])

    def verb(self) -> str:
        """Something that one entity does to another."""
        return VERBS[int(self._rng.integers(0, len(VERBS)))]


def passage(names: Names) -> str:
    """About 1,100 tokens: NEW_NAMES new names, as many old ones, and 1.5 relations for each new one."""
    if not len(names):
        names.new()
    new = [names.new() for _ in range(NEW_NAMES)]
    pairs = [(name, names.old()) for name in new] + [(new[0], new[1]), (new[1], new[2])]
    told = [f"{source} {names.verb()} {target} {names.filler(WORDS_TOLD)}." for source, target in pairs]
    return "\n".join(f"{sentence} {names.filler(WORDS_BETWEEN).capitalize()}." for sentence in told)


def documents(names: Names, *, passages: int, each: int, prefix: str) -> Iterator[tuple[str, str]]:
    """(name, text) of documents with ``each`` passages, until there are ``passages`` of them."""
    for number, start in enumerate(range(0, passages, each)):
        yield f"{prefix}-{number}.md", "\n\n".join(passage(names) for _ in range(min(each, passages - start)))
