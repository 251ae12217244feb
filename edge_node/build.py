"""Composition root: settings -> adapters -> strategy -> EdgeNode. Every part can be given instead, which is what tests do."""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx

from edge_node.answer.answerer import Answerer, ReadLimits
from edge_node.answer.focus import Focus
from edge_node.answer.gate import Gate, GateLimits
from edge_node.answer.mapping import Mapper
from edge_node.answer.memorizer import Memorizer
from edge_node.answer.overview import Overview, OverviewLimits
from edge_node.answer.released import ReleasedPassages
from edge_node.answer.samples import Sampling
from edge_node.answer.verdicts import Verdicts
from edge_node.background import Background
from edge_node.ingest.cutting import Cutter
from edge_node.ingest.readers.pool import Reads, ReadsHere
from edge_node.ingest.worker import Pace, Worker
from edge_node.link.cloud_client import CloudClient
from edge_node.link.cloud_link import CloudLink
from edge_node.link.joining import rejoin
from edge_node.link.membership import Membership
from edge_node.link.memory_sync import MemorySync
from edge_node.link.sync import LinkState, Sync
from edge_node.link.told_passages import ToldPassages
from edge_node.memory.guards import Limits
from edge_node.node import EdgeNode
from edge_node.policy.file import NAME, PolicyFile
from edge_node.policy.memory_sharing import MemorySharing
from edge_node.policy.meter import Meter
from edge_node.policy.sharing import Sharing
from edge_node.settings import EdgeSettings
from edge_node.store.documents import DocumentStore
from edge_node.store.graph import GraphStore
from edge_node.store.jobs import JobQueue
from edge_node.store.ledger import Ledger
from edge_node.store.mend import open_store
from edge_node.store.receipts import ReceiptStore
from edge_node.store.reembed import check_fingerprint
from edge_node.store.replies import RememberingGenerator
from edge_node.store.shared_memories import SharedMemories
from edge_node.strategies.base import IndexStrategy, Tools
from edge_node.strategies.opening import open_strategy
from shared.breaker import Breaker
from shared.clock import SystemClock
from shared.correlation import Recorder
from shared.models.checked_embedder import CheckedEmbedder
from shared.ports import Clock, Embedder, Generator, Tokenizer
from shared.records import EdgeId
from shared.reducer import Reducer
from shared.retry_budget import RetryBudget


@dataclass(frozen=True, slots=True)
class Parts:
    """The outside world of an edge."""

    generator: Generator
    embedder: Embedder
    tokenizer: Tokenizer
    cloud: httpx.AsyncClient | None  # None: this edge has no cloud
    reads: Reads = ReadsHere()  # noqa: RUF009 - it has no state
    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state
    retries: RetryBudget = field(default_factory=RetryBudget)  # the same as the generator's
    recorder: Recorder | None = None  # None: no spans


def build_node(settings: EdgeSettings, parts: Parts) -> EdgeNode:
    """Put an edge together.

    Raises StoreDamaged as ``open_store``, StoreError when its store was made with another embedding model, SettingsError as ``Membership``.
    """
    embedder = CheckedEmbedder(parts.embedder)
    database = open_store(settings.state_dir / "edge.db", parts.clock)
    try:
        check_fingerprint(database, embedder.fingerprint)
    except BaseException:
        database.close()
        raise
    edge = EdgeId(settings.id)
    documents, graph = DocumentStore(database, parts.clock), GraphStore(database)
    remembering, ledger = RememberingGenerator(parts.generator, database, parts.clock), Ledger(database, parts.clock)
    policy = PolicyFile(settings.policy_file or settings.state_dir / NAME, database, parts.clock)
    policy.open(named=settings.policy_file is not None)
    sharing = Sharing(policy, documents, graph, Meter(ledger, parts.clock))
    tools = Tools(edge, documents, graph, embedder, remembering, sharing, parts.tokenizer, settings.index, parts.retries)
    strategy = open_strategy(tools, settings)
    breaker = Breaker(settings.breaker_failures, settings.breaker_s, parts.clock)
    membership = Membership(settings.state_dir, parts.clock)
    client = None
    if parts.cloud is not None:
        membership.identity()  # a key that others can read is found now
        parts.cloud.auth = membership
        client = CloudClient(parts.cloud, edge, ledger, breaker, patience_s=settings.cloud_patience_s)
    memorizer = _memorizer(settings, tools, strategy)
    released = ReleasedPassages(tools)
    answerer = _answerer(settings, parts, tools, strategy, memorizer, client, released)
    overview = _overview(settings, parts, tools, strategy, client, released)
    link = _link(client, membership, tools, ledger, answerer, overview, parts.recorder) if client else None

    async def tell_cloud() -> None:
        if link is not None:
            link.wake()
            await released.warm()

    cutter = Cutter(parts.reads, parts.tokenizer, settings.chunk_tokens, settings.chunk_overlap)
    queue, receipts, background = JobQueue(database, parts.clock), ReceiptStore(database), Background()
    worker = Worker(queue, receipts, strategy, cutter, _pace(settings), background, retries=parts.retries, on_settled=tell_cloud)
    verdicts = Verdicts(edge, strategy, embedder, documents, settings.memory_learn)
    write, read = (documents, queue, receipts, graph, strategy, cutter, worker), (answerer, memorizer, verdicts, overview)
    return EdgeNode(settings, *write, *read, link, background, ledger, sharing, breaker, recorder=parts.recorder)


def _answerer(
    settings: EdgeSettings,
    parts: Parts,
    tools: Tools,
    strategy: IndexStrategy,
    memorizer: Memorizer,
    client: CloudClient | None,
    released: ReleasedPassages,
) -> Answerer:
    gate, focus = Gate(parts.generator, tools.embedder, _gate_limits(settings)), Focus(tools.embedder, parts.tokenizer)
    told = ToldPassages(tools.edge, SharedMemories(tools.graph.database), tools.documents)
    return Answerer(strategy, focus, parts.generator, gate, client, tools.sharing, _read_limits(settings), memorizer, told, released)


def _memorizer(settings: EdgeSettings, tools: Tools, strategy: IndexStrategy) -> Memorizer:
    limits = Limits(settings.memory_threshold, settings.memory_cover)
    fast = "off" if settings.memory == "off" else settings.memory_fast
    return Memorizer(tools.edge, strategy, tools.embedder, tools.documents, fast, limits, k=settings.memory_k)


def _overview(
    settings: EdgeSettings, parts: Parts, tools: Tools, strategy: IndexStrategy, client: CloudClient | None, released: ReleasedPassages
) -> Overview:
    tokens, at_once, min_score = settings.partial_tokens, settings.global_at_once, settings.global_min_score
    mapper = Mapper(parts.generator, tools.edge, max_tokens=tokens, at_once=at_once, min_score=min_score)
    reducer = Reducer(parts.generator, parts.tokenizer.count, max_tokens=settings.global_answer_tokens)
    limits = OverviewLimits(
        level=settings.global_level,
        read_tokens=settings.global_read_tokens,
        floor=settings.global_floor,
        nearness=settings.global_nearness,
        context_tokens=settings.global_context_tokens,
        reduce_tokens=settings.global_reduce_tokens,
        findings=settings.report_findings,
        deadline_s=settings.global_deadline_s,
        seed=settings.seed,
    )
    return Overview(tools, strategy, mapper, reducer, client, limits, released)


def _link(
    client: CloudClient,
    membership: Membership,
    tools: Tools,
    ledger: Ledger,
    answerer: Answerer,
    overview: Overview,
    recorder: Recorder | None,
) -> CloudLink:
    state, memories = LinkState(), MemorySharing.of(tools.sharing, tools.documents, tools.graph)
    sync = Sync(client, tools.graph, ledger, tools.sharing, state, membership.cloud_key)
    told = MemorySync(client, memories, tools.graph.database, state)
    serve, points = answerer.evidence, overview.points
    return CloudLink(client, sync, serve, lambda: rejoin(client, membership), state, points=points, memories=told, recorder=recorder)


def _pace(settings: EdgeSettings) -> Pace:
    return Pace(settings.workers, settings.settle_every, settings.model_share, settings.gleanings)


def _gate_limits(settings: EdgeSettings) -> GateLimits:
    return GateLimits(settings.min_nearness, settings.max_unknown, settings.max_refusals, settings.min_sufficiency, settings.min_similarity)


def _read_limits(settings: EdgeSettings) -> ReadLimits:
    sampling = Sampling(settings.samples, settings.sample_tokens, settings.temperature, settings.seed)
    return ReadLimits(
        settings.candidate_tokens,
        settings.context_tokens,
        settings.top_k,
        sampling,
        settings.answer_deadline_s,
        settings.cloud_deadline_s,
        least=settings.evidence_threshold,
        least_whole=settings.reader_threshold,
        most_whole=settings.reader_passages,
    )
