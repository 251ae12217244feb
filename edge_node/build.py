"""Composition root: settings -> adapters -> strategy -> EdgeNode. Every part can be given instead, which is what tests do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx2

from edge_node.answering.answerer import Answerer
from edge_node.answering.copied_facts import CopiedFacts
from edge_node.answering.fast_path import FastPath
from edge_node.answering.feedback import FeedbackDesk
from edge_node.answering.for_others import EvidenceForOthers
from edge_node.answering.gate import Gate
from edge_node.answering.mapping import Mapper
from edge_node.answering.narrowing import SentenceSelector
from edge_node.answering.other_words import OtherWords
from edge_node.answering.overview import GlobalAnswerer
from edge_node.answering.picking import SentencePicker
from edge_node.answering.released import ReleasedPassages
from edge_node.answering.search import Search
from edge_node.calibration.service import Calibration, Serving
from edge_node.change import EmbedderChange, Embedders, Former, embedders_of
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
from edge_node.maintenance import open_store
from edge_node.node import EdgeNode
from edge_node.plugins.tables.stage import TableStage
from edge_node.plugins.tables.store import TableStore
from edge_node.renewal import Models, Renewal, Searching
from edge_node.settings import EdgeSettings
from edge_node.strategies.index import Index, open_strategy
from shared.joining import Joiner
from shared.limits import Breaker, RetryBudget
from shared.models.catalogue import certainties_of, cosines_of
from shared.models.embedders import CheckedEmbedder
from shared.models.fingerprint import Measured
from shared.ports import Clock, Embedder, Generator, Reachable, SystemClock, Tokenizer
from shared.records import EdgeId
from shared.reduce import Reducer
from shared.telemetry.correlation import Recorder

OFF: dict[str, Any] = {"min_nearness": -1.0, "memory_fast": "off"}  # what is so where an embedder's own thresholds are unknown


@dataclass(frozen=True, slots=True)
class Adapters:
    """The outside world of an edge."""

    generator: Generator
    embedder: Embedder
    tokenizer: Tokenizer
    cloud: httpx2.AsyncClient | None  # None: this edge has no cloud
    reads: Reads = ReadsHere()  # noqa: RUF009 - it has no state
    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state
    retries: RetryBudget = field(default_factory=RetryBudget)  # the same as the generator's
    recorder: Recorder | None = None  # None: no spans
    model_server: Reachable | None = None  # the generator's; None: it has none
    made_by: str = ""  # how the embedder is loaded, as ``former`` reads it
    former: Former | None = None  # a former embedder; None: a store of another one is refused


@dataclass(slots=True)
class _Edge:
    """What stays as it is when another embedding model takes over."""

    settings: EdgeSettings
    parts: Adapters
    documents: DocumentStore
    sharing: Sharing
    client: CloudClient | None
    background: Background
    cutter: Cutter
    queue: JobQueue
    receipts: ReceiptStore
    link: CloudConnection | None = None


def build_node(settings: EdgeSettings, parts: Adapters) -> EdgeNode:
    """Put an edge together. Where its store was made with another embedding model, that one answers until ``parts.embedder`` can.

    Raises StoreDamaged as ``open_store``, StoreError as ``check_fingerprint`` where ``parts.former`` is None, SettingsError as
    ``Membership``.
    """
    database = open_store(settings.state_dir / "edge.db", parts.clock)
    try:
        models = embedders_of(settings.state_dir, database, CheckedEmbedder(parts.embedder), parts.former, parts.made_by)
    except BaseException:
        database.close()
        raise
    documents, graph, ledger = DocumentStore(database, parts.clock), GraphStore(database), Ledger(database, parts.clock)
    policy, policies = _policy(settings, database, parts.clock)
    sharing = Sharing(policy, documents, graph, EgressMeter(ledger, parts.clock), EdgeId(settings.id))
    breaker = Breaker(settings.breaker_failures, settings.breaker_s, parts.clock)
    membership = Membership(settings.state_dir, parts.clock)
    client = _client(settings, parts.cloud, membership, ledger, breaker)
    cutter = Cutter(parts.reads, parts.tokenizer, settings.chunk_tokens, settings.chunk_overlap)
    keep = JobQueue(database, parts.clock), ReceiptStore(database)
    edge = _Edge(settings, parts, documents, sharing, client, Background(), cutter, *keep)
    tools, now = _searching(edge, graph, models.serving, models.judging)
    edge.link = _link(client, membership, tools, sharing, ledger, now, parts.recorder) if client else None
    backups = Backups(settings.state_dir, parts.clock, min_free_bytes=settings.min_free_bytes)
    write, read = (
        (documents, *keep, graph, now.strategy, cutter, now.worker),
        (now.answerer, now.for_others, now.fast_path, now.feedback, now.overview),
    )
    folders = FolderKeeper(settings.folders, settings.state_dir, parts.clock, most_bytes=settings.max_document_bytes)
    later, link, background, with_ = _renewal(edge, database, models), edge.link, edge.background, now.models
    node = EdgeNode(settings, *write, *read, link, background, ledger, sharing, policies, backups, breaker, with_, folders, renewal=later)
    node.recorder = parts.recorder
    node.calibration = Calibration(settings, documents, parts.generator, lambda: _serving(node))
    return node


def _serving(node: EdgeNode) -> Serving | None:
    return None if node.renewal else Serving(node.answerer, node.models.embedder.fingerprint)


def suited(settings: EdgeSettings, fingerprint: str) -> EdgeSettings:
    """The settings with the thresholds of that embedder, where none is given; without known ones, the steps that need them are off."""
    known = cosines_of(fingerprint)
    wanted = dict(OFF) if known is None else {"min_nearness": known.nearness, "evidence_threshold": known.evidence}
    if known is not None and not known.memories:
        wanted["memory_fast"] = OFF["memory_fast"]
    return settings.model_copy(update={name: value for name, value in wanted.items() if name not in settings.model_fields_set})


def _searching(edge: _Edge, graph: GraphStore, embedder: Embedder, judging: Embedder) -> tuple[Tools, Searching]:
    """An index and all that asks it. ``judging``: compares texts that are no passages of the index, as answers."""
    parts, sharing, documents = edge.parts, edge.sharing, edge.documents
    settings = suited(edge.settings, embedder.fingerprint) if parts.made_by else edge.settings
    name = EdgeId(settings.id)
    replies = ReplyCache(parts.generator, graph.database, parts.clock)
    tools = Tools(name, documents, graph, embedder, replies, sharing, parts.tokenizer, settings.index, parts.retries)
    strategy = open_strategy(tools, settings)
    fast_path = FastPath(name, strategy.memories, embedder, documents, settings, others=_compares(settings, parts))
    released = ReleasedPassages(tools, sharing)
    search = Search(strategy, sharing, settings)
    answerer = _answerer(settings, parts, tools, sharing, search, fast_path, edge.client, judging)
    told = ToldPassages(name, SharedMemories(graph.database), documents)
    for_others = EvidenceForOthers(search, sharing, told, released)
    overview = _overview(settings, parts, tools, sharing, strategy, edge.client, released, judging)

    async def tell_cloud(*, withdrawn: bool) -> None:
        if edge.link is not None:
            edge.link.wake(more_to_come=not withdrawn and await edge.background.run(edge.queue.has_more))
            await released.warm()

    keep = edge.queue, edge.receipts, strategy, edge.cutter, settings, edge.background
    worker = Worker(*keep, retries=parts.retries, on_settled=tell_cloud, tables=TableStore(graph.database))
    feedback = FeedbackDesk(name, strategy.memories, embedder, documents, settings.memory_learn)
    off = tuple(name for name, value in OFF.items() if getattr(settings, name) == value != getattr(edge.settings, name))
    models = Models(parts.generator, judging, parts.model_server, off)
    return tools, Searching(strategy, worker, answerer, for_others, fast_path, feedback, overview, models)


def _renewal(edge: _Edge, database: Database, models: Embedders) -> Renewal | None:
    embedder, view = models.coming, models.view
    if embedder is None:
        return None
    settings, parts = edge.settings, edge.parts

    def index_of(copy: Database, coming: Embedder) -> Index:
        documents, graph = DocumentStore(copy, parts.clock), GraphStore(copy)
        meter = EgressMeter(Ledger(copy, parts.clock), parts.clock)
        sharing = Sharing(edge.sharing.file, documents, graph, meter, EdgeId(settings.id))
        replies = ReplyCache(parts.generator, copy, parts.clock)
        given = (EdgeId(settings.id), documents, graph, coming, replies, sharing, parts.tokenizer, settings.index, parts.retries)
        return open_strategy(Tools(*given), settings)

    floor, change = settings.min_free_bytes, None
    if view is not None:
        change = EmbedderChange(database, embedder, view, index_of, made_by=parts.made_by, min_free_bytes=floor)
    return Renewal(embedder, change, lambda: _searching(edge, GraphStore(database), embedder, embedder)[1])


def _client(
    settings: EdgeSettings, http: httpx2.AsyncClient | None, membership: Membership, ledger: Ledger, breaker: Breaker
) -> CloudClient | None:
    if http is None:
        return None
    membership.identity()  # a key that others can read is found now
    http.auth = membership
    return CloudClient(http, EdgeId(settings.id), ledger, breaker, patience_s=settings.cloud_patience_s)


def _policy(settings: EdgeSettings, database: Database, clock: Clock) -> tuple[PolicyFile, PolicyEditor]:
    named = settings.policy_file is not None
    file = PolicyFile(settings.policy_file or settings.state_dir / NAME, clock)
    file.open(database, settings.share, named=named)
    return file, PolicyEditor(file, settings.state_dir / FOLDER, clock, named=named)


def _answerer(
    settings: EdgeSettings,
    parts: Adapters,
    tools: Tools,
    sharing: Sharing,
    search: Search,
    fast_path: FastPath,
    client: CloudClient | None,
    judging: Embedder,
) -> Answerer:
    gate, selector = Gate(judging, settings), SentenceSelector(judging, parts.tokenizer)
    measured, other_words, copied = Measured(parts.generator), None, None
    if settings.memory_fast == "model":
        copied = CopiedFacts(selector, parts.generator, measured, least=settings.memory_certainty)
    if _compares(settings, parts):
        other_words = OtherWords(fast_path, parts.generator, measured, least=settings.memory_same)
    tables = TableStage(tools.edge, TableStore(tools.graph.database), parts.generator)
    return Answerer(search, selector, parts.generator, gate, client, sharing, fast_path, copied, other_words, tables)


def _compares(settings: EdgeSettings, parts: Adapters) -> bool:
    """Whether the model may be asked if a learned answer is right for other words too."""
    if settings.memory_fast not in ("on", "model") or settings.memory_threshold["learned"] > 1 or settings.memory_same == 1:
        return False
    return settings.memory_same is not None or certainties_of(parts.generator.name) is not None


def _overview(
    settings: EdgeSettings,
    parts: Adapters,
    tools: Tools,
    sharing: Sharing,
    strategy: Index,
    client: CloudClient | None,
    released: ReleasedPassages,
    judging: Embedder,
) -> GlobalAnswerer:
    generator, count, at_once = parts.generator, parts.tokenizer.count, settings.global_at_once
    mapper = Mapper(generator, tools.edge, max_tokens=settings.partial_tokens, at_once=at_once)
    reducer: Reducer | Joiner = Reducer(generator, count, max_tokens=settings.global_answer_tokens)
    picker = None
    if settings.global_method == "sentences":
        reducer = Joiner(generator, judging)
        picker = SentencePicker(generator, judging, at_once=at_once)
    return GlobalAnswerer(tools, sharing, strategy.reports, mapper, reducer, client, settings, released, picker)


def _link(
    client: CloudClient,
    membership: Membership,
    tools: Tools,
    sharing: Sharing,
    ledger: Ledger,
    now: Searching,
    recorder: Recorder | None,
) -> CloudConnection:
    state, memories = LinkState(), MemorySharing.of(sharing, tools.documents, tools.graph)
    replicators = SummaryReplicator(client, tools.graph, sharing, state), MemoryReplicator(client, memories, state)
    heads = LedgerReplicator(client, ledger, tools.graph, memories.told, membership.cloud_key)
    serve, points = now.for_others.evidence, now.overview.points
    return CloudConnection(client, replicators, heads, serve, lambda: rejoin(client, membership), state, points=points, recorder=recorder)
