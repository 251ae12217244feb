"""Reports that the model writes about communities: an index waits for them, and notes how long they are (GraphRAG §2.5, §3.6, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from benchmarks.errors import BenchmarkError
from benchmarks.stages.idle import Waited
from benchmarks.systems import read
from shared.ports import Tokenizer

REPORTS = "DGRAG_EDGE_REPORTS"
PLAIN = {REPORTS: "extractive"}  # sentences of the documents: what a report is while the model has not written it
LEVELS = (0, 1, 2)  # that a model writes by default; on 3 the reports are plain
PAGE = 1000  # communities
USAGE = {"writing_calls": "model_calls", "writing_tokens_in": "tokens_in", "writing_tokens_out": "tokens_out"}  # of a row: of a status


@dataclass(frozen=True, slots=True)
class Told:
    """One report. ``tokens``: as a question's map step reads it, the title and a line for each finding."""

    by_model: bool
    tokens: int


Levels = Mapping[int, Sequence[Told]]  # by level


@dataclass(frozen=True, slots=True)
class Before:
    """An edge before its model writes: its status, and its plain reports."""

    status: Mapping[str, Any]
    reports: Levels


def writes_reports(environment: Mapping[str, str]) -> bool:
    """Whether the model of an edge with these settings writes reports.

    >>> writes_reports({}), writes_reports({"DGRAG_EDGE_REPORTS": "model"})
    (False, True)
    """
    return environment.get(REPORTS) == "model"


async def reports_of(http: httpx2.AsyncClient, url: str, tokenizer: Tokenizer) -> Levels:
    """The reports of an edge on each of ``LEVELS``; one of a community that is not divided stands on several. Raises BenchmarkError."""
    known, found = dict[str, Told](), dict[int, list[Told]]()
    for level in LEVELS:
        ids = await _communities(http, url, level)
        for one in ids:
            if one not in known:
                known[one] = _told(await _got(http, f"{url}/v1/reports/{one}"), tokenizer)
        found[level] = [known[one] for one in ids]
    return found


async def _communities(http: httpx2.AsyncClient, url: str, level: int) -> list[str]:
    ids, after = list[str](), ""
    while True:
        said = await _got(http, f"{url}/v1/communities?level={level}&limit={PAGE}&after={after}")
        ids += [one["community_id"] for one in said["communities"]]
        if not (after := said["next"] or ""):
            return ids


async def _got(http: httpx2.AsyncClient, url: str) -> Mapping[str, Any]:
    said, error = read(await http.get(url))
    if error:
        raise BenchmarkError(f"an edge does not tell its reports: {error}", next_step="read its log; the same command goes on")
    return said


def _told(report: Mapping[str, Any], tokenizer: Tokenizer) -> Told:
    return Told(report["by_model"], tokenizer.count(report["title"]) + sum(tokenizer.count(one["text"]) for one in report["findings"]))


def written(row: Mapping[str, Any], before: Before, waited: Waited, now: Levels) -> dict[str, Any]:
    """An index's row when the model has written its edge's reports: what that took, and how long they are beside the plain ones.

    ``wall_seconds``, ``model_calls`` and ``model_tokens`` are then with the writing, whose seconds are those of all edges together.
    """
    status = waited.told[row["edge"]]
    took = {name: status[field] - before.status[field] for name, field in USAGE.items()}
    return {
        **row,
        "wall_seconds": round(row["wall_seconds"] + waited.seconds, 1),
        "model_calls": status["model_calls"],
        "model_tokens": status["tokens_in"] + status["tokens_out"],
        "writing_seconds": waited.seconds,
        **took,
        "reports": on_levels(before.reports, now),
    }


def on_levels(plain: Levels, now: Levels) -> list[dict[str, Any]]:
    """A row of Table 3 a level: communities, and tokens of all reports: the plain ones, those there are ``now``, and the model's of these.

    >>> on_levels({0: [Told(False, 80), Told(False, 60)]}, {0: [Told(True, 200), Told(False, 60)]})
    [{'level': 0, 'communities': 2, 'tokens_plain': 140, 'tokens': 260, 'by_model': 1, 'tokens_by_model': 200}]
    """
    return [
        {
            "level": level,
            "communities": len(found),
            "tokens_plain": sum(one.tokens for one in plain[level]),
            "tokens": sum(one.tokens for one in found),
            "by_model": sum(one.by_model for one in found),
            "tokens_by_model": sum(one.tokens for one in found if one.by_model),
        }
        for level, found in now.items()
    ]
