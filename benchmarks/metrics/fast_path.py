"""What memories answered of a system's questions, and how well, beside what went to a model (FD-RAG §5.3, Table 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.comparing import Row, by
from benchmarks.metrics.bootstrap import bootstrap
from deploy.evaluation.intervals import wilson

FAST = "memory"  # the route of an answer that needed no model
LOOK = "remember"  # the step of a trace that asks memories
SHARES = ("accuracy", "em")


def fast_path(scored: Sequence[Row], *, seed: int) -> list[dict[str, Any]]:
    """Rows of "memory" in a result, by split and system; of systems that looked at memories, or were told by one elsewhere.

    ``scored`` have their ``values``. Coverage is over all questions that came back; quality over those with a known answer.
    """
    groups = by([row for row in scored if not row["error"]], "split", "system")
    looked = {place: rows for place, rows in groups.items() if any(_looked(row) for row in rows)}
    return [{"split": split, "system": system, **_told(rows, seed)} for (split, system), rows in looked.items()]


def _told(rows: Sequence[Row], seed: int) -> dict[str, Any]:
    fast = [row for row in rows if row["route"] == FAST]
    slow = [row for row in rows if row["route"] != FAST]
    asked = [row["question_id"] for row in rows]
    return {
        "coverage": asdict(wilson([float(row["route"] == FAST) for row in rows], of=asked)),
        "calls": asdict(bootstrap([row["values"]["calls"] for row in rows], seed=seed, of=asked)),
        "fast": _quality(fast, seed),
        "slow": _quality(slow, seed),
        "routes": {route: latency([row["seconds"] for row in group]) for (route,), group in by(rows, "route").items()},
        "kinds": dict(Counter(_kind(row) for row in fast)),
        "why_not": dict(Counter(_why_not(row) for row in slow).most_common()),
    }


def _looked(row: Row) -> bool:
    return row["route"] == FAST or bool(row.get("memory")) or any(step["step"] == LOOK for step in row["steps"])


def _quality(rows: Sequence[Row], seed: int) -> dict[str, Any]:
    """Shares of right answers with Wilson's interval, and F1 with the bootstrap's; {} where no answer is known."""
    known = [row for row in rows if "accuracy" in row["values"]]
    if not known:
        return {}
    of = [row["question_id"] for row in known]
    shares = {name: asdict(wilson([row["values"][name] for row in known], of=of)) for name in SHARES}
    return shares | {"f1": asdict(bootstrap([row["values"]["f1"] for row in known], seed=seed, of=of))}


def latency(seconds: Sequence[float]) -> dict[str, float]:
    """Wall seconds of one route.

    >>> latency([0.01, 0.02, 0.09])
    {'n': 3, 'p50_s': 0.02, 'p95_s': 0.083}
    """
    return {"n": len(seconds), "p50_s": round(float(np.median(seconds)), 4), "p95_s": round(float(np.quantile(seconds, 0.95)), 4)}


def _kind(row: Row) -> str:
    """The kind of memory that answered; of another site's only that is known, and that the nearest one at home did not."""
    report: Mapping[str, Any] | None = row.get("memory")
    return str(report["kind"]) if report and not report["why_not"] else "another site's"


def _why_not(row: Row) -> str:
    report: Mapping[str, Any] | None = row.get("memory")
    return str(report["why_not"]) if report else "nothing like it is remembered"
