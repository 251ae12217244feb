"""What the cloud holds, read when somebody looks at its metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from cloud_server.build import Cloud
from shared.admission import Admission
from shared.metrics import Reading, each, single, turns_of
from shared.ports import Clock
from shared.wire import EdgeView

STATES = ("online", "offline", "quarantined")


class CloudReadings:
    """Gauges of one cloud. The ids of edges that joined are the only labels that are not ours; who is expelled is gone from them."""

    def __init__(self, cloud: Cloud, turns: Mapping[str, Admission], clock: Clock) -> None:
        """``clock``: the one that says when an edge was seen."""
        self._cloud = cloud
        self._turns = turns
        self._clock = clock

    async def read(self) -> tuple[Reading, ...]:
        """All gauges. Raises as the store."""
        edges = await asyncio.to_thread(self._cloud.edges)
        stored = await asyncio.to_thread(self._cloud.database.size)
        return (
            *readings_of(edges, now=self._clock.now()),
            single("dgrag_store_bytes", "Bytes of the store.", stored),
            turns_of(self._turns),
        )


def readings_of(edges: list[EdgeView], *, now: float) -> tuple[Reading, ...]:
    """What can be said of the edges; ``now`` in seconds since the epoch."""
    states = [_state(edge) for edge in edges]
    seen = {edge.edge: max(0.0, now - edge.last_seen) for edge in edges}
    told = sum(edge.memories for edge in edges)
    return (
        each("dgrag_edges", "Edges that joined.", "state", {state: states.count(state) for state in STATES}),
        single("dgrag_summaries", "Summaries of all edges.", sum(edge.summaries for edge in edges)),
        each("dgrag_memories", "Memories that edges told of.", "kind", {"told": told}),
        each("dgrag_edge_seconds_since_seen", "Since an edge spoke last.", "edge", seen),
    )


def _state(edge: EdgeView) -> str:
    return "quarantined" if edge.quarantined else "online" if edge.online else "offline"
