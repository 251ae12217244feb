"""What is found for every question, without a language model: recall and Coverage (HippoRAG; KET-RAG §6)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict

import httpx

from benchmarks.cluster import Cluster
from benchmarks.metrics.text import covered
from benchmarks.records import Asking, RetrievalRow
from benchmarks.stages import Task, Work
from benchmarks.systems import CENTRAL, Retriever, read
from shared.models.build import build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import Tokenizer

BUDGET_TOKENS = 12_000  # KET-RAG §6
TOP_K = 200  # chunks looked at: as many as the budget holds of the shortest


def retrieval(work: Work, retriever: Retriever, askings: Sequence[Asking]) -> Task:
    """Retrieve for what is left."""
    left = [asking for asking in askings if not work.journal.done("retrieval", _key(work, retriever, asking))]

    async def make(cluster: Cluster) -> None:
        tokenizer = build_tokenizer(ModelSettings())
        for done, asking in enumerate(left, start=1):
            row = await _retrieved(work, retriever, cluster, asking, tokenizer)
            work.journal.add("retrieval", _key(work, retriever, asking), asdict(row))
            work.progress.at(done)

    return Task(retriever.start, f"{work.split.name}: retrieval, {retriever.name}", len(left), make)


def _key(work: Work, retriever: Retriever, asking: Asking) -> str:
    return f"{work.split.name}/{retriever.name}/{asking.question.question_id}"


async def _retrieved(work: Work, retriever: Retriever, cluster: Cluster, asking: Asking, tokenizer: Tokenizer) -> RetrievalRow:
    url = cluster.edges[CENTRAL if retriever.start.layout == "central" else asking.edge]
    body = {"question": asking.question.text, "budget_tokens": BUDGET_TOKENS, "top_k": TOP_K}
    body |= {"mode": "cloud"} if retriever.mode == "cloud" else {}
    started = time.perf_counter()
    try:
        said, error = read(await work.http.post(f"{url}/v1/retrieve", json=body))
        error = error or (f"the site answered alone: {said.get('reason', '')}" if said.get("degraded") else "")
    except httpx.HTTPError as problem:
        said, error = {}, f"{type(problem).__name__}: {problem}"
    seconds = time.perf_counter() - started
    evidence = said.get("evidence", ())
    context, question = "\n".join(item["text"] for item in evidence), asking.question
    return RetrievalRow(
        split=work.split.name,
        system=retriever.name,
        edge=asking.edge,
        question_id=question.question_id,
        found=tuple(dict.fromkeys(item["document"] for item in evidence)),
        covered=covered(context, question.references),
        context_tokens=tokenizer.count(context),
        seconds=seconds,
        asked_edges=tuple(report["edge"] for report in said.get("edges", ()) if report["status"] != "skipped"),
        error=error,
    )
