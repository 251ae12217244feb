"""Which passages of several sites come first, and what they lead to: a second hop is far from the question, but near to the first.

The same order as a site's own (meaning and words, times a walk over names from those of the question), over what all sites sent. What
comes first is read for its sentence nearest the question; both together are what further sites are found with: docs/adr/0011.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

import numpy as np

from shared.ports import FloatArray
from shared.ranking import DAMPING, ROUNDS, blended, relevance
from shared.records import Evidence
from shared.text.nearness import is_near
from shared.text.sentences import WORD, content_words, names_in, questions_in, sentences

HOPS = 2  # passages that a second search starts from
K1, B = 1.2, 0.75  # of BM25
START, START_SHARE = 20, 0.05  # passages that the walk starts from besides the question's names, and their share of it
LONGEST = 12  # words of a name; titles of works are longer than most
QUALIFIER = re.compile(r"(?<!\s)\s*+\([^()]*+\)\s*+$")


@dataclass(frozen=True, slots=True)
class Pool:
    """Passages of all sites with their vectors (n, d), each site's in its own order."""

    passages: Sequence[Evidence]
    vectors: FloatArray
    cosines: FloatArray  # (n,), with the question

    def and_also(self, other: Pool) -> Pool:
        """With those passages of ``other`` behind its own that it has not."""
        known = {(one.edge, one.chunk_id) for one in self.passages}
        new = [row for row, one in enumerate(other.passages) if (one.edge, one.chunk_id) not in known]
        return Pool(
            [*self.passages, *(other.passages[row] for row in new)],
            np.concatenate([self.vectors, other.vectors[new]]),
            np.concatenate([self.cosines, other.cosines[new]]),
        )


def ordered(pool: Pool, question: str) -> list[int]:
    """Rows, best first: how near each passage is, by meaning and words, times what a walk says; no site's score counts.

    The walk starts at the names of the question and goes from names to passages and back: a passage that names what another site's
    passage names is a step away from it, though the two sites know nothing of each other (personalised PageRank, after HippoRAG 2 §3.3).
    """
    if not pool.passages:
        return []
    near = relevance(pool.cosines, bm25([one.text for one in pool.passages], question))
    return _descending(blended(near, _walk(pool, question, near)))


def readable(pool: Pool, question: str) -> list[int]:
    """``ordered``, without what is about something else: neither near by meaning nor with a word of the question."""
    return near_rows(pool, question, ordered(pool, question))


def by_parts(pool: Pool, question: str, questions: FloatArray) -> list[int]:
    """``readable``; of a question of several parts each part's best passages in turn, or one part would take all places.

    ``questions``: (q, d), of the whole question and of its parts, as ``questions_in`` gives them.
    """
    whole, *parts = questions_in(question)
    if len(parts) < 2:
        return readable(pool, whole)
    orders = list[list[int]]()
    for text, vector in zip(parts, questions[1:], strict=True):
        near = np.clip(pool.vectors @ vector, -1.0, 1.0).astype(np.float32)
        orders.append(readable(replace(pool, cosines=near), text))
    turns = chain.from_iterable(zip_longest(*orders))
    return list(dict.fromkeys(row for row in turns if row is not None))


def near_rows(pool: Pool, question: str, order: Sequence[int]) -> list[int]:
    """Of an order those rows that are about what is asked at all."""
    texts = [f"{one.title} {one.text}" for one in pool.passages]
    return [row for row in order if is_near(float(pool.cosines[row]), question, texts[row])]


def _walk(pool: Pool, question: str, near: FloatArray) -> FloatArray:
    """(n,): the time spent at each passage. A name counts the more the fewer passages hold it, and the nearer one of them is."""
    holds, named = _named(pool.passages, question)
    nearest = np.max(holds * near[:, None], axis=0, initial=0.0)
    rarely = named * nearest**2 / np.maximum(holds.sum(axis=0), 1.0)
    first = np.zeros(len(near), dtype=np.float32)
    best = _descending(near)[:START]
    first[best] = near[best]
    share = START_SHARE if rarely.any() else 1.0
    passages, names = share * first / max(float(first.sum()), 1e-9), (1.0 - share) * rarely / max(float(rarely.sum()), 1e-9)
    to_names, to_passages = _shares(holds), _shares(holds.T)
    spent = np.zeros(len(near), dtype=np.float32)
    for _ in range(ROUNDS + 1):
        spent += (1 - DAMPING) * passages
        passages, names = DAMPING * (names @ to_passages), DAMPING * (passages @ to_names)
    return spent


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


def shared_places(ranked: Sequence[Evidence], *, k: int, share: float, near: float) -> list[Evidence]:
    """The first k; but one site has at most ``share`` of them as long as another has a passage with a score of ``near`` or more."""
    places, left, chosen = max(1, int(k * share)), list(ranked), list[Evidence]()
    while left and len(chosen) < k:
        full = {one.edge for one in chosen if sum(other.edge == one.edge for other in chosen) >= places}
        others = [one for one in left if one.edge not in full]
        chosen.append(others[0] if left[0].edge in full and any(one.score >= near for one in others) else left[0])
        left.remove(chosen[-1])
    return chosen


def _named(passages: Sequence[Evidence], question: str) -> tuple[FloatArray, FloatArray]:
    """(n, m): 1 where a passage holds a name word by word, of the names in all; (m,): 1 where the question does, not in a longer one.

    A title is a name, and stands in every passage of its document; without its qualifier too: "Orrin Mill (film)", "Orrin Mill".
    """
    titles = [f"{one.title}\n{QUALIFIER.sub('', one.title)}" for one in passages]
    known = {_plain(name) for one, of_it in zip(passages, titles, strict=True) for name in (*names_in(one.text), *of_it.split("\n"))} - {""}
    lengths: dict[str, set[int]] = {}
    for name in known:
        first, *more = name.split(" ")
        if len(more) < LONGEST:
            lengths.setdefault(first, set()).add(1 + len(more))
    told = [(*of_it.split("\n"), one.text) for one, of_it in zip(passages, titles, strict=True)]
    held = [{name for text in texts for name in _found(_plain(text).split(" "), known, lengths)} for texts in told]
    names = sorted(set[str]().union(*held))
    holds = np.array([[name in of_it for name in names] for of_it in held], dtype=np.float32).reshape(len(passages), len(names))
    asked = _found(_plain(question).split(" "), known, lengths)
    longest = {name for name in asked if not any(name != other and f" {name} " in f" {other} " for other in asked)}
    return holds, np.array([name in longest for name in names], dtype=np.float32)


def _found(words: Sequence[str], known: Collection[str], lengths: Mapping[str, Collection[int]]) -> set[str]:
    runs = (" ".join(words[at : at + length]) for at, word in enumerate(words) for length in lengths.get(word, ()))
    return {run for run in runs if run in known}


def _plain(text: str) -> str:
    return " ".join(WORD.findall(text.casefold()))


def _shares(holds: FloatArray) -> FloatArray:
    return np.asarray(holds / np.maximum(holds.sum(axis=1, keepdims=True), 1.0), dtype=np.float32)


def _descending(scores: FloatArray) -> list[int]:
    return [int(row) for row in np.argsort(-scores, kind="stable")]
