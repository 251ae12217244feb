"""Which passages of several sites come first, and what they lead to: a second hop is far from the question, but near to the first.

Multi-hop questions name one thing and ask for another. What is best by meaning, by words and by the sites' own order is read for its
sentence nearest the question; question and sentence together are what the next passages are searched with: docs/adr/0011.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shared.names import names_in
from shared.ports import FloatArray
from shared.records import Evidence
from shared.sentences import WORD, content_words, sentences

RRF = 10  # constant of reciprocal-rank fusion (Cormack et al. 2009); few passages: a smaller one than among thousands
HOPS = 2  # passages that a second search starts from
K1, B = 1.2, 0.75  # of BM25
DAMPING, ROUNDS = 0.8, 7  # of the walk: share of the mass that walks on, and steps
START, START_SHARE = 20, 0.05  # passages that the walk starts from besides the question's names, and their share of it
BASE = 0.3  # of the first order beside the root of the walk's share


@dataclass(frozen=True, slots=True)
class Pool:
    """Passages of all sites with their vectors (n, d), each site's in its own order."""

    passages: Sequence[Evidence]
    vectors: FloatArray
    cosines: FloatArray  # (n,), with the question

    def and_also(self, other: Pool) -> Pool:
        """With the passages of ``other`` behind its own."""
        return Pool(
            [*self.passages, *other.passages],
            np.concatenate([self.vectors, other.vectors]),
            np.concatenate([self.cosines, other.cosines]),
        )


def first_order(pool: Pool, question: str) -> list[int]:
    """Rows, best first: by meaning, by words, and by the order of the sites, which knows of their graphs. No site's score counts."""
    return fused(_lists(pool, question))


def further_order(pool: Pool, question: str, order: Sequence[int], leads: Sequence[str], vectors: FloatArray) -> list[int]:
    """``first_order`` with what the ``leads`` (l) find by meaning and by words; row l of ``vectors`` (l, d) is of lead l, from order[l]."""
    if not leads:
        return list(order)
    near = vectors @ pool.vectors.T
    near[range(len(leads)), list(order[: len(leads)])] = -1.0  # a passage is no second hop from itself
    words = np.max([bm25([one.text for one in pool.passages], lead) for lead in leads], axis=0)
    return fused([*_lists(pool, question), _descending(near.max(axis=0)), _descending(words)])


def walked(pool: Pool, question: str, order: Sequence[int]) -> list[int]:
    """``order`` with what a walk says that starts at the names of the question and goes from names to passages and back.

    A passage that names what another site's passage names is a step away from it, though the two sites know nothing of each other
    (personalised PageRank between passages and names, after HippoRAG 2 §3.3).
    """
    if not order:
        return []
    holds, named = _named(pool, question)
    rarely = named / np.maximum(holds.sum(axis=0), 1.0)
    first = np.zeros(len(pool.passages), dtype=np.float32)
    first[order[:START]] = 1.0 / (RRF + np.arange(len(order[:START])))
    share = START_SHARE if rarely.any() else 1.0
    passages, names = share * first / first.sum(), (1.0 - share) * rarely / max(float(rarely.sum()), 1e-9)
    to_names, to_passages = _shares(holds), _shares(holds.T)
    spent = np.zeros(len(pool.passages), dtype=np.float32)
    for _ in range(ROUNDS):
        spent += (1 - DAMPING) * passages
        passages, names = DAMPING * (names @ to_passages), DAMPING * (passages @ to_names)
    place = np.empty(len(order), dtype=np.float32)
    place[order] = RRF / (RRF + np.arange(len(order)))
    return _descending(np.sqrt(spent / max(float(spent.max()), 1e-9)) + BASE * place)


def sentences_of(pool: Pool, order: Sequence[int]) -> list[list[str]]:
    """The sentences of each of the first HOPS passages."""
    texts = [pool.passages[row].text for row in order[:HOPS]]
    return [[piece for start, end in sentences(text) if (piece := text[start:end].strip())] for text in texts]


def bm25(texts: Sequence[str], question: str) -> FloatArray:
    """(n,): how much the words of ``question`` say of each text, the rarer among the texts the more.

    >>> bm25(["gold in Rome", "a pump in Rome"], "Which pump?").argmax()
    np.int64(1)
    """
    said = [content_words(text) for text in texts]
    lengths = np.array([len(words) for words in said], dtype=np.float32)
    damped = (K1 + 1) / (1 + K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0)))
    scores = np.zeros(len(texts), dtype=np.float32)
    for word in sorted(content_words(question)):
        holds = np.array([word in words for words in said])
        rarity = np.log1p((len(texts) - holds.sum() + 0.5) / (holds.sum() + 0.5))
        scores += np.where(holds, rarity * damped, 0.0).astype(np.float32)
    return scores


def fused(lists: Sequence[Sequence[int]]) -> list[int]:
    """Reciprocal-rank fusion of rankings of the same rows, best first, ties by row.

    >>> fused([[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    [1, 2, 0]
    """
    scores: dict[int, float] = {}
    for ranking in lists:
        for rank, row in enumerate(ranking):
            scores[row] = scores.get(row, 0.0) + 1.0 / (RRF + rank)
    return sorted(scores, key=lambda row: (-scores[row], row))


def shared_places(ranked: Sequence[Evidence], *, k: int, share: float, near: float) -> list[Evidence]:
    """The first k; but one site has at most ``share`` of them as long as another has a passage with a score of ``near`` or more."""
    places, left, chosen = max(1, int(k * share)), list(ranked), list[Evidence]()
    while left and len(chosen) < k:
        full = {one.edge for one in chosen if sum(other.edge == one.edge for other in chosen) >= places}
        others = [one for one in left if one.edge not in full]
        chosen.append(others[0] if left[0].edge in full and any(one.score >= near for one in others) else left[0])
        left.remove(chosen[-1])
    return chosen


def _lists(pool: Pool, question: str) -> list[list[int]]:
    places: dict[str, int] = {}
    place = [places[one.edge] for one in pool.passages if places.update({one.edge: places.get(one.edge, -1) + 1}) is None]
    by_site = sorted(range(len(place)), key=lambda row: (place[row], -pool.cosines[row]))
    return [_descending(pool.cosines), _descending(bm25([one.text for one in pool.passages], question)), by_site]


def _named(pool: Pool, question: str) -> tuple[FloatArray, FloatArray]:
    """(n, m): 1 where a passage holds a name, of all names of the passages; (m,): 1 where the question holds it."""
    held = [{_plain(name) for name in names_in(passage.text)} for passage in pool.passages]
    names = sorted(set().union(*held))
    asked = _plain(question)
    holds = np.array([[name in of_it for name in names] for of_it in held], dtype=np.float32).reshape(len(held), len(names))
    return holds, np.array([f" {name} " in f" {asked} " for name in names], dtype=np.float32)


def _plain(text: str) -> str:
    return " ".join(WORD.findall(text.casefold()))


def _shares(holds: FloatArray) -> FloatArray:
    return np.asarray(holds / np.maximum(holds.sum(axis=1, keepdims=True), 1.0), dtype=np.float32)


def _descending(scores: FloatArray) -> list[int]:
    return [int(row) for row in np.argsort(-scores, kind="stable")]
