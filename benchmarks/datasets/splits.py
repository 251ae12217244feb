"""Who has which documents, and which question is asked where (DGRAG §IV-B and §IV-C, FD-RAG's clients). The same seed, the same split."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from benchmarks.datasets.corpus import Corpus, DatasetError
from benchmarks.records import Asking, Question, Scenario, Split

ALL = -1

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def stride(items: Sequence[T], count: int, *, seed: int) -> tuple[T, ...]:
    """``count`` of the items in their order, evenly spaced from a random start; all of them for ``ALL`` or when there are fewer.

    >>> stride("abcdefghij", 3, seed=0), stride("ab", ALL, seed=0)
    (('c', 'f', 'i'), ('a', 'b'))
    """
    if count == ALL or count >= len(items):
        return tuple(items)
    if count < ALL:
        raise ValueError(f"{count} questions cannot be asked: give a number from 0 on, or {ALL} for all")
    step = len(items) / max(count, 1)
    start = np.random.default_rng(seed).random() * step
    return tuple(items[int(start + place * step)] for place in range(count))


def domain_split(corpus: Corpus, *, name: str, within: int, out: int, seed: int) -> Split:
    """An edge is a domain; so many questions of each are asked at home and at another edge (DGRAG's domain-specific setting).

    Equal counts mean the same questions. Each of the other edges gets one question a round, in an order drawn anew, so that a sample at
    regular distances still meets all of them; one that has the question's document too is passed over, and where all have it the
    question is not asked elsewhere. Raises DatasetError for out-of-domain questions where there is one edge.
    """
    documents = _grouped((document.domain, document.document_id) for document in corpus.documents())
    questions = _grouped((question.domain, question) for question in corpus.questions())
    edges, held = list(documents), {edge: frozenset(ids) for edge, ids in documents.items()}
    if out and len(edges) == 1:
        raise DatasetError(f"split {name!r}: there is one domain, {edges[0]!r}, so no question is out of domain", next_step="set out = 0")
    rng = np.random.default_rng(seed)
    asked: list[Asking] = []
    for edge in edges:
        asked += [Asking(question, edge, "within") for question in stride(questions.get(edge, ()), within, seed=seed)]
        others = [other for other in edges if other != edge]
        turns = _rounds(others, rng)
        for question in stride(questions.get(edge, ()), out, seed=seed):
            if any(held[other].isdisjoint(question.gold) for other in others):
                asked.append(Asking(question, next(other for other in turns if held[other].isdisjoint(question.gold)), "out"))
    return Split(name, {edge: tuple(ids) for edge, ids in documents.items()}, tuple(asked))


def _rounds(names: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    while names:
        yield from (names[place] for place in rng.permutation(len(names)))


def mixed_split(corpus: Corpus, *, name: str, edges: int, alpha: float, count: int, seed: int) -> Split:
    """Each domain's shares over the edges are drawn from Dirichlet(alpha), and each of its documents goes to one edge by them.

    Edge i asks ``count`` questions of one domain, the i-th (DGRAG's mixed-domain setting); edges that share a domain ask different ones.
    Raises DatasetError when an edge gets no document.
    """
    if edges < 1 or alpha <= 0:
        raise DatasetError(f"split {name!r}: needs edges of at least 1 and alpha above 0, not {edges} and {alpha}")
    rng = np.random.default_rng(seed)
    names = [f"edge-{number:02d}" for number in range(1, edges + 1)]
    owner: dict[str, str] = {}
    for ids in _grouped((document.domain, document.document_id) for document in corpus.documents()).values():
        new = [document_id for document_id in ids if document_id not in owner]
        drawn = rng.choice(edges, size=len(new), p=rng.dirichlet(np.full(edges, alpha)))
        owner |= {document_id: names[edge] for document_id, edge in zip(new, drawn, strict=True)}
    dealt = _grouped((edge, document_id) for document_id, edge in owner.items())
    if empty := [edge for edge in names if edge not in dealt]:
        raise DatasetError(
            f"split {name!r}: {len(owner)} documents leave {empty[0]} with none", next_step="take fewer edges or another seed"
        )
    questions = _grouped((question.domain, question) for question in corpus.questions())
    domains = list(questions)
    asked: list[Asking] = []
    for place, edge in enumerate(names):
        same = range(place % len(domains), edges, len(domains))  # the edges that ask about this domain
        share = questions[domains[place % len(domains)]][place // len(domains) :: len(same)]
        asked += [Asking(question, edge, "mixed") for question in stride(share, count, seed=seed)]
    return Split(name, {edge: tuple(dealt[edge]) for edge in names}, tuple(asked))


def federated_split(corpus: Corpus, *, name: str, count: int, seed: int) -> Split:
    """Documents and questions stay where the set has dealt them; ``count`` questions are asked, each at its home.

    A question is within its edge's knowledge when all its gold documents are there; where some are not, or none is known, it is mixed.
    """
    documents = _grouped((document.domain, document.document_id) for document in corpus.documents())
    held = {edge: frozenset(ids) for edge, ids in documents.items()}
    asked = tuple(Asking(one, one.domain, _scenario(one, held)) for one in stride(corpus.questions(), count, seed=seed))
    return Split(name, {edge: tuple(documents[edge]) for edge in sorted(documents)}, asked)


def _scenario(question: Question, held: Mapping[str, frozenset[str]]) -> Scenario:
    return "within" if question.gold and held[question.domain].issuperset(question.gold) else "mixed"


def _grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    groups: dict[K, list[T]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)
