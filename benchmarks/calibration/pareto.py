"""What every threshold of the fast path would have done, from questions that were answered both ways (FD-RAG §5.3). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.calibration.looked import Looked
from benchmarks.metrics.bootstrap import bootstrap
from deploy.evaluation.intervals import Estimate, wilson

GRID = (0.0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.84, 0.88, 0.9, 0.92, 0.94, 0.96, 0.98, 1.0)


@dataclass(frozen=True, slots=True)
class Point:
    """One way to choose between memory and model, over all questions."""

    name: str  # "guarded", "unguarded"; "slow": always the model; "memory": never; "oracle": the memory where it is right
    threshold: float | None
    coverage: Estimate  # share that a memory answers
    fast_accuracy: Estimate | None  # of those; None: there are none
    accuracy: Estimate
    calls: Estimate  # of a model, a question
    seconds: Estimate


def swept(rows: Sequence[Looked], *, seed: int, grid: Sequence[float] = GRID) -> list[Point]:
    """Each threshold with and without the other guards, then the extremes; [] without questions."""
    if not rows:
        return []
    points = [_point("guarded", least, rows, [row.passes and row.score >= least for row in rows], seed) for least in grid]
    points += [_point("unguarded", least, rows, [row.score >= least for row in rows], seed) for least in grid]
    extremes = {"slow": [False] * len(rows), "memory": [True] * len(rows), "oracle": [row.right for row in rows]}
    return points + [_point(name, None, rows, fast, seed) for name, fast in extremes.items()]


def _point(name: str, threshold: float | None, rows: Sequence[Looked], fast: Sequence[bool], seed: int) -> Point:
    of = [row.question_id for row in rows]
    taken = [row for row, chosen in zip(rows, fast, strict=True) if chosen]
    right = [float(row.right if chosen else row.right_slow) for row, chosen in zip(rows, fast, strict=True)]
    calls = [0.0 if chosen else row.calls for row, chosen in zip(rows, fast, strict=True)]
    seconds = [row.seconds if chosen else row.seconds_slow for row, chosen in zip(rows, fast, strict=True)]
    return Point(
        name,
        threshold,
        wilson([float(chosen) for chosen in fast], of=of),
        wilson([float(row.right) for row in taken], of=[row.question_id for row in taken]) if taken else None,
        wilson(right, of=of),
        bootstrap(calls, seed=seed, of=of),
        bootstrap(seconds, seed=seed, of=of),
    )
