"""An edge: documents in, answers out – the two halves of DGRAG's Figure 1 – and its background work."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from edge_node.answer.answerer import Answerer
from edge_node.ingest.worker import Worker
from edge_node.link.cloud_link import CloudLink
from edge_node.settings import EdgeSettings
from edge_node.store.documents import Accepted, DocumentStore
from edge_node.store.graph import GraphStore
from edge_node.strategies.base import IndexStrategy
from shared.errors import DgragError, InputError, TooLarge
from shared.records import DocumentId

log = logging.getLogger("dgrag.edge")


def why(error: BaseException) -> str:
    """Why a node's background work ended, in one line without any document's content.

    >>> why(BaseExceptionGroup("", [InputError("the store is damaged", next_step="restore a backup")]))
    'the store is damaged – restore a backup'
    >>> why(ValueError("…"))
    'background work ended: ValueError'
    """
    if isinstance(error, BaseExceptionGroup):
        return why(error.exceptions[0])
    if isinstance(error, DgragError):
        return " – ".join(filter(None, (error.message, error.next_step)))
    return f"background work ended: {type(error).__name__}"


@dataclass(slots=True)
class EdgeNode:
    """What the routes call. Built by ``edge_node.build``."""

    settings: EdgeSettings
    documents: DocumentStore
    graph: GraphStore
    strategy: IndexStrategy
    worker: Worker
    answerer: Answerer
    link: CloudLink | None
    failed: str = "starting"  # why the node is not ready; empty: ready

    async def run(self) -> None:
        """Open the caches, then index documents and hold the line to the cloud until cancelled."""
        try:
            await self.strategy.open()
            self.failed = ""
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.worker.run(), name="worker")
                if self.link is not None:
                    tasks.create_task(self.link.run(), name="link")
        except BaseException as error:
            self.failed = why(error)
            raise

    async def accept(self, name: str, raw: bytes, *, reader: str, title: str = "", labels: tuple[str, ...] = ()) -> Accepted:
        """Commit a document for indexing; when this returns, it is on disk. Raises TooLarge, InputError."""
        if len(raw) > self.settings.max_document_bytes:
            raise TooLarge(f"document {name[:80]!r}", limit=self.settings.max_document_bytes)
        if not name.strip() or "\0" in name:
            raise InputError("a document needs a name", next_step="give a file name")
        accepted = await asyncio.to_thread(self.documents.accept, name, raw, reader=reader, title=title, labels=labels)
        await self.strategy.remove(accepted.removed)
        self.worker.wake(dirty=bool(accepted.removed))
        return accepted

    async def remove(self, document_id: DocumentId) -> int:
        """Delete a document; its graph share and summaries follow at once. Returns its number of chunks. Raises NotFound."""
        removed = await asyncio.to_thread(self.documents.remove, document_id)
        await self.strategy.remove(removed)
        self.worker.wake(dirty=True)
        return len(removed)

    def status(self) -> dict[str, Any]:
        """Counts, cost and progress. ``settled``: nothing waits, and what the cloud should know it knows (or it is away)."""
        counts, now, link = self.documents.counts(), self.worker.now, self.link
        quiet = counts["queued"] == 0 and counts["running"] == 0 and self.worker.idle
        state = link.state if link else None
        return {
            "edge": self.settings.id,
            "documents": counts,
            **self.documents.totals(),
            **self.strategy.counts(),
            "busy_s": round(self.worker.busy_s, 1),
            "progress": {"step": now.step, "done": now.done, "total": now.total},
            "failed": self.failed,
            "cloud": {
                "url": self.settings.cloud_url,
                "connected": bool(state and state.connected),
                "synced_version": state.version if state else -1,
                "sent_bytes": state.sent_bytes if state else 0,
                "error": state.error if state else "this edge has no cloud",
            },
            "settled": not self.failed and quiet and (link is None or not link.state.connected or link.in_sync),
        }
