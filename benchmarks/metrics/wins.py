"""Win rates of one system over another from pairwise judgements (DGRAG Tables I–III), freed of the judge's liking for one place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from benchmarks.metrics.bootstrap import bootstrap
from benchmarks.records import Judgement


def wins(judgements: Sequence[Judgement], *, seed: int) -> list[dict[str, Any]]:
    """One row for each (split, scenario, system, against, criterion), in order of first appearance.

    A pair counts when it was judged in both orders, which are averaged: above 1/2 the system wins (1), below it loses (0), at 1/2 it
    ties (0.5). ``win`` is the mean over pairs with its interval, ``position_bias`` how much more than 1/2 the judge gave to the answer
    shown first, in [-0.5, 0.5], ``flips`` the share of pairs whose verdict changed with the order.
    """
    groups: dict[tuple[str, ...], list[dict[bool, float]]] = defaultdict(list)
    for pair, orders in _pairs(judgements).items():
        if len(orders) == 2:
            groups[pair[:5]].append(orders)
    return [_row(group, pairs, seed) for group, pairs in groups.items()]


def _pairs(judgements: Sequence[Judgement]) -> dict[tuple[str, ...], dict[bool, float]]:
    """Each pair's ``p_first`` by whether the system's answer was the first."""
    pairs: dict[tuple[str, ...], dict[bool, float]] = defaultdict(dict)
    for one in judgements:
        key = (one.split, one.scenario, one.system, one.against, one.criterion, one.question_id, one.edge)
        pairs[key][one.first == one.system] = one.p_first
    return pairs


def _row(group: tuple[str, ...], pairs: Sequence[dict[bool, float]], seed: int) -> dict[str, Any]:
    margins = [orders[True] - orders[False] for orders in pairs]  # P(system) is 1/2 + margin / 2
    return {
        **dict(zip(("split", "scenario", "system", "against", "criterion"), group, strict=True)),
        "win": asdict(bootstrap([1.0 if margin > 0 else 0.0 if margin < 0 else 0.5 for margin in margins], seed=seed)),
        "position_bias": fmean(p - 0.5 for orders in pairs for p in orders.values()),
        "flips": fmean((orders[True] - 0.5) * (orders[False] - 0.5) > 0 for orders in pairs),  # the same place won twice
    }
