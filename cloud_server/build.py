"""Composition root: settings -> adapters -> Cloud. Every part can be given instead, which is what tests do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from cloud_server.crossedge.coordinator import Coordinator, Limits, Models
from cloud_server.crossedge.fan_out import FanOut
from cloud_server.crossedge.mailbox import Mailbox
from cloud_server.database import Database
from cloud_server.eraser import Eraser
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.settings import CloudSettings
from cloud_server.summaries.catalogue import Catalogue
from cloud_server.summaries.store import SummaryStore
from shared.clock import SystemClock
from shared.index import open_index
from shared.ports import Clock
from shared.records import EdgeId
from shared.wire import EdgeView


@dataclass(frozen=True, slots=True)
class Cloud:
    """What the routes work with."""

    settings: CloudSettings
    models: Models
    database: Database
    registry: EdgeRegistry
    summaries: SummaryStore
    catalogue: Catalogue
    mailbox: Mailbox
    fan_out: FanOut
    coordinator: Coordinator
    eraser: Eraser

    async def expel(self, edge: EdgeId) -> int:
        """Shut an edge out: purge its row, its summaries, its poll, and what is asked of it now. Raises NotFound, Expelled."""
        purged = await self.catalogue.expel(edge)
        self.eraser.note()
        self.mailbox.forget(edge)
        self.fan_out.give_up(edge)
        return purged

    def edges(self) -> list[EdgeView]:
        """All edges, by name; reads the store, so it belongs off the event loop."""
        counts = self.summaries.counts()
        return [
            EdgeView(
                edge=row.edge,
                online=self.mailbox.online(row.edge),
                last_seen=row.last_seen,
                summaries=counts.get(row.edge, 0),
                epoch=row.epoch,
                version=row.version,
            )
            for row in self.registry.all()
        ]


def random_id() -> str:
    """128 random bits in hexadecimal: no edge can guess another's request."""
    return uuid4().hex


def build_cloud(settings: CloudSettings, models: Models, *, clock: Clock | None = None, new_id: Callable[[], str] = random_id) -> Cloud:
    """Put a cloud together; ``Catalogue.open`` fills its index later. Raises StoreError and SettingsError."""
    clock = clock or SystemClock()
    database = Database(settings.state_dir / "cloud.db")
    eraser = Eraser(database, every_s=settings.erase_every_s)
    registry, store = EdgeRegistry(database, clock), SummaryStore(database, eraser.note)
    catalogue = Catalogue(registry, store, open_index(settings.index, models.embedder.dimensions), models.embedder)
    mailbox = Mailbox(clock)
    fan_out = FanOut(mailbox, clock, new_id)
    coordinator = Coordinator(catalogue, fan_out, models, limits_of(settings), clock, new_id)
    return Cloud(settings, models, database, registry, store, catalogue, mailbox, fan_out, coordinator, eraser)


def limits_of(settings: CloudSettings) -> Limits:
    """The coordinator's part of the settings."""
    return Limits(
        m=settings.match_m,
        min_match=settings.match_threshold,
        k=settings.edges_k,
        min_evidence=settings.evidence_threshold,
        budget_tokens=settings.evidence_budget_tokens,
        fan_out_deadline_s=settings.deadline_s,
        max_answer_tokens=settings.max_answer_tokens,
        min_sufficiency=settings.min_sufficiency if settings.verify else None,
    )
