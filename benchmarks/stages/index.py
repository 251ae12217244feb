"""Documents to edges: an indexed state for each layout, made once and shared by all runs on the same split."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from benchmarks.cluster import Cluster
from benchmarks.config import RunConfig, SplitConfig, digest
from benchmarks.datasets.corpus import Corpus, contents
from benchmarks.machine import code
from benchmarks.records import Split
from benchmarks.stages import Work, together
from benchmarks.stages.idle import idle
from benchmarks.stages.reports import PLAIN, Before, Levels, reports_of, writes_reports, written
from benchmarks.systems import CENTRAL, Layout
from shared.models.build import build_tokenizer

POLL_S = 1.0
MARK = "indexed.json"  # in a state's folder: it is whole, and this is what it took


def state_name(config: RunConfig, measured: SplitConfig, corpus: Corpus, split: Split, *, written_by: str) -> str:
    """Names an indexed state by all that it depends on; ``written_by``: the code."""
    environment = config.environment | measured.environment
    made_of = {
        "documents": split.documents,
        "contents": contents(corpus),
        "entities": measured.subgraph_entities[0],
        "environment": environment,
        "model": config.models.generator if writes_with_a_model(environment) else "",
        "written by": written_by,
    }
    return f"{measured.name}-{digest(made_of)}"


def writes_with_a_model(environment: Mapping[str, str]) -> bool:
    """Whether an index made with these settings has a language model's words in it; by default it has none.

    >>> writes_with_a_model({}), writes_with_a_model({"DGRAG_EDGE_REPORTS": "model"})
    (False, True)
    """
    return writes_reports(environment) or writes_when_idle(environment) or float(environment.get("DGRAG_EDGE_EXTRACTION_SHARE") or 0) > 0


def writes_when_idle(environment: Mapping[str, str]) -> bool:
    """Whether the model of an edge with these settings has other work than reports when its documents are indexed.

    >>> writes_when_idle({"DGRAG_EDGE_KET_CORE_READER": "model"}), writes_when_idle({"DGRAG_EDGE_REPORTS": "model"})
    (True, False)
    """
    return any(environment.get(f"DGRAG_EDGE_{name}") == "model" for name in ("SUMMARIES", "DESCRIPTIONS", "KET_CORE_READER", "CLAIMS"))


async def index(work: Work, layout: Layout, environment: Mapping[str, str]) -> None:
    """Index a layout unless that is done, and note what it took.

    Where the model writes reports, the index is there when all of them are: documents are indexed with plain ones first.
    A row is ``reused`` where another run has made the index, and ``resumed`` where a start before had begun it and was killed: then the
    seconds are those since it went on, and less than the whole.
    """
    name, begun = work.states[layout], f"{work.split.name}/{layout}"
    mark = work.fleet.state(name) / MARK
    if not mark.exists():
        resumed = work.fleet.state(name).exists()
        if not work.journal.done("indexing", begun):
            work.journal.add("indexing", begun, {})
        rows = [row | {"resumed": resumed} for row in await _made(work, layout, environment)]
        draft = mark.with_suffix(".tmp")
        draft.write_bytes(orjson.dumps(rows, option=orjson.OPT_INDENT_2))
        draft.replace(mark)
    reused = not work.journal.done("indexing", begun)
    for row in orjson.loads(mark.read_bytes()):
        key = f"{work.split.name}/{layout}/{row['edge']}"
        if not work.journal.done("index", key):
            work.journal.add("index", key, {"split": work.split.name, "layout": layout, **row, "reused": reused})


def seconds_before(rows: Iterable[Mapping[str, Any]]) -> float:
    """Wall seconds of the indexes that earlier runs have made; each edge of a layout has those of all together.

    >>> row = {"split": "s", "layout": "edges", "wall_seconds": 60.0, "reused": True}
    >>> seconds_before([row, row, row | {"layout": "central", "reused": False}])
    60.0
    """
    return sum({(row["split"], row["layout"]): float(row["wall_seconds"]) for row in rows if row["reused"]}.values())


async def _made(work: Work, layout: Layout, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    if not writes_reports({**work.config.environment, **environment}):
        return (await _indexed(work, layout, environment))[0]
    rows, before = await _indexed(work, layout, {**environment, **PLAIN}, looks_at_reports=True)
    cluster = await work.fleet.up(work.states[layout], list(before), environment)
    waited = await idle(work, cluster, "reports")
    told = await _reports(work, cluster)
    await work.fleet.down()
    folders = work.fleet.state(work.states[layout]) / "edges"
    found = [written(row, before[row["edge"]], waited, told[row["edge"]]) for row in rows]
    return [row | {"disk_bytes": disk_bytes(folders / row["edge"])} for row in found]


async def _indexed(
    work: Work, layout: Layout, environment: Mapping[str, str], *, looks_at_reports: bool = False
) -> tuple[list[dict[str, Any]], dict[str, Before]]:
    """A row for each edge, and what each says when its documents are indexed; its reports only where they are looked at."""
    edges = work.edges if layout == "edges" else [CENTRAL]
    workers = {"DGRAG_EDGE_WORKERS": str(max(1, (os.cpu_count() or 1) // len(edges)))}  # one edge alone would leave cores idle
    cluster = await work.fleet.up(work.states[layout], edges, {**environment, **workers})
    started = time.perf_counter()
    total = sum(len(documents) for documents in work.split.documents.values())
    work.progress.begin(f"{work.split.name}: index {layout}", total)
    watching = asyncio.create_task(_watch(work, cluster))
    try:
        await together(work.fleet.add(edge, work.data / f"{edge}.jsonl") for edge in edges)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    if writes_when_idle({**work.config.environment, **environment}):
        await idle(work, cluster, "texts that the model writes")
    seconds = time.perf_counter() - started
    reports = await _reports(work, cluster) if looks_at_reports else {}
    told = {edge: Before(await work.fleet.status(url), reports.get(edge, {})) for edge, url in cluster.edges.items()}
    await work.fleet.down()
    folders = work.fleet.state(work.states[layout]) / "edges"
    return [_row(edge, one.status, seconds, folders / edge) for edge, one in told.items()], told


async def _reports(work: Work, cluster: Cluster) -> dict[str, Levels]:
    tokenizer = build_tokenizer(work.config.model_settings())
    return {edge: await reports_of(work.http, url, tokenizer) for edge, url in cluster.edges.items()}


async def _watch(work: Work, cluster: Cluster) -> None:
    while True:
        told = await asyncio.gather(*(work.fleet.status(url) for url in cluster.edges.values()), return_exceptions=True)
        work.progress.at(sum(status["documents"].get("indexed", 0) for status in told if not isinstance(status, BaseException)))
        await asyncio.sleep(POLL_S)


def _row(edge: str, status: Mapping[str, Any], wall_seconds: float, folder: Path) -> dict[str, Any]:
    return {
        "edge": edge,
        "documents": status["documents"].get("indexed", 0),
        **{name: status[name] for name in ("chunks", "tokens", "entities", "relations", "subgraphs", "summaries")},
        "seconds": status["busy_s"],  # the edges of a cluster share the machine's cores
        "wall_seconds": round(wall_seconds, 1),  # of all edges together
        "model_calls": status["model_calls"],
        "model_tokens": status["tokens_in"] + status["tokens_out"],
        "disk_bytes": disk_bytes(folder),
        "commit": code()["commit"],
    }


def disk_bytes(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
