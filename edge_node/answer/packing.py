"""Reports shuffled and packed into contexts of a model, so that what helps is spread over all of them (GraphRAG §2.6)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeAlias, TypeVar
from zlib import crc32

import numpy as np

from edge_node.graph.choosing import LINE_TOKENS
from edge_node.graph.reports import Report

Pack: TypeAlias = tuple[Report, ...]
T = TypeVar("T")


def shuffled(items: Sequence[T], *, seed: int, question: str) -> list[T]:
    """The items in an order of chance, the same one each time for a seed and a question.

    >>> sorted(shuffled("abcd", seed=7, question="What is it about?"))
    ['a', 'b', 'c', 'd']
    """
    rng = np.random.default_rng(crc32(f"{seed} {question}".encode()))
    return [items[row] for row in rng.permutation(len(items))]


def packed(reports: Sequence[Report], *, limit_tokens: int, count: Callable[[str], int]) -> list[Pack]:
    """The reports in their order, each in the last pack if it fits there, else in a new one.

    One that is longer than ``limit_tokens`` by itself is cut behind a finding; the first finding always stays.
    ``count``: tokens of a text.
    """
    packs, left = list[list[Report]](), 0
    for report in reports:
        kept, tokens = _cut(report, limit_tokens, count)
        if not packs or tokens > left:
            packs.append([])
            left = limit_tokens
        packs[-1].append(kept)
        left -= tokens
    return [tuple(pack) for pack in packs]


def _cut(report: Report, limit_tokens: int, count: Callable[[str], int]) -> tuple[Report, int]:
    """What of a report fits into an empty pack, and its tokens there."""
    ends = list(accumulate(count(text) + LINE_TOKENS for text in (report.title, *(finding.text for finding in report.findings))))
    fitting = max(bisect_right(ends, limit_tokens) - 1, min(1, len(report.findings)))
    return replace(report, findings=report.findings[:fitting]), ends[fitting]
