"""Composition root: settings -> adapters -> strategy -> EdgeNode. Every part can be given instead, which is what tests do."""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx

from edge_node.answer.answerer import Answerer, ReadLimits
from edge_node.answer.focus import Focus
from edge_node.answer.gate import Gate, GateLimits
from edge_node.answer.samples import Sampling
from edge_node.background import Background
from edge_node.ingest.cutting import Cutter
from edge_node.ingest.worker import Pace, Worker
from edge_node.link.cloud_client import CloudClient
from edge_node.link.cloud_link import CloudLink
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from edge_node.store.documents import DocumentStore
from edge_node.store.graph import GraphStore
from edge_node.store.jobs import JobQueue
from edge_node.store.mend import open_store
from edge_node.store.receipts import ReceiptStore
from edge_node.store.reembed import check_fingerprint
from edge_node.store.replies import RememberingGenerator
from edge_node.strategies import open_strategy
from edge_node.strategies.base import Tools
from shared.clock import SystemClock
from shared.models.checked_embedder import CheckedEmbedder
from shared.ports import Clock, Embedder, Generator, Tokenizer
from shared.records import EdgeId
from shared.retry_budget import RetryBudget


@dataclass(frozen=True, slots=True)
class Parts:
    """The outside world of an edge."""

    generator: Generator
    embedder: Embedder
    tokenizer: Tokenizer
    cloud: httpx.AsyncClient | None  # None: this edge has no cloud
    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state
    retries: RetryBudget = field(default_factory=RetryBudget)  # the same as the generator's


def build_node(settings: EdgeSettings, parts: Parts) -> EdgeNode:
    """Put an edge together. Raises StoreDamaged as ``open_store``, StoreError when its store was made with another embedding model."""
    embedder = CheckedEmbedder(parts.embedder)
    database = open_store(settings.state_dir / "edge.db", parts.clock)
    try:
        check_fingerprint(database, embedder.fingerprint)
    except BaseException:
        database.close()
        raise
    edge = EdgeId(settings.id)
    documents, graph = DocumentStore(database, parts.clock), GraphStore(database)
    remembering = RememberingGenerator(parts.generator, database, parts.clock)
    tools = Tools(edge, documents, graph, embedder, remembering, settings.index, parts.retries)
    strategy = open_strategy(settings.strategy, tools, settings)
    client = CloudClient(parts.cloud, edge) if parts.cloud is not None else None
    gate = Gate(
        parts.generator,
        embedder,
        GateLimits(settings.min_nearness, settings.max_refusals, settings.min_sufficiency, settings.min_similarity),
    )
    answerer = Answerer(strategy, Focus(embedder, parts.tokenizer), parts.generator, gate, client, _read_limits(settings))
    link = CloudLink(client, graph, answerer.evidence) if client else None

    async def tell_cloud() -> None:
        if link is not None:
            link.wake()

    cutter = Cutter(parts.tokenizer, settings.chunk_tokens, settings.chunk_overlap)
    queue, receipts, background = JobQueue(database, parts.clock), ReceiptStore(database), Background()
    worker = Worker(queue, receipts, strategy, cutter, _pace(settings), background, retries=parts.retries, on_settled=tell_cloud)
    return EdgeNode(settings, documents, queue, receipts, graph, strategy, cutter, worker, answerer, link, background)


def _pace(settings: EdgeSettings) -> Pace:
    share = settings.extraction_share if settings.strategy == "dgrag" else 0.0
    return Pace(settings.workers, settings.settle_every, share, settings.gleanings)


def _read_limits(settings: EdgeSettings) -> ReadLimits:
    sampling = Sampling(settings.samples, settings.sample_tokens, settings.temperature, settings.seed)
    return ReadLimits(
        settings.candidate_tokens, settings.context_tokens, settings.top_k, sampling, settings.answer_deadline_s, settings.cloud_deadline_s
    )
