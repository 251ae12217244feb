"""What an always-slow system wrote down of each question: the model's answer, and beside it what the nearest memory would have said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deploy.evaluation.text import accuracy
from edge_node.answering.fast_path import SHADOW

SLOW = "fdrag-slow"  # the system, with whatever stands behind its colon
LOOKED_UP = "remember"  # the step of a trace


@dataclass(frozen=True, slots=True)
class Looked:
    """One question, answered both ways. Right: the words of an accepted answer stand in the answer."""

    question_id: str
    kind: str  # of the nearest memory; "": there is none
    score: float  # -1 where there is none
    passes: bool  # every guard but the threshold
    right: bool  # the memory
    right_slow: bool  # the model
    calls: float  # of the model
    seconds: float  # that the look-up took
    seconds_slow: float


def looked(rows: Iterable[Mapping[str, Any]]) -> Iterator[Looked]:
    """Those answers of a journal that were looked at so; not those that failed, or of which no answer is known."""
    for row in rows:
        report = row.get("memory")
        if row["system"].partition(":")[0] != SLOW or row["error"] or not row["references"]:
            continue
        if report and report["threshold"] > 0:  # its guards were not asked below that
            continue
        steps = row["steps"]
        yield Looked(
            question_id=row["question_id"],
            kind=report["kind"] if report else "",
            score=report["score"] if report else -1.0,
            passes=report is not None and report["why_not"] in ("", SHADOW),
            right=bool(report and accuracy(report["answer"], row["references"])),
            right_slow=bool(accuracy(row["answer"], row["references"])),
            calls=float(sum(step["calls"] for step in steps)),
            seconds=sum(step["ms"] for step in steps if step["step"] == LOOKED_UP) / 1000,
            seconds_slow=float(row["seconds"]),
        )
