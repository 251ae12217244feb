"""Composition root: settings -> adapters -> Cloud. Every part can be given instead, which is what tests do."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cloud_server.answering.availability import Availability
from cloud_server.answering.coordinator import Coordinator, Models
from cloud_server.answering.fan_out import FanOut
from cloud_server.answering.gathering import EvidenceCollector
from cloud_server.answering.mailbox import GRACE_S, LocalMailbox, Mailbox
from cloud_server.answering.overview import GlobalCoordinator
from cloud_server.answering.patience import Patience
from cloud_server.answering.stored_answers import StoredAnswers
from cloud_server.database.erasing import Eraser
from cloud_server.database.opening import open_database, replica_name
from cloud_server.database.port import Database, SharedDatabase
from cloud_server.registry.credentials import Credentials, open_credentials
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.registry.sealing import Sealer
from cloud_server.routing.delta_embedding import part_turns
from cloud_server.routing.memories import MemoryStore
from cloud_server.routing.memory_index import MemoryIndex
from cloud_server.routing.renewal import Renewal
from cloud_server.routing.summaries import SummaryStore
from cloud_server.routing.summary_index import SummaryIndex
from cloud_server.settings import CloudSettings
from shared.identity import Identity
from shared.index import open_index
from shared.models.catalogue import cosines_of
from shared.ports import Adaptable, Clock, Generator, SystemClock
from shared.records import EdgeId
from shared.telemetry.metrics import Meter
from shared.wire import EdgeView

if TYPE_CHECKING:
    from cloud_server.database.notices import Notices


@dataclass(frozen=True, slots=True)
class Cloud:
    """What the routes work with."""

    settings: CloudSettings
    models: Models
    database: Database
    registry: EdgeRegistry
    summaries: SummaryStore
    summary_index: SummaryIndex
    memories: MemoryStore
    bank: MemoryIndex
    mailbox: Mailbox
    fan_out: FanOut
    availability: Availability
    collector: EvidenceCollector
    coordinator: Coordinator
    global_coordinator: GlobalCoordinator
    eraser: Eraser
    background: tuple[Callable[[], Coroutine[Any, Any, None]], ...]  # what runs until the cloud stops
    credentials: Credentials
    clock: Clock
    meter: Meter

    async def open(self) -> None:
        """Fill the indexes from the store, and find the other clouds. Raises StoreError, ModelError."""
        await self.mailbox.open()
        await self.summary_index.open()
        await self.bank.open()

    async def expel(self, edge: EdgeId, *, by: str = "") -> int:
        """Shut an edge out: purge its row, summaries, memories, poll, and what is asked of it now. Raises NotFound, Expelled.

        ``by``: the name of whoever decided it. Where the store goes away on the way, another try ends what was begun.
        """
        try:
            purged = await self.summary_index.expel(edge, by=by)
            await self.bank.renew()
            self.bank.forget_unfinished(edge)
        finally:
            self.eraser.note()
            await self.mailbox.forget(edge)
        return purged

    def close(self) -> None:
        """Close the stores."""
        self.credentials.nonces.close()
        self.database.close()

    def edges(self) -> list[EdgeView]:
        """All edges, by name; reads the store, so it belongs off the event loop."""
        counts, synced, memories = self.summaries.counts(), self.summaries.synced(), self.memories.counts()
        heads = self.credentials.heads.sequence_numbers()
        rows = [(row, self.availability.view(row.edge)) for row in self.registry.all()]
        return [
            EdgeView(
                edge=row.edge,
                online=self.mailbox.online(row.edge),
                last_seen=row.last_seen,
                synced=synced.get(row.edge, 0.0),
                summaries=counts.get(row.edge, (0, 0))[0],
                epoch=row.epoch,
                version=row.version,
                quarantined=row.quarantined,
                memories=memories.get(row.edge, (0, 0))[0],
                held_back=counts.get(row.edge, (0, 0))[1],
                withheld=row.withheld,
                reliability=round(standing.reliability, 3),
                ledger=heads.get(row.edge, 0),
                breaker=standing.breaker,
                breaker_s=round(standing.breaker_s, 1),
                asked=standing.asked,
            )
            for row, standing in rows
        ]


def random_id() -> str:
    """128 random bits in hexadecimal: no edge can guess another's request."""
    return uuid4().hex


def suited(settings: CloudSettings, fingerprint: str) -> CloudSettings:
    """The settings with the thresholds of that embedder, where none is given; without known ones, with those of the default embedder.

    Among several clouds, each also has a name.
    """
    known = cosines_of(fingerprint)
    wanted = {"match_threshold": known.match, "evidence_threshold": known.evidence} if known else {}
    named = {"replica": settings.replica or replica_name()} if settings.store_url() else {}
    return settings.model_copy(update={name: value for name, value in wanted.items() if name not in settings.model_fields_set} | named)


def build_cloud(settings: CloudSettings, models: Models, *, clock: Clock | None = None, new_id: Callable[[], str] = random_id) -> Cloud:
    """Put a cloud together; ``Cloud.open`` fills its indexes later. Raises StoreError and SettingsError."""
    clock, settings = clock or SystemClock(), suited(settings, models.embedder.fingerprint)
    database = open_database(settings.state_dir, settings.store_url(), replica=settings.replica)
    with ExitStack() as undo:
        undo.callback(database.close)
        cloud = _over(database, settings, models, clock, new_id)
        undo.pop_all()
    return cloud


def _over(database: Database, settings: CloudSettings, models: Models, clock: Clock, new_id: Callable[[], str]) -> Cloud:
    eraser = Eraser(database, every_s=settings.erase_every_s)
    registry = EdgeRegistry(database, clock)
    store, summary_index, memories, bank = _routing(settings, models, database, registry, eraser, clock)
    credentials = open_credentials(settings.state_dir, database, registry, clock, skew_s=settings.clock_skew_s)
    mailbox, notices = open_mailbox(
        database, settings.replica, credentials.identity, clock, random_id, notices_url=settings.listening_url()
    )
    fan_out = FanOut(mailbox, clock, new_id, Patience(least_s=settings.patience_s))
    availability = _availability(database, clock, settings)
    renewal = Renewal((summary_index, bank, availability), notices)
    collector = EvidenceCollector(summary_index, fan_out, availability, models.embedder, models.tokenizer, settings, clock, bank)
    coordinator = Coordinator(collector, StoredAnswers(bank, collector, availability, settings, clock), models, settings, clock, new_id)
    global_coordinator = GlobalCoordinator(registry, fan_out, availability, models, settings, clock, new_id)
    return Cloud(
        settings=settings,
        models=models,
        database=database,
        registry=registry,
        summaries=store,
        summary_index=summary_index,
        memories=memories,
        bank=bank,
        mailbox=mailbox,
        fan_out=fan_out,
        availability=availability,
        collector=collector,
        coordinator=coordinator,
        global_coordinator=global_coordinator,
        eraser=eraser,
        background=(eraser.run, mailbox.run, renewal.run, *([notices.run] if notices else []), *_learning(models.generator)),
        credentials=credentials,
        clock=clock,
        meter=Meter("cloud"),
    )


def _learning(generator: Generator) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
    return (generator.watch,) if isinstance(generator, Adaptable) else ()


def open_mailbox(
    database: Database,
    replica: str,
    identity: Identity,
    clock: Clock,
    new_id: Callable[[], str],
    *,
    notices_url: str = "",
) -> tuple[Mailbox, Notices | None]:
    """In memory for a cloud that is one process; where clouds share the store, in it.

    Notices arrive from ``notices_url``, without one from the store itself. A pooler passes none on:
    then there are none, and the mailbox looks into its tables more often.

    Raises SettingsError for a store that has no room for this cloud.
    """
    if not isinstance(database, SharedDatabase):
        return LocalMailbox(clock), None
    from cloud_server.answering.shared_mailbox import ALIVE_S, SharedMailbox  # an extra
    from cloud_server.database.letters import LetterTables, check_room
    from cloud_server.database.notices import open_notices

    check_room(database)
    process = f"{replica}.{new_id()[:8]}"  # started anew, it is another one: what it had asked is lost
    notices = open_notices(database, notices_url, process)
    tables = LetterTables(database.url, process, pooled=database.is_pooled, grace_s=GRACE_S, alive_s=ALIVE_S)
    return SharedMailbox(tables, notices, Sealer(identity), clock, new_id), notices


def _routing(
    settings: CloudSettings, models: Models, database: Database, registry: EdgeRegistry, eraser: Eraser, clock: Clock
) -> tuple[SummaryStore, SummaryIndex, MemoryStore, MemoryIndex]:
    """What edges tell, and where it is found. Raises SettingsError where it would be deleted, and other clouds find it."""
    if isinstance(database, SharedDatabase) and not settings.memory_bank:
        from cloud_server.database.letters import check_forgetting  # an extra

        check_forgetting(database)
    embedder, known = models.embedder, cosines_of(models.embedder.fingerprint)
    index, direct, hints = (open_index(settings.index, embedder.dimensions) for _ in range(3))
    store = SummaryStore(database, clock, max_per_edge=settings.max_summaries_per_edge, on_removed=eraser.note)
    turns, english_only = part_turns(), bool(known and known.english_only)
    summary_index = SummaryIndex(registry, store, index, embedder, english_only=english_only, turns=turns)
    memories = MemoryStore(database, clock, max_per_edge=settings.max_memories_per_edge, on_removed=eraser.note)
    bank = MemoryIndex(registry, memories, direct, hints, embedder, is_on=settings.memory_bank, turns=turns)
    return store, summary_index, memories, bank


def _availability(database: Database, clock: Clock, settings: CloudSettings) -> Availability:
    failures, breaker_s, fair_s = settings.breaker_failures, settings.breaker_s, min(settings.deadline_s, settings.straggler_s)
    return Availability(database, clock, breaker_failures=failures, breaker_s=breaker_s, deadline_s=fair_s)
