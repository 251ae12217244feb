"""Composition root: settings -> adapters -> strategy -> EdgeNode. Every part can be given instead, which is what tests do."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from edge_node.answer.answerer import Answerer, ReadLimits
from edge_node.answer.focus import Focus
from edge_node.answer.gate import Gate, GateLimits
from edge_node.answer.samples import Sampling
from edge_node.ingest.worker import Chunking, Worker
from edge_node.link.cloud_client import CloudClient
from edge_node.link.cloud_link import CloudLink
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from edge_node.store.database import Database
from edge_node.store.documents import DocumentStore
from edge_node.store.graph import GraphStore
from edge_node.store.replies import RememberingGenerator
from edge_node.strategies import open_strategy
from edge_node.strategies.base import Tools
from shared.clock import SystemClock
from shared.errors import StoreError
from shared.ports import Clock, Embedder, Generator, Tokenizer
from shared.records import EdgeId


@dataclass(frozen=True, slots=True)
class Parts:
    """The outside world of an edge."""

    generator: Generator
    embedder: Embedder
    tokenizer: Tokenizer
    cloud: httpx.AsyncClient | None  # None: this edge has no cloud
    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state


def build_node(settings: EdgeSettings, parts: Parts) -> EdgeNode:
    """Put an edge together. Raises StoreError when its store was made with another embedding model."""
    database = Database(settings.state_dir / "edge.db")
    check_fingerprint(database, parts.embedder.fingerprint)
    edge = EdgeId(settings.id)
    documents, graph = DocumentStore(database, parts.clock), GraphStore(database)
    remembering = RememberingGenerator(parts.generator, database, parts.clock)
    strategy = open_strategy(settings.strategy, Tools(edge, documents, graph, parts.embedder, remembering, settings.index), settings)
    client = CloudClient(parts.cloud, edge) if parts.cloud is not None else None
    gate = Gate(
        parts.generator,
        parts.embedder,
        GateLimits(settings.min_nearness, settings.max_refusals, settings.min_sufficiency, settings.min_similarity),
    )
    answerer = Answerer(strategy, Focus(parts.embedder, parts.tokenizer), parts.generator, gate, client, _read_limits(settings))
    link = CloudLink(client, graph, answerer.evidence) if client else None

    async def tell_cloud() -> None:
        if link is not None:
            link.wake()

    chunking = Chunking(settings.chunk_tokens, settings.chunk_overlap)
    worker = Worker(documents, strategy, parts.tokenizer, chunking, settle_every=settings.settle_every, on_settled=tell_cloud)
    return EdgeNode(settings, documents, graph, strategy, worker, answerer, link)


def _read_limits(settings: EdgeSettings) -> ReadLimits:
    sampling = Sampling(settings.samples, settings.sample_tokens, settings.temperature, settings.seed)
    return ReadLimits(
        settings.candidate_tokens, settings.context_tokens, settings.top_k, sampling, settings.answer_deadline_s, settings.cloud_deadline_s
    )


def check_fingerprint(database: Database, fingerprint: str) -> None:
    """One store, one embedding space: remember it at first, refuse another later."""
    known = database.meta("embedder")
    if known and known != fingerprint:
        raise StoreError(
            f"this store was made with the embedding model {known}, not with {fingerprint}",
            next_step="start with the former model, or index the documents again into a new state folder",
        )
    if not known:
        database.set_meta("embedder", fingerprint)
