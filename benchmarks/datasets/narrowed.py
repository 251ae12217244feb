"""A corpus with fewer documents or clients than its publisher's, or with other questions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from benchmarks.datasets.corpus import DatasetError, lines_of, parsed, text_of
from benchmarks.datasets.passages import Passages
from benchmarks.datasets.splits import ALL, stride
from benchmarks.datasets.ultradomain import UltraDomain
from benchmarks.records import Question

Source: TypeAlias = Passages | UltraDomain


def fewer_documents(corpus: Source, count: int, *, seed: int) -> Source:
    """So many of the documents, evenly over all of them; without the questions that need another one."""
    found = stride(corpus.found, count, seed=seed)
    kept = {document.document_id for document in found}
    return replace(corpus, found=found, asked=tuple(one for one in corpus.asked if kept.issuperset(one.gold)))


def few_questions(corpus: Source, asked: int, documents: int, *, seed: int) -> Source:
    """So many of the questions, evenly over all of them, and so many documents: all that these need, and others evenly over the rest.

    ``documents`` may be ``ALL``. Raises DatasetError where the questions need more.
    """
    chosen = stride(corpus.asked, asked, seed=seed)
    needed = {document_id for question in chosen for document_id in question.gold}
    if documents == ALL:
        return replace(corpus, asked=chosen)
    if len(needed) > documents:
        raise DatasetError(f"{len(chosen)} questions need {len(needed)} documents, more than {documents}", next_step="ask fewer of them")
    others = [one.document_id for one in corpus.found if one.document_id not in needed]
    kept = needed.union(stride(others, documents - len(needed), seed=seed))
    return replace(corpus, found=tuple(one for one in corpus.found if one.document_id in kept), asked=chosen)


def fewer_clients(corpus: Passages, most: int) -> Passages:
    """At most so many clients: those with fewest documents become one, which is called as the largest of them."""
    sizes = Counter(document.domain for document in corpus.found)
    order = sorted(sizes, key=lambda client: (-sizes[client], client))
    joined = dict.fromkeys(order[most - 1 :], order[min(most, len(order)) - 1])
    found = tuple(replace(document, domain=joined.get(document.domain, document.domain)) for document in corpus.found)
    return replace(corpus, found=found, asked=tuple(replace(one, domain=joined.get(one.domain, one.domain)) for one in corpus.asked))


def with_questions(corpus: Source, file: Path) -> Source:
    """The questions of a file in the place of the corpus's own: nobody knows their answers, and the domains take turns to ask them.

    Each line has ``id`` and ``question``. Raises DatasetError for a file that cannot be read, or has a line that is no question.
    """
    domains = sorted({document.domain for document in corpus.found})
    asked: list[Question] = []
    for place, line in lines_of(file):
        try:
            row = parsed(line)
            asked.append(Question(text_of(row, "id"), text_of(row, "question"), domains[len(asked) % len(domains)], ()))
        except DatasetError as error:
            raise DatasetError(f"{file.parent / place}: {error}") from error
    if not asked:
        raise DatasetError(f"{file} has no questions", next_step="write some with `python -m benchmarks.graphrag.questions`")
    return replace(corpus, asked=tuple(asked))
