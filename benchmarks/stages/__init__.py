"""The parts of a run. Each says which units are left, and on which start of a cluster they are made."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx2

from benchmarks.cluster import Cluster, Fleet
from benchmarks.config import RunConfig, SplitConfig
from benchmarks.datasets.corpus import Corpus
from benchmarks.journal import TRIES, Journal
from benchmarks.records import Question, Split
from benchmarks.systems import Layout, Start

T = TypeVar("T")


class Progress(Protocol):
    """Where a run tells how far it is."""

    def begin(self, what: str, total: int) -> None:
        """A stage of ``total`` units starts; the one before has ended."""

    def at(self, done: int) -> None:
        """So many of its units are done."""

    def say(self, text: str) -> None:
        """One line that stays."""


@dataclass(frozen=True, slots=True)
class Work:
    """One split of a run, and all that its stages need."""

    config: RunConfig
    measured: SplitConfig
    corpus: Corpus
    split: Split
    journal: Journal
    fleet: Fleet
    http: httpx2.AsyncClient
    progress: Progress
    data: Path  # folder with <edge>.jsonl
    states: Mapping[Layout, str]  # name of the indexed state
    code: str  # whose rows these are

    @property
    def edges(self) -> list[str]:
        """Ids of the edges."""
        return list(self.split.documents)

    def owners(self) -> dict[str, tuple[str, ...]]:
        """The edges that have each document: two domains may share one."""
        found = defaultdict[str, list[str]](list)
        for edge, documents in self.split.documents.items():
            for document in documents:
                found[document].append(edge)
        return {document: tuple(edges) for document, edges in found.items()}

    def questions(self) -> list[Question]:
        """Each question once, as many as the run's limit."""
        found = {asking.question.question_id: asking.question for asking in self.split.asked}
        return spread(list(found.values()), self.config.limit or len(found))


@dataclass(frozen=True, slots=True)
class Task:
    """Units that are left, all on one start."""

    start: Start
    what: str
    units: int
    make: Callable[[Cluster], Awaitable[None]]


async def together(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do works side by side. Raises the first one's error as it is, when the others are cancelled."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for work in works:
                tasks.create_task(work)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed


def tried(tries: int) -> str:
    """Say what becomes of a unit that has failed so often.

    >>> tried(1), tried(3)
    ('try 1 of 3; the same command asks again', 'try 3 of 3; it counts as an error')
    """
    return f"try {tries} of {TRIES}; " + ("the same command asks again" if tries < TRIES else "it counts as an error")


def spread(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items, evenly over all of them.

    >>> spread("abcdefg", 3), spread("ab", 3)
    (['a', 'c', 'e'], ['a', 'b'])
    """
    kept = min(most, len(items))
    return [items[place * len(items) // kept] for place in range(kept)]
