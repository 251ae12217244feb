"""An edge: documents in, answers out – the two halves of DGRAG's Figure 1 – and its background work."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from edge_node.answer.answerer import Answerer
from edge_node.ingest.cutting import Cutter, Offered
from edge_node.ingest.estimate import Estimate, Unreadable, estimate
from edge_node.ingest.worker import Worker
from edge_node.link.cloud_link import CloudLink
from edge_node.settings import EdgeSettings
from edge_node.store.documents import Accepted, DocumentStore
from edge_node.store.graph import GraphStore
from edge_node.store.jobs import JobQueue
from edge_node.store.receipts import ReceiptStore
from edge_node.store.space import require_space
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
    queue: JobQueue
    receipts: ReceiptStore
    graph: GraphStore
    strategy: IndexStrategy
    cutter: Cutter
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

    async def accept(self, offered: Offered) -> Accepted:
        """Commit a document for indexing; when this returns, it is on disk. Raises TooLarge, InputError, DiskFull."""
        self._check(offered)
        await asyncio.to_thread(require_space, self.settings.state_dir, floor=self.settings.min_free_bytes)
        accepted = await asyncio.to_thread(
            self.documents.accept, offered.name, offered.raw, reader=offered.reader, title=offered.title, labels=offered.labels
        )
        self.worker.stop(accepted.ended_jobs)
        self.worker.wake()
        return accepted

    async def estimate(self, offered: Sequence[Offered]) -> Estimate:
        """What indexing these documents would cost. Nothing is stored or spent."""
        return await asyncio.to_thread(self._estimate, offered)

    async def remove(self, identity: DocumentId) -> dict[str, Any]:
        """Delete a document with its share of graph, summaries and model replies; returns the receipt. Raises NotFound.

        A settle or an erasure that fails is made up for later: then the receipt has a ``reason``, and its present state is asked for
        with ``receipt``.
        """
        removed = await asyncio.to_thread(self.documents.remove, identity)
        self.worker.stop(removed.ended_jobs)
        await self.strategy.forget(removed.chunks)
        error = await self.worker.settle()
        receipt = await asyncio.to_thread(self.receipt, removed.receipt_id)
        return receipt if error is None else receipt | {"reason": why(error)}

    def receipt(self, receipt_id: str) -> dict[str, Any]:
        """What was deleted, and whether every trace of it is gone, here and in the cloud. Raises NotFound."""
        receipt = self.receipts.get(receipt_id)
        known = max(self.receipts.acknowledged(), self.link.state.version if self.link else -1)
        cloud = "none" if self.link is None else "confirmed" if receipt.version <= known else "pending"
        view = asdict(receipt) | {"cloud": cloud}
        del view["version"]
        return view

    async def cancel(self, job_id: str) -> None:
        """Stop a job and park its document. Raises NotFound, and Conflict where it has ended."""
        await asyncio.to_thread(self.queue.cancel, job_id)
        self.worker.stop((job_id,))

    async def retry(self, job_id: str) -> str:
        """Queue a job's document again; returns the new job. Raises NotFound, and Conflict where nothing is missing."""
        new = await asyncio.to_thread(self.queue.retry, job_id)
        self.worker.wake()
        return new

    def _check(self, offered: Offered) -> None:
        if len(offered.raw) > self.settings.max_document_bytes:
            raise TooLarge(f"document {offered.name[:80]!r}", limit=self.settings.max_document_bytes)
        if not offered.name.strip() or "\0" in offered.name:
            raise InputError("a document needs a name", next_step="give a file name")

    def _estimate(self, offered: Sequence[Offered]) -> Estimate:
        refused = list[Unreadable]()
        taken = list[Offered]()
        for document in offered:
            try:
                self._check(document)
                taken.append(document)
            except InputError as error:
                refused.append(Unreadable(document.name, error.code, error.message))
        known = self.documents.known([document.document_id for document in taken])
        pace = self.worker.pace
        found = estimate(taken, self.cutter, self.worker.rates, known=known, share=pace.share, gleanings=pace.gleanings)
        return replace(found, unreadable=(*refused, *found.unreadable))

    def status(self) -> dict[str, Any]:
        """Counts, cost and progress. ``settled``: nothing waits, and what the cloud should know it knows (or it is away)."""
        counts, now, link = self.documents.counts(), self.worker.news.now, self.link
        quiet = counts["queued"] == 0 and counts["running"] == 0 and self.worker.idle
        state = link.state if link else None
        return {
            "edge": self.settings.id,
            "documents": counts,
            **self.documents.totals(),
            **self.strategy.counts(),
            "stale": self.strategy.stale,
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
