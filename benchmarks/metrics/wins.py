"""Win rates of one system over another by the claims of the reference that their answers tell: no order, and no model that judges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import combinations
from typing import Any

from benchmarks.comparing import Groups, pairs
from benchmarks.metrics.bootstrap import bootstrap

CLAIMS = "claims"  # the metric that is compared
CRITERION = "comprehensiveness"  # what of the papers' criteria telling more of the reference is


def wins(grouped: Groups, *, gated: str, seed: int) -> list[dict[str, Any]]:
    """One row for each split, scenario and two systems: the gated one and each other, or where it is not asked each with each.

    The system that tells more claims of an asking's reference wins it (1), equal ones tie (0.5). ``win`` is the mean over askings with its
    interval, ``equal`` the number of ties.
    """
    found = []
    for (split, scenario), system, against in _couples(grouped, gated):
        both = pairs(grouped[split, scenario, system], grouped[split, scenario, against], CLAIMS)
        if both.of:
            scores = [0.5 if more == 0 else float(more > 0) for more in both.differences]
            row = {"split": split, "scenario": scenario, "system": system, "against": against, "criterion": CRITERION}
            found.append({**row, "win": asdict(bootstrap(scores, seed=seed, of=both.of)), "equal": scores.count(0.5)})
    return found


def _couples(grouped: Groups, gated: str) -> Iterator[tuple[tuple[str, str], str, str]]:
    for place in dict.fromkeys((split, scenario) for split, scenario, _ in grouped):
        systems = [system for *where, system in grouped if tuple(where) == place]
        couples = ((gated, other) for other in systems if other != gated) if gated in systems else combinations(systems, 2)
        yield from ((place, *couple) for couple in couples)
