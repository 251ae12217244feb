"""Corpora with questions, as their publishers wrote them, and who gets which part of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.datasets.corpus import Corpus, write_data
from benchmarks.datasets.narrowed import Source, few_questions, fewer_clients, fewer_documents, with_questions
from benchmarks.datasets.passages import Passages
from benchmarks.datasets.splits import ALL, domain_split, federated_split, mixed_split
from benchmarks.datasets.ultradomain import UltraDomain
from benchmarks.records import Split

if TYPE_CHECKING:
    from benchmarks.config import SplitConfig

__all__ = ["open_corpus", "split_of", "write_data"]


def open_corpus(measured: SplitConfig, root: Path, *, seed: int = 0) -> Corpus:
    """Read the corpus that a split is made of, below ``root``; where it has fewer documents, the seed says which. Raises DatasetError."""
    corpus: Source
    if measured.kind == "federated":
        corpus = Passages.read(root / measured.set, measured.client, [root / one for one in measured.among])
        corpus = fewer_clients(corpus, measured.clients) if measured.clients else corpus
        if measured.asked != ALL:
            return few_questions(corpus, measured.asked, measured.documents, seed=seed)
    else:
        corpus = UltraDomain.read(root, measured.files)
    if measured.documents != ALL:
        corpus = fewer_documents(corpus, measured.documents, seed=seed)
    return with_questions(corpus, Path(measured.questions)) if measured.questions else corpus


def split_of(measured: SplitConfig, corpus: Corpus, *, seed: int) -> Split:
    """Deal documents and all questions as a configuration says; which of them a model answers is chosen later. Raises DatasetError."""
    if measured.kind == "federated":
        return federated_split(corpus, name=measured.name, count=ALL, seed=seed)
    if measured.kind == "mixed":
        return mixed_split(corpus, name=measured.name, edges=measured.edges, alpha=measured.alpha, count=ALL, seed=seed)
    return domain_split(corpus, name=measured.name, within=ALL, out=ALL if measured.out else 0, seed=seed)
