"""Win rates of one system over another from pairwise judgements (DGRAG Tables I–III), freed of the judge's liking for one place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.metrics.bootstrap import bootstrap
from benchmarks.records import Judgement
from deploy.evaluation.intervals import wilson

FLIPS_AT_MOST = 0.5  # share of pairs whose verdict hangs on the order; above, most of what is won is won by margins that the place makes


def wins(judgements: Sequence[Judgement], *, seed: int) -> list[dict[str, Any]]:
    """One row for each (split, scenario, system, against, criterion), in order of first appearance.

    A pair counts when it was judged in both orders, which are averaged: above 1/2 the system wins (1), below it loses (0), at 1/2 it
    ties (0.5). ``win`` is the mean over pairs with its interval. Of the pairs that the judge was asked about, ``position_bias`` is how much
    more than 1/2 it gave to the answer shown first, in [-0.5, 0.5], and ``flips`` the share whose verdict changed with the order; None
    where it was asked about none. ``equal`` counts the others, whose two answers are one. ``margin``: how much more of the judge's
    probability the system's answers have than the other's, over both orders, in [-1, 1]. ``undecided``: as ``is_undecided`` says.
    """
    groups: dict[tuple[str, ...], list[dict[bool, Judgement]]] = defaultdict(list)
    for pair, orders in _pairs(judgements).items():
        if len(orders) == 2:
            groups[pair[:5]].append(orders)
    return [_row(group, pairs, seed) for group, pairs in groups.items()]


def is_undecided(flips: Mapping[str, float] | None) -> bool:
    """Whether a judge's wins mean nothing: of more than ``FLIPS_AT_MOST`` of the pairs it changed its mind with the order.

    Such a judge likes a place, and what the mean of both orders leaves above 1/2 is noise, however small, that counts as a whole win.

    >>> is_undecided({"mean": 0.6}), is_undecided({"mean": 0.5}), is_undecided(None)
    (True, False, False)
    """
    return flips is not None and flips["mean"] > FLIPS_AT_MOST


def _pairs(judgements: Sequence[Judgement]) -> dict[tuple[str, ...], dict[bool, Judgement]]:
    """Each pair's judgements by whether the system's answer was the first."""
    pairs: dict[tuple[str, ...], dict[bool, Judgement]] = defaultdict(dict)
    for one in judgements:
        key = (one.split, one.scenario, one.system, one.against, one.criterion, one.question_id, one.edge)
        pairs[key][one.first == one.system] = one
    return pairs


def _row(group: tuple[str, ...], pairs: Sequence[dict[bool, Judgement]], seed: int) -> dict[str, Any]:
    margins = [orders[True].p_first - orders[False].p_first for orders in pairs]  # P(system) is 1/2 + margin / 2
    asked = [(orders[True].p_first - 0.5, orders[False].p_first - 0.5) for orders in pairs if not orders[True].tied]
    flips = asdict(wilson([float(one * other > 0) for one, other in asked])) if asked else None  # the same place won twice
    return {
        **dict(zip(("split", "scenario", "system", "against", "criterion"), group, strict=True)),
        "win": asdict(bootstrap([1.0 if margin > 0 else 0.0 if margin < 0 else 0.5 for margin in margins], seed=seed)),
        "margin": asdict(bootstrap(margins, seed=seed)),
        "undecided": is_undecided(flips),
        "position_bias": asdict(bootstrap([(one + other) / 2 for one, other in asked], seed=seed)) if asked else None,
        "flips": flips,
        "equal": len(pairs) - len(asked),
    }
