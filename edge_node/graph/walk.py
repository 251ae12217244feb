"""④ Personalised PageRank between entities and the chunks that tell of them (after HippoRAG 2 §3.3, Andersen et al. 2006).

Only what carries mass is touched, so a question costs the same in a graph of a thousand entities and of a million.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

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
