"""Ten edges over UltraDomain files: their summaries, and what each would send for each question. Indexed once, then read from a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edge_node.build import Adapters, build_node
from edge_node.node import EdgeNode
from edge_node.records import Offered, document_id
from edge_node.settings import EdgeSettings
from shared.models.fake import ScriptedGenerator
from shared.ports import Embedder, Tokenizer
from shared.records import EdgeId

EDGES = 10
TOP_K = 10


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of the data is taken: all of it takes a quarter of an hour."""

    chapters: int  # of an edge, at most
    questions: int  # of a chapter, at most


@dataclass(frozen=True, slots=True)
class Federation:
    """What the simulation needs to know of honest edges."""

    summaries: dict[EdgeId, list[str]]
    evidence: dict[EdgeId, dict[str, list[str]]]  # passages by question, best first
    questions: list[tuple[str, EdgeId]]  # with the edge that owns the chapter


@dataclass(frozen=True, slots=True)
class _Chapter:
    name: str
    text: str
    questions: list[str]


async def federation_of(
    data: Path, state: Path, embedder: Embedder, tokenizer: Tokenizer, amount: Amount, *, budget_tokens: int, min_score: float
) -> Federation:
    """Index at the first call, some minutes; later calls read ``state/federation.json``."""
    kept = state / "federation.json"
    if not kept.exists():
        federation = await _indexed(_split(data, amount), state, embedder, tokenizer, budget_tokens=budget_tokens, min_score=min_score)
        draft: dict[str, Any] = {name: getattr(federation, name) for name in Federation.__dataclass_fields__}
        kept.write_text(json.dumps(draft, ensure_ascii=False), encoding="utf-8")
    said = json.loads(kept.read_text(encoding="utf-8"))
    return Federation(said["summaries"], said["evidence"], [(question, EdgeId(owner)) for question, owner in said["questions"]])


def _split(data: Path, amount: Amount) -> dict[EdgeId, list[_Chapter]]:
    """Chapters over ten edges, one domain an edge: one each, and the next to the domain with most chapters at an edge."""
    domains = {path.stem: _chapters(path, questions=amount.questions) for path in sorted(data.glob("*.jsonl"))}
    edges_of = dict.fromkeys(domains, 1)
    for _ in range(EDGES - len(domains)):
        edges_of[max(domains, key=lambda domain: len(domains[domain]) / edges_of[domain])] += 1
    parts: dict[EdgeId, list[_Chapter]] = {}
    for domain, chapters in domains.items():
        edges = edges_of[domain]
        parts |= {EdgeId(f"{domain}-{n}"): chapters[n::edges][: amount.chapters] for n in range(edges)}
    return parts


def _chapters(path: Path, *, questions: int) -> list[_Chapter]:
    found: dict[str, _Chapter] = {}
    for line in path.open(encoding="utf-8"):
        row = json.loads(line)
        chapter = found.setdefault(row["context_id"], _Chapter(row["context_id"], row["context"], []))
        if len(chapter.questions) < questions:
            chapter.questions.append(row["input"])
    return list(found.values())


async def _indexed(
    parts: dict[EdgeId, list[_Chapter]], state: Path, embedder: Embedder, tokenizer: Tokenizer, *, budget_tokens: int, min_score: float
) -> Federation:
    questions = [(question, edge) for edge, chapters in parts.items() for chapter in chapters for question in chapter.questions]
    federation = Federation({}, {}, questions)
    for edge, chapters in parts.items():
        settings = EdgeSettings(id=edge, state_dir=state / edge, share="full")
        node = build_node(settings, Adapters(ScriptedGenerator(lambda _: ""), embedder, tokenizer, None))
        work = asyncio.create_task(node.run())
        try:
            await _add(node, chapters)
            federation.summaries[edge] = [summary.text for summary in node.graph.summaries()]
            federation.evidence[edge] = {question: await _found(node, question, budget_tokens, min_score) for question, _ in questions}
        finally:
            work.cancel()
            await asyncio.wait([work])
            await asyncio.to_thread(node.close)
    return federation


async def _add(node: EdgeNode, chapters: Sequence[_Chapter]) -> None:
    for chapter in chapters:
        raw = chapter.text.encode()
        await node.accept(Offered(document_id(chapter.name, raw), chapter.name, raw, reader="a.txt"))
    await node.worker.news.until(lambda: not node.failed and node.worker.idle and not node.documents.counts()["queued"])


async def _found(node: EdgeNode, question: str, budget_tokens: int, min_score: float) -> list[str]:
    found = await node.strategy.retrieve(question, budget_tokens=budget_tokens, top_k=TOP_K)
    return [item.text for item in found.evidence if item.score >= min_score]
