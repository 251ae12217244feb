"""Different names of one entity (design §5): acronym definitions, and spellings that nearly agree. Reported, reversible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from edge_node.graph.spellings import LETTER, alike_pairs, compatible, marks, same_words
from shared.ports import FloatArray

MIN_COSINE = 0.85
_NO_VECTORS: Mapping[str, FloatArray] = {}


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


def find_aliases(
    names: Iterable[EntityName],
    definitions: Iterable[tuple[str, str]] = (),
    vectors: Mapping[str, FloatArray] = _NO_VECTORS,
    *,
    min_cosine: float = MIN_COSINE,
    alike: Iterable[tuple[str, str, float]] | None = None,
) -> list[AliasPair]:
    """Return which names are other names of which; a function of the sets given, whatever their order.

    definitions: pairs of ``acronym_definitions``. vectors: unit (d,) rows of names by key, at least for ``alike``, the result of
    ``spellings.alike_pairs`` if that is known.
    Spellings with the same words are joined always ("blood stream", "bloodstream"; "Louis D. Brandeis", "Louis Brandeis");
    others that nearly agree only if their vectors are near, as one letter can make another thing ("metencephalon",
    "mesencephalon"). Canonical is the most
    mentioned name, then the shortest, then the first by alphabet. Names with different numbers, or with opposite words
    ("hyper-", "hypo-"; "anterior", "posterior"), never meet, not even by a third.
    """
    known = {name.key: name for name in names}
    pairs = alike_pairs(known) if alike is None else alike
    links = [*_acronym_links(known, definitions), *_spelling_links(known, pairs, vectors, min_cosine)]
    group: dict[str, list[str]] = {}
    for link in sorted(links, key=lambda link: (-link.score, link.a, link.b)):
        left, right = group.get(link.a, [link.a]), group.get(link.b, [link.b])
        if left is not right and all(compatible(a, b, link.reason) for a in left for b in right):
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


def _spelling_links(
    known: Mapping[str, EntityName], alike: Iterable[tuple[str, str, float]], vectors: Mapping[str, FloatArray], min_cosine: float
) -> list[_Link]:
    links = []
    for a, b, ratio in alike:
        if _initials_fit(known[a], known[b]) and (same_words(a, b) or _near(a, b, vectors, min_cosine)):
            links.append(_Link(a, b, "spelling", ratio / 100))
    return links


def _near(a: str, b: str, vectors: Mapping[str, FloatArray], min_cosine: float) -> bool:
    return a in vectors and b in vectors and float(vectors[a] @ vectors[b]) >= min_cosine


def _initials_fit(a: EntityName, b: EntityName) -> bool:
    """An initial is left out of names only: "hepatitis virus" is not short for "hepatitis B virus"."""
    return marks(a.key, LETTER) == marks(b.key, LETTER) or all(word[0].isupper() for word in f"{a.name} {b.name}".split())
