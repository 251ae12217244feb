"""Keys that are spelled nearly alike (design §5): an index that finds those of one key without a look at all the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from edge_node.extraction.names import singular
from edge_node.extraction.words import opposed

MIN_RATIO = 92.0  # rapidfuzz ratio of the keys with their words in order of the alphabet, 0 to 100
MIN_LETTERS = 6
KEPT_LETTERS = 3  # one slip in a word of six letters leaves its first three or its last three as they are
LETTER = r"\b[a-z]\b"
_SMALL = frozenset({"of", "the", "for", "a", "an"})
_ENDINGS = frozenset("adenrsy")  # larger, African, skilled, economics, watery


def alike(a: str, b: str) -> float:
    """How alike two keys are spelled, in [MIN_RATIO, 100]; 0.0 where they are no spellings of one name.

    Alike are names that differ in spaces, plurals, initials, small words ("Republic of the Congo"), in the order of what "and" or
    "of" joins ("Justice Department"), or by one letter of one long word. Another word makes another thing ("US trade deficit"),
    and so does another ending ("low", "lower"; "Africa", "African"), number, single letter or opposite. Keys of fewer than
    MIN_LETTERS letters are alike to none.
    """
    score = float(fuzz.ratio(_ordered(a), _ordered(b), score_cutoff=MIN_RATIO))  # the cheapest of the questions
    same = score and _long_enough(a) and _long_enough(b) and (same_words(a, b) or _variants(a, b)) and compatible(a, b, "spelling")
    return score if same else 0.0


class SpellingIndex:
    """Keys by their signatures: any two that are ``alike`` share one. A set: the order of adding does not matter.

    >>> index = SpellingIndex(["blood stream", "ward"])
    >>> index.near("bloodstream")
    {'blood stream': 95.65217391304348}
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys: dict[int, str | set[str]] = {}  # most signatures have one key, which needs no set
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Put a key in; again is the same as once."""
        for signature in _signatures(key):
            held = self._keys.setdefault(signature, key)
            if isinstance(held, set):
                held.add(key)
            elif held != key:
                self._keys[signature] = {held, key}

    def drop(self, key: str) -> None:
        """Take a key out; an unknown one is ignored."""
        for signature in _signatures(key):
            held = self._keys.get(signature)
            if isinstance(held, set):
                held.discard(key)
            elif held == key:
                del self._keys[signature]

    def near(self, key: str) -> dict[str, float]:
        """The other keys that are ``alike``, each with how much; ``key`` itself need not be in the index."""
        others: set[str] = set()
        for signature in _signatures(key):
            held = self._keys.get(signature, ())
            others.update({held} if isinstance(held, str) else held)
        scores = {other: alike(*sorted((key, other))) for other in others - {key}}
        return {other: score for other, score in sorted(scores.items()) if score}


def alike_pairs(keys: Iterable[str]) -> list[tuple[str, str, float]]:
    """The pairs of keys, a < b, that are ``alike``, with how much; in the order of the alphabet."""
    index = SpellingIndex(keys := sorted(keys))
    return [(key, other, score) for key in keys for other, score in index.near(key).items() if key < other]


def _signatures(key: str) -> Iterator[int]:
    """Hashes; two keys that are alike have one in common, as each way to be alike leaves one of these as it is."""
    if not _long_enough(key):
        return
    yield hash(("joined", "".join(_bare(key))))
    words = [word for word in key.split() if word not in _SMALL]
    yield hash(("words", *sorted(words)))
    for place, word in enumerate(words):
        if len(word) >= MIN_LETTERS:
            rest = (place, *words[:place], *words[place + 1 :])
            yield hash(("first", word[:KEPT_LETTERS], *rest))
            yield hash(("last", word[-KEPT_LETTERS:], *rest))


def _long_enough(key: str) -> bool:
    return sum(character.isalpha() for character in key) >= MIN_LETTERS


def _ordered(key: str) -> str:
    return " ".join(sorted(key.split()))


def same_words(a: str, b: str) -> bool:
    """Equal but for spaces, plurals and initials on one side only."""
    left, right = _bare(a), _bare(b)
    return "".join(left) == "".join(right) and bool(left)


def _variants(a: str, b: str) -> bool:
    left, right = ([word for word in key.split() if word not in _SMALL] for key in (a, b))
    if sorted(left) == sorted(right):
        turned = ("of" in a.split()) != ("of" in b.split()) or {"and", "or"} & set(left)
        return left == right or bool(turned)
    different = [(x, y) for x, y in zip(left, right, strict=False) if x != y]
    return len(left) == len(right) and len(different) == 1 and _slip(*different[0])


def _slip(x: str, y: str) -> bool:
    """One letter more, less or other in a long word, which makes no other form of it: its ending stays."""
    short, long = sorted((x, y), key=len)
    if len(short) < MIN_LETTERS or x[:-1] == y[:-1] or Levenshtein.distance(x, y) != 1:
        return False
    return not (long.startswith(short) and long[-1] in _ENDINGS)


def _bare(key: str) -> list[str]:
    words = key.split()
    inner = range(1, len(words) - 1)  # "hemoglobin s" and "d velling" are no names with an initial
    return [singular(word) for place, word in enumerate(words) if place not in inner or len(word) > 1 or word.isdigit()]


def compatible(a: str, b: str, reason: str) -> bool:
    """Whether nothing tells that two names are of two things: opposites; and, unless one is an acronym, numbers or single letters."""
    if opposed(a, b):
        return False
    return reason == "acronym" or (marks(a, r"\d+") == marks(b, r"\d+") and _letters_fit(marks(a, LETTER), marks(b, LETTER)))


def marks(key: str, pattern: str) -> list[str]:
    """What of a key fits a pattern, in the order of the alphabet."""
    return sorted(re.findall(pattern, key))


def _letters_fit(left: list[str], right: list[str]) -> bool:
    """Tell "factor b" from "factor c", while an initial may be left out."""
    return left == right or not left or not right
