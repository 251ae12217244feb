"""Composition root: settings -> adapters -> strategy -> EdgeNode. Every part can be given instead, which is what tests do."""

from __future__ import annotations

from dataclasses import dataclass, field

import httpx

from edge_node.answering.answerer import Answerer
from edge_node.answering.copied_facts import CopiedFacts
from edge_node.answering.fast_path import FastPath
from edge_node.answering.feedback import FeedbackDesk
from edge_node.answering.gate import Gate
from edge_node.answering.mapping import Mapper
from edge_node.answering.narrowing import SentenceSelector
from edge_node.answering.other_words import OtherWords
from edge_node.answering.overview import GlobalAnswerer
from edge_node.answering.picking import SentencePicker
from edge_node.answering.released import ReleasedPassages
from edge_node.cloud.client import CloudClient
from edge_node.cloud.link import CloudConnection
from edge_node.cloud.membership import Membership, rejoin
from edge_node.cloud.sync import LedgerReplicator, LinkState, MemoryReplicator, SummaryReplicator
from edge_node.database.backup import Backups
from edge_node.database.replies import ReplyCache
from edge_node.database.schema import Database
from edge_node.documents.chunking import Cutter
from edge_node.documents.jobs import JobQueue
from edge_node.documents.readers.pool import Reads, ReadsHere
from edge_node.documents.receipts import ReceiptStore
from edge_node.documents.store import DocumentStore
from edge_node.documents.worker import Background, Worker
from edge_node.egress.ledger import Ledger
from edge_node.egress.memory_outbox import SharedMemories, ToldPassages
from edge_node.egress.memory_sharing import MemorySharing
from edge_node.egress.meter import EgressMeter
from edge_node.egress.policy_editor import FOLDER, PolicyEditor
from edge_node.egress.policy_file import NAME, PolicyFile
from edge_node.egress.sharing import Sharing
from edge_node.folders.keeper import FolderKeeper
from edge_node.graph.store import GraphStore
from edge_node.graph.tools import Tools
from edge_node.maintenance import check_fingerprint, open_store
from edge_node.memory.same_answer import SURE_SAME
from edge_node.node import EdgeNode, Models
from edge_node.settings import EdgeSettings
from edge_node.strategies.index import Index, open_strategy
from shared.joining import Joiner
from shared.limits import Breaker, RetryBudget
from shared.models.embedders import CheckedEmbedder
from shared.ports import Clock, Embedder, Generator, Reachable, SystemClock, Tokenizer
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
    model_server: Reachable | None = None  # the generator's; None: it has none


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
    policy, policies = _policy(settings, database, parts.clock)
    sharing = Sharing(policy, documents, graph, EgressMeter(ledger, parts.clock), edge)
    tools = Tools(edge, documents, graph, embedder, replies, sharing, parts.tokenizer, settings.index, parts.retries)
    strategy = open_strategy(tools, settings)
    breaker = Breaker(settings.breaker_failures, settings.breaker_s, parts.clock)
    membership = Membership(settings.state_dir, parts.clock)
    client = _client(settings, parts.cloud, membership, ledger, breaker)
    fast_path = FastPath(edge, strategy.memories, embedder, documents, settings, wide=_least_same(settings, parts) is not None)
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
    worker = Worker(queue, receipts, strategy, cutter, settings, background, retries=parts.retries, on_settled=tell_cloud)
    feedback = FeedbackDesk(edge, strategy.memories, embedder, documents, settings.memory_learn)
    backups = Backups(settings.state_dir, parts.clock, min_free_bytes=settings.min_free_bytes)
    models = Models(parts.generator, embedder, parts.model_server)
    write, read = (documents, queue, receipts, graph, strategy, cutter, worker), (answerer, fast_path, feedback, overview)
    folders = FolderKeeper(settings.folders, settings.state_dir, parts.clock, most_bytes=settings.max_document_bytes)
    what, whole = (ledger, sharing, policies, backups), parts.recorder
    return EdgeNode(settings, *write, *read, link, background, *what, breaker, models, folders, recorder=whole)


def _client(
    settings: EdgeSettings, http: httpx.AsyncClient | None, membership: Membership, ledger: Ledger, breaker: Breaker
) -> CloudClient | None:
    if http is None:
        return None
    membership.identity()  # a key that others can read is found now
    http.auth = membership
    return CloudClient(http, EdgeId(settings.id), ledger, breaker, patience_s=settings.cloud_patience_s)


def _policy(settings: EdgeSettings, database: Database, clock: Clock) -> tuple[PolicyFile, PolicyEditor]:
    named = settings.policy_file is not None
    file = PolicyFile(settings.policy_file or settings.state_dir / NAME, database, clock)
    file.open(named=named)
    return file, PolicyEditor(file, settings.state_dir / FOLDER, clock, named=named)


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
    gate, selector = Gate(parts.generator, tools.embedder, settings), SentenceSelector(tools.embedder, parts.tokenizer)
    told = ToldPassages(tools.edge, SharedMemories(tools.graph.database), tools.documents)
    copied = CopiedFacts(selector, parts.generator, least=settings.memory_certainty) if settings.memory_fast == "model" else None
    least = _least_same(settings, parts)
    other_words = None if least is None else OtherWords(fast_path, parts.generator, least=least)
    return Answerer(strategy, selector, parts.generator, gate, client, sharing, settings, fast_path, told, released, copied, other_words)


def _least_same(settings: EdgeSettings, parts: Adapters) -> float | None:
    """How sure the model must be that a learned answer is right for other words too; None: it is not asked."""
    if settings.memory_fast not in ("on", "model") or settings.memory_threshold["learned"] > 1:
        return None
    return SURE_SAME.get(parts.generator.name) if settings.memory_same is None else settings.memory_same


def _overview(
    settings: EdgeSettings,
    parts: Adapters,
    tools: Tools,
    sharing: Sharing,
    strategy: Index,
    client: CloudClient | None,
    released: ReleasedPassages,
) -> GlobalAnswerer:
    generator, count, at_once = parts.generator, parts.tokenizer.count, settings.global_at_once
    mapper = Mapper(generator, tools.edge, max_tokens=settings.partial_tokens, at_once=at_once)
    reducer: Reducer | Joiner = Reducer(generator, count, max_tokens=settings.global_answer_tokens)
    picker = None
    if settings.global_method == "sentences":
        reducer = Joiner(generator, tools.embedder)
        picker = SentencePicker(generator, tools.embedder, at_once=at_once)
    return GlobalAnswerer(tools, sharing, strategy.reports, mapper, reducer, client, settings, released, picker)


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
    replicators = SummaryReplicator(client, tools.graph, sharing, state), MemoryReplicator(client, memories, state)
    heads = LedgerReplicator(client, ledger, tools.graph, memories.told, membership.cloud_key)
    serve, points = answerer.evidence, overview.points
    return CloudConnection(client, replicators, heads, serve, lambda: rejoin(client, membership), state, points=points, recorder=recorder)
