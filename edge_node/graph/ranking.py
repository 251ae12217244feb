"""④ One order of chunks out of their nearness, their words and what the graph says of them."""

from __future__ import annotations

from collections.abc import Mapping

WORDS_WEIGHT = 0.5  # of BM25 beside the cosine, each as a share of the best chunk's
FLOOR = 0.1  # what a chunk that the graph does not reach counts beside the one that it favours: among those, relevance decides …
BASE = 0.3  # … and among chunks that it favours, relevance is one voice


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
