"""Composition root: settings -> adapters -> strategy -> EdgeNode. Every part can be given instead, which is what tests do."""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx

from edge_node.answering.answerer import Answerer, ReadLimits
from edge_node.answering.fast_path import FastPath
from edge_node.answering.feedback import FeedbackDesk
from edge_node.answering.gate import Gate, GateLimits
from edge_node.answering.mapping import Mapper
from edge_node.answering.overview import GlobalAnswerer, GlobalLimits
from edge_node.answering.released import ReleasedPassages
from edge_node.answering.sampling import Sampling, SentenceSelector
from edge_node.answering.told_passages import ToldPassages
from edge_node.cloud.client import CloudClient
from edge_node.cloud.link import CloudConnection
from edge_node.cloud.membership import Membership, rejoin
from edge_node.cloud.sync import LinkState, MemoryReplicator, SummaryReplicator
from edge_node.database.replies import ReplyCache
from edge_node.documents.chunking import Cutter
from edge_node.documents.jobs import JobQueue
from edge_node.documents.readers.pool import Reads, ReadsHere
from edge_node.documents.receipts import ReceiptStore
from edge_node.documents.store import DocumentStore
from edge_node.documents.worker import Background, Pace, Worker
from edge_node.egress.ledger import Ledger
from edge_node.egress.memory_outbox import SharedMemories
from edge_node.egress.memory_sharing import MemorySharing
from edge_node.egress.meter import EgressMeter
from edge_node.egress.policy_file import NAME, PolicyFile
from edge_node.egress.sharing import Sharing
from edge_node.graph.store import GraphStore
from edge_node.graph.tools import Tools
from edge_node.maintenance import check_fingerprint, open_store
from edge_node.memory.guards import GuardLimits
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from edge_node.strategies.index import Index
from edge_node.strategies.opening import open_strategy
from shared.limits import Breaker, RetryBudget
from shared.models.embedders import CheckedEmbedder
from shared.ports import Clock, Embedder, Generator, SystemClock, Tokenizer
from shared.records import EdgeId
from shared.reduce import Reducer
from shared.telemetry.correlation import Recorder


@dataclass(frozen=True, slots=True)
class Adapters:
    """The outside world of an edge."""

    generator: Generator
    embedder: Embedder
    tokenizer: Tokenizer
    cloud: httpx.AsyncClient | None  # None: this edge has no cloud
    reads: Reads = ReadsHere()  # noqa: RUF009 - it has no state
    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state
    retries: RetryBudget = field(default_factory=RetryBudget)  # the same as the generator's
    recorder: Recorder | None = None  # None: no spans


def build_node(settings: EdgeSettings, parts: Adapters) -> EdgeNode:
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
    replies, ledger = ReplyCache(parts.generator, database, parts.clock), Ledger(database, parts.clock)
    policy = PolicyFile(settings.policy_file or settings.state_dir / NAME, database, parts.clock)
    policy.open(named=settings.policy_file is not None)
    sharing = Sharing(policy, documents, graph, EgressMeter(ledger, parts.clock))
    tools = Tools(edge, documents, graph, embedder, replies, sharing, parts.tokenizer, settings.index, parts.retries)
    strategy = open_strategy(tools, settings)
    breaker = Breaker(settings.breaker_failures, settings.breaker_s, parts.clock)
    membership = Membership(settings.state_dir, parts.clock)
    client = None
    if parts.cloud is not None:
        membership.identity()  # a key that others can read is found now
        parts.cloud.auth = membership
        client = CloudClient(parts.cloud, edge, ledger, breaker, patience_s=settings.cloud_patience_s)
    fast_path = _memorizer(settings, tools, strategy)
    released = ReleasedPassages(tools, sharing)
    answerer = _answerer(settings, parts, tools, sharing, strategy, fast_path, client, released)
    overview = _overview(settings, parts, tools, sharing, strategy, client, released)
    link = _link(client, membership, tools, sharing, ledger, answerer, overview, parts.recorder) if client else None

    async def tell_cloud() -> None:
        if link is not None:
            link.wake()
            await released.warm()

    cutter = Cutter(parts.reads, parts.tokenizer, settings.chunk_tokens, settings.chunk_overlap)
    queue, receipts, background = JobQueue(database, parts.clock), ReceiptStore(database), Background()
    worker = Worker(queue, receipts, strategy, cutter, _pace(settings), background, retries=parts.retries, on_settled=tell_cloud)
    feedback = FeedbackDesk(edge, strategy.memories, embedder, documents, settings.memory_learn)
    write, read = (documents, queue, receipts, graph, strategy, cutter, worker), (answerer, fast_path, feedback, overview)
    return EdgeNode(settings, *write, *read, link, background, ledger, sharing, breaker, recorder=parts.recorder)


def _answerer(
    settings: EdgeSettings,
    parts: Adapters,
    tools: Tools,
    sharing: Sharing,
    strategy: Index,
    fast_path: FastPath,
    client: CloudClient | None,
    released: ReleasedPassages,
) -> Answerer:
    gate, selector = Gate(parts.generator, tools.embedder, _gate_limits(settings)), SentenceSelector(tools.embedder, parts.tokenizer)
    told = ToldPassages(tools.edge, SharedMemories(tools.graph.database), tools.documents)
    return Answerer(strategy, selector, parts.generator, gate, client, sharing, _read_limits(settings), fast_path, told, released)


def _memorizer(settings: EdgeSettings, tools: Tools, strategy: Index) -> FastPath:
    limits = GuardLimits(settings.memory_threshold, settings.memory_cover)
    fast = "off" if settings.memory == "off" else settings.memory_fast
    return FastPath(tools.edge, strategy.memories, tools.embedder, tools.documents, fast, limits, k=settings.memory_k)


def _overview(
    settings: EdgeSettings,
    parts: Adapters,
    tools: Tools,
    sharing: Sharing,
    strategy: Index,
    client: CloudClient | None,
    released: ReleasedPassages,
) -> GlobalAnswerer:
    tokens, at_once, min_score = settings.partial_tokens, settings.global_at_once, settings.global_min_score
    mapper = Mapper(parts.generator, tools.edge, max_tokens=tokens, at_once=at_once, min_score=min_score)
    reducer = Reducer(parts.generator, parts.tokenizer.count, max_tokens=settings.global_answer_tokens)
    limits = GlobalLimits(
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
    return GlobalAnswerer(tools, sharing, strategy.reports, mapper, reducer, client, limits, released)


def _link(
    client: CloudClient,
    membership: Membership,
    tools: Tools,
    sharing: Sharing,
    ledger: Ledger,
    answerer: Answerer,
    overview: GlobalAnswerer,
    recorder: Recorder | None,
) -> CloudConnection:
    state, memories = LinkState(), MemorySharing.of(sharing, tools.documents, tools.graph)
    sync = SummaryReplicator(client, tools.graph, ledger, sharing, state, membership.cloud_key)
    told = MemoryReplicator(client, memories, tools.graph.database, state)
    serve, points = answerer.evidence, overview.points
    return CloudConnection(client, sync, serve, lambda: rejoin(client, membership), state, points=points, memories=told, recorder=recorder)


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
