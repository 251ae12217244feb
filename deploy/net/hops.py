"""From the packets that were sent to the transfers of one question (DGRAG Fig. 9). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from deploy.net.star import Sent, Way

GAP_S = 0.1  # a pause in which an edge or the cloud computes is longer, one between the packets of a body is not
WAIT_S = 3.0  # for what was dropped, at most: TCP sends it again after 0.2 s, and each time waits twice as long
LEAST_BYTES = 400  # less is a sign of life
NUMBERS = 1 << 32  # of TCP's bytes, then they begin again
WINDOW = 1 << 24  # a number further away than this is another connection's, of the same port

Transfer = Literal["query send", "request send", "knowledge send", "answer send", "passages back"]
Last = Literal["answer send", "passages back"]


@dataclass(frozen=True, slots=True)
class Hop:
    """A burst of packets in one direction of a connection; the acknowledgements of the other direction are no part of it."""

    edge: str
    way: Way
    port: int  # the edge's: of the same connection if it is the same
    began: float  # seconds of the monotonic clock, when the first packet was sent, also if it was dropped
    ms: float  # until the last one was there, with all waiting for what was dropped and sent again
    bytes: int  # that arrived, with all headers of IP: what was dropped counts when it arrives, a second copy does not
    packets: int  # that arrived


@dataclass(slots=True)
class _Stream:
    """One direction of a connection, packet by packet in the order of sending."""

    top: int = -1  # TCP's number after the last byte that was sent, counted on where TCP's begin again; -1: none was
    holes: tuple[tuple[int, int], ...] = ()  # what was dropped and has not arrived since, from number to number
    burst: Hop | None = None
    last: float = 0.0  # when a packet of the burst was sent or arrived

    def span(self, packet: Sent) -> tuple[int, int]:
        """What the packet carries, from number to number. Forgets what another connection of the same port had sent."""
        away = (packet.seq - self.top + NUMBERS // 2) % NUMBERS - NUMBERS // 2
        if self.top < 0 or not -WINDOW <= away <= 0:
            self.top, self.holes, away = packet.seq, (), 0
        return self.top + away, self.top + away + packet.payload

    def has_had(self, start: int, end: int) -> bool:
        """Whether all of it has arrived, or is on its way: then this is a copy, sent because an acknowledgement was lost or late."""
        return end <= self.top and not any(start < to and at < end for at, to in self.holes)

    def add(self, packet: Sent, start: int, end: int) -> None:
        """Note a packet that is no copy, as one of the burst that is open, or the first of one."""
        burst = self.burst or Hop(packet.edge, packet.way, packet.port, packet.sent, 0.0, 0, 0)
        self.last = max(self.last, packet.sent, packet.delivered or 0.0)
        if packet.delivered is None:
            self.holes += ((self.top, end),) if end > self.top else ()
        else:
            left = [piece for at, to in self.holes for piece in ((at, min(to, start)), (max(at, end), to))]
            self.holes = tuple((at, to) for at, to in left if at < to)
            ms = max(burst.ms, (packet.delivered - burst.began) * 1000)
            burst = replace(burst, ms=ms, bytes=burst.bytes + packet.size, packets=burst.packets + 1)
        self.top, self.burst = max(self.top, end), burst


def hops(journal: Iterable[Sent], *, gap_s: float = GAP_S, least: int = LEAST_BYTES) -> list[Hop]:
    """The bursts in the order of their beginnings, without those of fewer than ``least`` bytes.

    A burst ends with a pause of more than ``gap_s``; while something of it was dropped and has not arrived, with one of more than WAIT_S.

    >>> whole = [Sent(at, at + 0.02, "ward", "up", 4000, seq, 1500, 1448) for at, seq in ((0.0, 0), (0.01, 1448), (0.5, 2896))]
    >>> [(hop.bytes, round(hop.ms)) for hop in hops(whole)]
    [(3000, 30), (1500, 20)]
    >>> lost = Sent(0.5, None, "ward", "up", 4000, 2896, 1500, 1448)
    >>> [(hop.bytes, round(hop.ms)) for hop in hops([*whole[:2], lost, replace(lost, sent=0.75, delivered=0.77)])]
    [(3000, 30), (1500, 270)]
    """
    streams: dict[tuple[str, Way, int], _Stream] = {}
    done: list[Hop] = []
    for packet in sorted((packet for packet in journal if packet.payload), key=lambda packet: (packet.sent, packet.seq)):
        stream = streams.setdefault((packet.edge, packet.way, packet.port), _Stream())
        start, end = stream.span(packet)
        if stream.has_had(start, end):
            continue
        if stream.burst and packet.sent - stream.last > (WAIT_S if stream.holes else gap_s):
            done.append(stream.burst)
            stream.burst = None
        stream.add(packet, start, end)
    done += [stream.burst for stream in streams.values() if stream.burst]
    return sorted((hop for hop in done if hop.bytes >= least), key=lambda hop: hop.began)


def transfers(found: Sequence[Hop], asker: str, *, last: Last) -> list[tuple[Transfer, Hop]]:
    """The hops of one question with the names that DGRAG's Fig. 9 gives them; ``asker`` is the edge that was asked.

    The asker's first hop up is the query, the last one down on the same connection is what came of it: an answer, or where no model has
    written one, which the paper does not know, the passages. Of the others, those down are requests; after each, the edge's biggest hop
    up until its next request is the knowledge, and what else it sends is none (it asks for work).
    """
    query = next((hop for hop in found if (hop.edge, hop.way) == (asker, "up")), None)
    answers = [hop for hop in found if query and (hop.edge, hop.way, hop.port) == (asker, "down", query.port)]
    own = [query, *answers]
    named: list[tuple[Transfer, Hop]] = [("query send", query)] if query else []
    named += [(last, hop) for hop in answers[-1:]]
    for edge in dict.fromkeys(hop.edge for hop in found):
        others = [hop for hop in found if hop.edge == edge and hop not in own]
        requests = [hop for hop in others if hop.way == "down"]
        named += [("request send", hop) for hop in requests]
        for request, ends in zip(requests, [hop.began for hop in requests[1:]] + [math.inf], strict=False):
            sent = [hop for hop in others if hop.way == "up" and request.began < hop.began < ends]
            named += [("knowledge send", max(sent, key=lambda hop: hop.bytes))] if sent else []
    return sorted(named, key=lambda row: row[1].began)
