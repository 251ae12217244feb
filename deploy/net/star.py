"""The links of all edges to one cloud, and the packets on their way. Pure: packets in, packets out, the clock and chance from outside.

Edges have no way to each other: in DGRAG they never talk (§III-A).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from deploy.cluster.errors import ClusterError
from deploy.net.addresses import CLOUD_NUMBER, Node, contents, ends
from deploy.net.lanes import Lane
from deploy.net.shape import Shape

Way = Literal["up", "down"]  # to the cloud; to the edge
Chance = Callable[[], float]  # draws from [0, 1)
JOURNAL_PACKETS = 100_000


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet that was sent, and arrived or never will; times in seconds of the clock that the star is given."""

    sent: float
    delivered: float | None  # None: it was dropped, by chance, by a full queue or by a cut
    edge: str
    way: Way
    port: int  # the edge's, which tells its connections to the cloud apart
    seq: int  # TCP's number of the first byte of the payload, modulo 2³²
    size: int  # bytes with all headers of IP
    payload: int  # bytes of TCP's payload


@dataclass(frozen=True, slots=True)
class Link:
    """An edge's two lanes, each with the chance that decides about its losses."""

    edge: str
    up: Lane
    down: Lane
    up_chance: Chance
    down_chance: Chance


class Star:
    """The links between the nodes: ``send`` takes a packet from a node, ``due`` gives those that have arrived."""

    def __init__(self, nodes: Sequence[Node], shape: Shape, chance_of: Callable[[str], Chance]) -> None:
        """``chance_of``: gives each lane, "EDGE up" and "EDGE down", a chance of its own, so that what is lost repeats with its seed."""
        self.links = {
            node.number: Link(node.name, Lane(shape), Lane(shape), chance_of(f"{node.name} up"), chance_of(f"{node.name} down"))
            for node in nodes
            if node.number != CLOUD_NUMBER
        }
        self.journal: deque[Sent] = deque(maxlen=JOURNAL_PACKETS)
        self._waiting: list[tuple[float, int, float, int, bytes]] = []  # heap of (due, n, sent, receiver, packet)
        self._count = 0

    def send(self, now: float, packet: bytes) -> None:
        """Put a packet on its link, which may lose it; what has no link here is dropped."""
        found = ends(packet)
        if found is None or (CLOUD_NUMBER not in found) or found[0] == found[1]:
            return
        sender, receiver = found
        link = self.links.get(sender or receiver)
        if link is None:
            return
        lane, chance = (link.up, link.up_chance) if receiver == CLOUD_NUMBER else (link.down, link.down_chance)
        due = lane.admit(now, len(packet), chance())
        if due is None:
            self._note(now, None, receiver, packet)
        else:
            self._count += 1
            heapq.heappush(self._waiting, (due, self._count, now, receiver, packet))

    def due(self, now: float) -> Iterator[tuple[int, bytes]]:
        """The packets that have arrived by now, in the order in which they did, each with its receiver's number."""
        while self._waiting and self._waiting[0][0] <= now:
            _, _, sent, receiver, packet = heapq.heappop(self._waiting)
            self._note(sent, now, receiver, packet)
            yield receiver, packet

    def _note(self, sent: float, delivered: float | None, receiver: int, packet: bytes) -> None:
        way: Way = "up" if receiver == CLOUD_NUMBER else "down"
        edge = self.links[receiver or packet[14]].edge
        port, seq, payload = contents(packet, up=way == "up")
        self.journal.append(Sent(sent, delivered, edge, way, port, seq, len(packet), payload))

    def next_due(self) -> float | None:
        """When the next packet arrives; None while none is on its way."""
        return self._waiting[0][0] if self._waiting else None

    def chosen(self, edge: str) -> list[Link]:
        """The links of an edge, or of "all". Raises ClusterError for an edge that has none."""
        found = [link for link in self.links.values() if edge in ("all", link.edge)]
        if not found:
            known = ", ".join(link.edge for link in self.links.values())
            raise ClusterError(f"no link leads to {edge!r}", next_step=f"name one of: {known}, or all")
        return found
