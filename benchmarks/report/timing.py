"""Seconds that mean nothing are not shown: those of questions that shared the machine with other questions of the same run."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from benchmarks.report.tables import Row

TIMES = frozenset({"seconds", "ms", "over_slowest"})


def shown(result: Row) -> Row:
    """A result without the seconds of its questions, unless they were asked one after another."""
    if is_timed(result["run"]):
        return result
    answers = [{**row, "metrics": _untimed(row["metrics"])} for row in result["systems"]]
    memory = [{**row, "routes": {name: {**one, "p50_s": None} for name, one in row["routes"].items()}} for row in result.get("memory", ())]
    rows = {name: [_untimed(row) for row in result.get(name, ())] for name in ("routing", "retrieval", "pareto")}
    return {**result, "systems": answers, "components": [], "memory": memory, **rows}


def is_timed(run: Row) -> bool:
    """Whether one question was asked at a time, and by one start of the run after the other: shards run side by side.

    >>> first, second = {"started": "2001-02-03T04:05:06", "seconds": 60}, {"started": "2001-02-03T04:05:36", "seconds": 60}
    >>> is_timed({"config": {"at_once": 4}}), is_timed({"sessions": [first]}), is_timed({"sessions": [second, first]})
    (False, True, False)
    """
    spans = sorted(
        (begun := datetime.fromisoformat(one["started"]), begun + timedelta(seconds=one["seconds"])) for one in run.get("sessions", ())
    )
    alone = all(ended <= begun for (_, ended), (begun, _) in pairwise(spans))
    return alone and (run.get("config", {}).get("at_once") or 1) == 1


def _untimed(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in TIMES}
