"""What is found for every question, without a language model: recall and Coverage (HippoRAG; KET-RAG §6)."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import httpx2

from benchmarks.cluster import Cluster
from benchmarks.metrics.text import covered
from benchmarks.records import Asking, RetrievalRow
from benchmarks.stages import Task, Work, tried
from benchmarks.systems import CENTRAL, Retriever, alone, asked_edges, read
from shared.models.build import build_tokenizer
from shared.ports import Tokenizer

BUDGET_TOKENS = 12_000  # KET-RAG §6
TOP_K = 200  # chunks looked at: as many as the budget holds of the shortest
STAGE = "retrieval"


def retrieval(work: Work, retriever: Retriever, askings: Sequence[Asking]) -> Task:
    """Retrieve for what is left."""
    left = [asking for asking in askings if not work.journal.done(STAGE, _key(work, retriever, asking))]

    async def make(cluster: Cluster) -> None:
        tokenizer = build_tokenizer(work.config.model_settings())
        for done, asking in enumerate(left, start=1):
            key = _key(work, retriever, asking)
            row = await _retrieved(work, retriever, cluster, asking, tokenizer, tries=work.journal.tries(STAGE, key) + 1)
            if row.error:
                work.progress.say(f"{retriever.name}, {asking.question.question_id}: {row.error} ({tried(row.tries)})")
            work.journal.add(STAGE, key, asdict(row))
            work.progress.at(done)

    return Task(retriever.start, f"{work.split.name}: retrieval, {retriever.name}", len(left), make)


def _key(work: Work, retriever: Retriever, asking: Asking) -> str:
    return f"{work.split.name}/{retriever.name}/{asking.question.question_id}"


async def _retrieved(
    work: Work, retriever: Retriever, cluster: Cluster, asking: Asking, tokenizer: Tokenizer, *, tries: int
) -> RetrievalRow:
    started = time.perf_counter()
    said, error = await _found(work, retriever, cluster, asking)
    seconds = time.perf_counter() - started
    evidence = said.get("evidence", ())
    facts = "\n".join([*said.get("facts", ()), *(one["text"] for one in said.get("summaries", ()))])
    question = asking.question
    context = "\n".join([facts, *(item["text"] for item in evidence)])
    return RetrievalRow(
        split=work.split.name,
        system=retriever.name,
        edge="" if retriever.asker == "operator" else asking.edge,
        question_id=question.question_id,
        found=tuple(dict.fromkeys(item["document"] for item in evidence)),
        covered=covered(context, question.references),
        context_tokens=tokenizer.count(context),
        facts_tokens=tokenizer.count(facts),
        seconds=seconds,
        asked_edges=asked_edges(said),
        error=error,
        owners_asked=owners_asked(work.owners(), question.gold, asked_edges(said)) if retriever.mode == "cloud" else None,
        tries=tries,
    )


def owners_asked(owners: Mapping[str, Collection[str]], gold: Sequence[str], asked: Collection[str]) -> float | None:
    """The share of the needed documents of which an owner was asked, whatever it told; None where none is known.

    >>> owners_asked({"d1": ("a", "b"), "d2": ("c",)}, ["d1", "d2"], ["b"])
    0.5
    """
    return sum(not set(asked).isdisjoint(owners[document]) for document in gold) / len(gold) if gold else None


async def _found(work: Work, retriever: Retriever, cluster: Cluster, asking: Asking) -> tuple[Mapping[str, Any], str]:
    """What was said, and the error in one line. An operator has no site: the cloud alone chooses whom it asks."""
    body = {"question": asking.question.text, "budget_tokens": BUDGET_TOKENS, "top_k": TOP_K}
    if retriever.asker == "operator":
        url = f"{cluster.cloud}/v1/evidence"
    else:
        url = f"{cluster.edges[CENTRAL if retriever.start.layout == 'central' else asking.edge]}/v1/retrieve"
        body |= {"mode": retriever.mode}
    try:
        said, error = read(await work.http.post(url, json=body))
    except httpx2.HTTPError as problem:
        return {}, f"{type(problem).__name__}: {problem}"
    return said, error or alone(said)
