"""④ One order of chunks out of their nearness, their words and what the graph says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

WORDS_WEIGHT = 0.5  # of BM25 beside the cosine, each as a share of the best chunk's
FLOOR = 0.1  # what a chunk that the graph does not reach counts beside the one that it favours: among those, relevance decides …
BASE = 0.3  # … and among chunks that it favours, relevance is one voice

DAMPING = 0.8  # share of the mass that walks on; the rest starts anew
ROUNDS = 6  # three times from entities to chunks and back; then a quarter of the mass is left, far from the question
LEAST = 1e-4  # a smaller share along an edge is not followed: an entity that is everywhere leads nowhere


def walk(
    entities: Mapping[str, float],
    chunks: Mapping[str, float],
    chunks_of: Callable[[str], Sequence[str]],
    entities_of: Callable[[str], Sequence[str]],
    *,
    damping: float = DAMPING,
    rounds: int = ROUNDS,
    least: float = LEAST,
) -> dict[str, float]:
    """How much of a random walk's time is spent at each chunk, when it starts at these entities and chunks by their weights >= 0.

    Each step goes to any neighbour alike. Returns chunk -> share of the time, without those never reached; what a cut-off
    walk had left is not counted. At most damping / least edges are followed in a round.

    >>> chunks_of, entities_of = {"ann": ["c1", "c2"], "mill": ["c2"]}, {"c1": ["ann"], "c2": ["ann", "mill"]}
    >>> walk({"mill": 1.0}, {}, chunks_of.__getitem__, entities_of.__getitem__, damping=0.5, rounds=1)
    {'c2': 0.25}
    """
    total = sum(entities.values()) + sum(chunks.values())
    spent: defaultdict[str, float] = defaultdict(float)
    if total <= 0:
        return spent
    here = {key: weight / total for key, weight in entities.items()}
    there = {key: weight / total for key, weight in chunks.items()}
    for step in range(rounds + 1):
        for key, mass in there.items():
            spent[key] += (1 - damping) * mass
        if step < rounds:
            here, there = _step(there, entities_of, damping, least), _step(here, chunks_of, damping, least)
    return dict(spent)


def _step(masses: Mapping[str, float], neighbours_of: Callable[[str], Sequence[str]], damping: float, least: float) -> dict[str, float]:
    moved: defaultdict[str, float] = defaultdict(float)
    for key, mass in masses.items():
        if damping * mass < least:
            continue
        neighbours = neighbours_of(key)
        if neighbours and (share := damping * mass / len(neighbours)) >= least:
            for neighbour in neighbours:
                moved[neighbour] += share
    return moved


def relevance(cosines: Mapping[str, float], words: Mapping[str, float]) -> dict[str, float]:
    """How near each chunk of ``cosines`` is to the question, by meaning and words, in [0, 1]: shares of the best of each.

    words: BM25 scores, at least of those chunks that share a word; empty where words do not count.

    >>> relevance({"c1": 0.8, "c2": 0.4}, {"c2": 7.0})
    {'c1': 0.6666666666666666, 'c2': 0.6666666666666666}
    """
    nearest = max(cosines.values(), default=0.0)
    most = max(words.values(), default=0.0)
    parts = 1 + WORDS_WEIGHT if most > 0 else 1.0

    def of(key: str) -> float:
        near = max(cosines[key], 0.0) / nearest if nearest > 0 else 0.0
        return (near + (WORDS_WEIGHT * words.get(key, 0.0) / most if most > 0 else 0.0)) / parts

    return {key: of(key) for key in cosines}


def blended(relevant: Mapping[str, float], support: Mapping[str, float]) -> dict[str, float]:
    """What orders the chunks of ``relevant``: relevance, and the root of the graph's support as a share of the best supported one's.

    The root, for a walk spends most of its time at very few chunks. Without any support, relevance alone decides.

    >>> blended({"c1": 1.0, "c2": 0.5}, {"c2": 4.0})["c2"] > blended({"c1": 1.0, "c2": 0.5}, {})["c1"]
    True
    """
    most = max(support.values(), default=0.0)
    return {key: (FLOOR + ((support.get(key, 0.0) / most) ** 0.5 if most > 0 else 0.0)) * (BASE + value) for key, value in relevant.items()}
