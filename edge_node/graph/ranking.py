"""④ One order of chunks out of their nearness, their words and what the graph says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from shared import ranking
from shared.ranking import DAMPING, ROUNDS

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
    """``shared.ranking.relevance`` of the chunks of ``cosines``. words: their BM25 scores; empty where words do not count.

    >>> relevance({"c1": 0.8, "c2": 0.4}, {"c2": 7.0})
    {'c1': 0.6666666666666666, 'c2': 0.6666666666666666}
    """
    return dict(zip(cosines, ranking.relevance(_row(cosines, cosines), _row(words, cosines)).tolist(), strict=True))


def blended(relevant: Mapping[str, float], support: Mapping[str, float]) -> dict[str, float]:
    """``shared.ranking.blended`` of the chunks of ``relevant``; support: what the graph says of chunks, empty where it says nothing.

    >>> blended({"c1": 1.0, "c2": 0.5}, {"c2": 4.0})["c2"] > blended({"c1": 1.0, "c2": 0.5}, {})["c1"]
    True
    """
    return dict(zip(relevant, ranking.blended(_row(relevant, relevant), _row(support, relevant)).tolist(), strict=True))


def _row(values: Mapping[str, float], keys: Mapping[str, float]) -> ranking.Scores:
    return np.array([values.get(key, 0.0) for key in keys], dtype=np.float64)
