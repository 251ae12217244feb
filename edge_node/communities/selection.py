"""Which reports are read for a question about everything: those of a level, or as far down as they are relevant (GraphRAG §2.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, nlargest
from math import fsum

from edge_node.communities.cover import Count
from edge_node.communities.hierarchy import Hierarchy
from edge_node.communities.reports import Report
from shared.ports import FloatArray
from shared.records import Level

LINE_TOKENS = 4  # of a line's number and its end, where a model reads it
NEAREST = 3  # passages of a community that say how near a question it is


Scores = Callable[[FloatArray, Sequence[str]], Mapping[str, float]]  # cosines of passages, by id, with a vector (d,)


@dataclass(frozen=True, slots=True)
class ReportQuery:
    """A question about everything that is indexed. ``vector`` (d,): the question's."""

    vector: FloatArray
    level: Level
    read_tokens: int  # of the reports that are read; 0: all of the level
    floor: float  # share of the best relevance that a report needs to be read, or descended into; for "dynamic" only
    withheld: frozenset[str]
    nearness: float = -1.0  # of the best relevance; below it the question names no subject of this site, as "What are the main themes?"
    scores: Scores | None = None  # of passages as they would leave, where something of them is masked; None: of the passages as they are


@dataclass(frozen=True, slots=True)
class SelectedReports:
    """The reports to read, most relevant first, and how many there are on their levels that together tell of everything."""

    reports: tuple[Report, ...]
    there: int


def relevance(cosines: Mapping[str, float], chunk_ids: Iterable[str]) -> float:
    """The mean cosine of a community's nearest passages with a question, of three at most; -1 where none is known.

    >>> relevance({"a": 0.75, "b": 0.25, "c": 0.5, "d": 0.0}, "abcd")
    0.5
    """
    best = nlargest(NEAREST, (cosines[chunk_id] for chunk_id in chunk_ids if chunk_id in cosines))
    return fsum(best) / len(best) if best else -1.0


def by_weight(sizes: Mapping[str, int]) -> dict[str, float]:
    """What stands in the place of ``relevance`` where nothing is near: how much tells of a community, as a share of what tells of most.

    >>> by_weight({"a": 4, "b": 1, "c": 0})
    {'a': 1.0, 'b': 0.25, 'c': 0.0}
    """
    most = max(sizes.values(), default=0) or 1
    return {key: size / most for key, size in sizes.items()}


def told_tokens(report: Report, count: Count) -> int:
    """What it takes to read a report: its title and its findings, a line each."""
    return sum(count(text) + LINE_TOKENS for text in (report.title, *(finding.text for finding in report.findings)))


def within(ids: Iterable[str], tokens: Callable[[str], int], *, read_tokens: int) -> list[str]:
    """The first, until the next does not fit; the very first is always in. read_tokens 0: all.

    >>> within("abc", {"a": 5, "b": 2, "c": 1}.__getitem__, read_tokens=7)
    ['a', 'b']
    """
    kept, left = list[str](), read_tokens
    for key in ids:
        left -= tokens(key) if read_tokens else 0
        if left < 0 and kept:
            break
        kept.append(key)
    return kept


def descended(
    hierarchy: Hierarchy, near: Mapping[str, float], tokens: Callable[[str], int], *, read_tokens: int, floor: float
) -> tuple[list[str], int]:
    """Communities to read, most relevant first, and how many there are on their levels that together hold every entity.

    From the roots down, the most relevant first: a community gives way to its relevant children while all that is chosen fits into
    ``read_tokens`` (0: any). Relevant is what is as near as ``floor`` times the nearest root; what is not is not looked into.
    near: ``relevance`` by community id. Only what is looked into is asked for its tokens.
    """

    def order(key: str) -> tuple[float, str]:
        return -near[key], key

    best = max((near[key] for key in hierarchy.roots), default=0.0)
    bar = min(best, floor * best)  # of a negative best, that itself
    roots = sorted((key for key in hierarchy.roots if near[key] >= bar), key=order)
    chosen = {key: tokens(key) for key in within(roots, tokens, read_tokens=read_tokens)}
    used, there = sum(chosen.values()), len(hierarchy.roots)
    waiting = [order(key) for key in chosen]
    heapify(waiting)
    while waiting:
        _, key = heappop(waiting)
        children = {child: tokens(child) for child in hierarchy.communities[key].children if near[child] >= bar}
        longer = sum(children.values()) - chosen[key]
        if not children or (read_tokens and used + longer > read_tokens):
            continue
        del chosen[key]
        chosen |= children
        used += longer
        there += len(hierarchy.communities[key].children) - 1
        for child in children:
            heappush(waiting, order(child))
    return sorted(chosen, key=order), there
