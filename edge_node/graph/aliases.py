"""Different names of one entity (design §5): acronym definitions, and spellings that nearly agree. Reported, reversible."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from edge_node.graph.names import normalise, singular
from edge_node.graph.opposites import opposed
from shared.ports import FloatArray

MIN_RATIO = 92.0  # rapidfuzz token_sort_ratio, 0 to 100
MIN_COSINE = 0.85
MIN_LETTERS = 6

_SHORT = r"([A-Z][A-Za-z0-9&-]*[A-Z][A-Za-z0-9&-]*)"
_LONG_SHORT = re.compile(rf"((?:[\w’'-]+[ \n]+){{1,10}})\(\s*{_SHORT}\s*\)")
_SHORT_LONG = re.compile(rf"\b{_SHORT}\s*\(([^()]{{6,90}})\)")
_LETTER = r"\b[a-z]\b"
_SMALL = frozenset({"of", "the", "for", "a", "an"})
_ENDINGS = frozenset("adenrsy")  # larger, African, skilled, economics, watery
_NO_VECTORS: Mapping[str, FloatArray] = {}
_SKIPPED = frozenset({"of", "and", "the", "for", "in", "on", "to", "a", "an", "or", "by", "with"})


@dataclass(frozen=True, slots=True)
class EntityName:
    """An entity that may have other names."""

    key: str
    name: str
    mentions: int


@dataclass(frozen=True, slots=True)
class AliasPair:
    """``key`` is another name of ``canonical``, because of ``reason`` with ``score`` in [0, 1]."""

    key: str
    canonical: str
    reason: Literal["acronym", "spelling"]
    score: float


@dataclass(frozen=True, slots=True)
class _Link:
    a: str
    b: str  # a < b
    reason: Literal["acronym", "spelling"]
    score: float


def acronym_definitions(text: str) -> frozenset[tuple[str, str]]:
    """Return (long key, short key) for each "Gross Domestic Product (GDP)" and "GDP (gross domestic product)" whose initials fit.

    >>> acronym_definitions("The Gross Domestic Product (GDP) rose. It met the board (SEC).")
    frozenset({('gross domestic product', 'gdp')})
    """
    found = set()
    pairs = [(match[1], match[2]) for match in _LONG_SHORT.finditer(text)] + [(match[2], match[1]) for match in _SHORT_LONG.finditer(text)]
    for before, short in pairs:
        long = _expansion(before.replace("-", " ").split(), [letter for letter in short.removesuffix("s").casefold() if letter.isalpha()])
        if long and (keys := (normalise(long), normalise(short)))[0] != keys[1]:
            found.add(keys)
    return frozenset(found)


def _expansion(words: Sequence[str], initials: Sequence[str]) -> str:
    """The last words whose initials are the acronym's letters; small words between them may or may not count."""
    left = list(initials)
    for place in range(len(words) - 1, -1, -1):
        if left and words[place][0].casefold() == left[-1]:
            left.pop()
            if not left:
                return " ".join(words[place:])
        elif words[place].casefold() not in _SKIPPED:
            return ""
    return ""


def alias_candidates(keys: Iterable[str], *, min_ratio: float = MIN_RATIO) -> list[tuple[str, str, float]]:
    """Return the pairs of keys, a < b, that are spelled nearly alike, with their ratio in [min_ratio, 100]: those to embed.

    Alike are names that differ in spaces, plurals, initials, small words ("Republic of the Congo"), in the order of what "and" or
    "of" joins ("Justice Department"), or by one letter of one long word. Another word makes another thing ("US trade deficit"),
    and so does another ending ("low", "lower"; "Africa", "African"), number, single letter or opposite.
    """
    blocks: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in sorted(keys):
        if sum(character.isalpha() for character in key) >= MIN_LETTERS:
            ordered = " ".join(sorted(key.split()))
            blocks[ordered[0]].append((ordered, key))
    found = []
    for block in blocks.values():
        texts = [ordered for ordered, _ in block]
        ratios = process.cdist(texts, texts, scorer=fuzz.ratio, score_cutoff=min_ratio, dtype=np.float32)
        for row, column in np.argwhere(np.triu(ratios, k=1) > 0).tolist():
            a, b = sorted((block[row][1], block[column][1]))
            if _compatible(a, b, "spelling") and (_same_words(a, b) or _variants(a, b)):
                found.append((a, b, float(ratios[row, column])))
    return found


def find_aliases(
    names: Iterable[EntityName],
    definitions: Iterable[tuple[str, str]] = (),
    vectors: Mapping[str, FloatArray] = _NO_VECTORS,
    *,
    min_ratio: float = MIN_RATIO,
    min_cosine: float = MIN_COSINE,
) -> list[AliasPair]:
    """Return which names are other names of which; a function of the sets given, whatever their order.

    definitions: pairs of ``acronym_definitions``. vectors: unit (d,) rows of names by key, at least for ``alias_candidates``.
    Spellings with the same words are joined always ("blood stream", "bloodstream"; "Louis D. Brandeis", "Louis Brandeis");
    others that nearly agree only if their vectors are near, as one letter can make another thing ("metencephalon",
    "mesencephalon"). Canonical is the most
    mentioned name, then the shortest, then the first by alphabet. Names with different numbers, or with opposite words
    ("hyper-", "hypo-"; "anterior", "posterior"), never meet, not even by a third.
    """
    known = {name.key: name for name in names}
    links = [*_acronym_links(known, definitions), *_spelling_links(known, vectors, min_ratio, min_cosine)]
    group: dict[str, list[str]] = {}
    for link in sorted(links, key=lambda link: (-link.score, link.a, link.b)):
        left, right = group.get(link.a, [link.a]), group.get(link.b, [link.b])
        if left is not right and all(_compatible(a, b, link.reason) for a in left for b in right):
            joined = left + right
            group.update(dict.fromkeys(joined, joined))
    best: dict[str, _Link] = {}
    for link in sorted(links, key=lambda link: (link.score, link.b, link.a)):
        if group.get(link.a) is group.get(link.b, link):
            best[link.a] = best[link.b] = link
    found = []
    for key in sorted(group):
        canonical = min(group[key], key=lambda key: (-known[key].mentions, len(key), key))
        if key != canonical:
            found.append(AliasPair(key, canonical, best[key].reason, round(best[key].score, 4)))
    return found


def canonical_keys(pairs: Iterable[AliasPair]) -> dict[str, str]:
    """The form that ``knowledge_graph.merge`` takes: key -> canonical key."""
    return {pair.key: pair.canonical for pair in pairs}


def _acronym_links(known: Mapping[str, EntityName], definitions: Iterable[tuple[str, str]]) -> list[_Link]:
    longs: dict[str, set[str]] = defaultdict(set)
    for long, short in definitions:
        # Freud's "id" is no "ID"; E0 and E1 are two points of one curve
        if long in known and short in known and short.isalpha() and sum(map(str.isupper, known[short].name)) > 1:
            longs[short].add(long)
    # an acronym with two meanings stands for neither
    single = [(short, *found) for short, found in sorted(longs.items()) if len(found) == 1]
    return [_Link(min(pair), max(pair), "acronym", 1.0) for pair in single]


def _spelling_links(known: Mapping[str, EntityName], vectors: Mapping[str, FloatArray], min_ratio: float, min_cosine: float) -> list[_Link]:
    links = []
    for a, b, ratio in alias_candidates(known, min_ratio=min_ratio):
        if _initials_fit(known[a], known[b]) and (_same_words(a, b) or _near(a, b, vectors, min_cosine)):
            links.append(_Link(a, b, "spelling", ratio / 100))
    return links


def _near(a: str, b: str, vectors: Mapping[str, FloatArray], min_cosine: float) -> bool:
    return a in vectors and b in vectors and float(vectors[a] @ vectors[b]) >= min_cosine


def _same_words(a: str, b: str) -> bool:
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


def _initials_fit(a: EntityName, b: EntityName) -> bool:
    """An initial is left out of names only: "hepatitis virus" is not short for "hepatitis B virus"."""
    return _marks(a.key, _LETTER) == _marks(b.key, _LETTER) or all(word[0].isupper() for word in f"{a.name} {b.name}".split())


def _compatible(a: str, b: str, reason: str) -> bool:
    if opposed(a, b):
        return False
    return reason == "acronym" or (_marks(a, r"\d+") == _marks(b, r"\d+") and _letters_fit(_marks(a, _LETTER), _marks(b, _LETTER)))


def _marks(key: str, pattern: str) -> list[str]:
    return sorted(re.findall(pattern, key))


def _letters_fit(left: list[str], right: list[str]) -> bool:
    """Tell "factor b" from "factor c", while an initial may be left out."""
    return left == right or not left or not right
