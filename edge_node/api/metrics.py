"""What an edge holds, read when somebody looks at its metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, get_args

from edge_node.egress.ledger import DEPARTURES
from edge_node.egress.meter import DAY_S
from edge_node.node import EdgeNode
from edge_node.records import Kind
from shared.admission import Admission
from shared.telemetry.metrics import MetricReading, each, single, turns_of

BUILT = ("entities", "relations", "subgraphs", "summaries")


class EdgeReadings:
    """Gauges of one edge, without a name of anything in its documents."""

    def __init__(self, node: EdgeNode, turns: Mapping[str, Admission]) -> None:
        self._node = node
        self._turns = turns
        self._departed = dict.fromkeys(DEPARTURES, 0)  # bytes by kind, …
        self._departures = 0  # … up to this record: the ledger is read once, and only ever grows

    async def read(self) -> tuple[MetricReading, ...]:
        """All gauges. Raises as the store."""
        memory = await self._node.memory_status()
        return (*await asyncio.to_thread(self._stored), *_of_memory(memory), turns_of(self._turns))

    def _stored(self) -> tuple[MetricReading, ...]:
        self._departures, sent = self._node.ledger.departed(after=self._departures)
        for kind, size in sent.items():
            if kind in self._departed:  # a damaged record may say anything
                self._departed[kind] += size
        most, together = self._disclosed()
        return (
            *_of_status(self._node.status()),
            each("dgrag_egress_bytes_total", "Bytes of bodies that left, by the ledger.", "kind", self._departed),
            single("dgrag_most_disclosed_share", "Share of the passages that one requester has had today (UTC), at most.", most),
            single("dgrag_all_disclosed_share", "Share of the passages that all requesters together have had today (UTC).", together),
            single("dgrag_store_bytes", "Bytes of the store.", self._node.documents.database.size()),
            *self._of_link(),
        )

    def _disclosed(self) -> tuple[float, float]:
        today = time.time() // DAY_S * DAY_S
        most, together = self._node.ledger.most_disclosed(since=today)
        there = max(1, self._node.documents.totals()["chunks"])
        return most / there, together / there

    def _of_link(self) -> tuple[MetricReading, ...]:
        link, connected, lag, is_open = self._node.link, None, None, None
        if link is not None:
            connected, is_open = link.state.connected, self._node.breaker.left_s() > 0
            lag = max(0, self._node.graph.version() - max(0, link.state.summaries.version))
        return (
            single("dgrag_cloud_connected", "Whether the line to the cloud holds.", connected),
            single("dgrag_cloud_breaker_open", "Whether the cloud is left alone for a while.", is_open),
            single("dgrag_sync_lag_versions", "Versions of the summaries that the cloud has not acknowledged.", lag),
        )


def _of_status(status: Mapping[str, Any]) -> tuple[MetricReading, ...]:
    return (
        each("dgrag_documents", "Documents by status.", "status", status["documents"]),
        single("dgrag_ready", "Whether the caches are built and the background tasks run.", not status["failed"]),
        single("dgrag_reader_faults", "Kinds of documents that cannot be read here now.", len(status["readers"]["faults"])),
        single("dgrag_stale_texts", "Texts that the model should still write.", status["stale"]),
        single("dgrag_embedder_change", "Share of the present step of a change of the embedding model that is done.", _share(status)),
        *(single(f"dgrag_{name}", f"{name.capitalize()} of this edge.", status[name]) for name in BUILT),
    )


def _share(status: Mapping[str, Any]) -> float | None:
    change = status["embedding"]["change"]
    return None if change is None else change["done"] / max(1, change["total"])


def _of_memory(memory: Mapping[str, Any]) -> tuple[MetricReading, ...]:
    return (
        each("dgrag_memories", "Memories by kind.", "kind", {kind: memory.get(kind, 0) for kind in get_args(Kind)}),
        single("dgrag_memory_looks_total", "Questions for which memories were looked at.", memory["looked"]),
        single("dgrag_memory_hits_total", "Questions that a memory answered.", memory["answered"]),
    )
