"""One order of passages, at an edge and at the cloud: nearness by meaning and words, times what a walk over names says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating]  # (n,), float32 or float64; what comes out has the type of what goes in

WORDS_WEIGHT = 0.5  # of BM25 beside the cosine, each as a share of the best passage's
FLOOR = 0.1  # what a passage that the walk does not reach counts beside the one that it favours: among those, relevance decides …
BASE = 0.3  # … and among passages that it favours, relevance is one voice
DAMPING = 0.8  # of the walk: share of the mass that walks on; the rest starts anew
ROUNDS = 6  # three times from names to passages and back; then a quarter of the mass is left, far from the question


def relevance(cosines: Scores, words: Scores) -> Scores:
    """How near each passage is to the question, in [0, 1]: shares of the best passage's cosine and BM25, which is >= 0.

    Where no passage shares a word, words do not count.

    >>> relevance(np.array([0.8, 0.4]), np.array([0.0, 7.0])).round(3).tolist()
    [0.667, 0.667]
    """
    parts = 1 + WORDS_WEIGHT if words.any() else 1.0
    return (_share_of_best(np.maximum(cosines, 0)) + WORDS_WEIGHT * _share_of_best(words)) / parts


def blended(relevant: Scores, support: Scores) -> Scores:
    """What orders passages: relevance, and the root of the graph's support as a share of the best supported one's; below 0 it is none.

    The root, for a walk spends most of its time at very few passages. Without any support, relevance alone decides.

    >>> blended(np.array([1.0, 0.5]), np.array([0.0, 4.0])).round(2).tolist()
    [0.13, 0.88]
    """
    return (FLOOR + np.sqrt(_share_of_best(np.maximum(support, 0)))) * (BASE + relevant)


def _share_of_best(values: Scores) -> Scores:
    most = values.max(initial=0)
    return values / most if most > 0 else values
