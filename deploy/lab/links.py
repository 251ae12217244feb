"""Links: when a packet is there, if ever, and what can be asked of them. Pure: the clock and chance come from outside."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from deploy.cluster.control import Command, Rows, Verb
from deploy.cluster.errors import ClusterError
from deploy.lab.topology import CLOUD_NUMBER, LinkShape, Node, contents, ends, parsed, words_of

Way = Literal["up", "down"]  # to the cloud; to the edge
Chance = Callable[[], float]  # draws from [0, 1)
JOURNAL_PACKETS = 100_000

GAP_S = 0.1  # a pause in which an edge or the cloud computes is longer, one between the packets of a body is not
WAIT_S = 3.0  # for what was dropped, at most: TCP sends it again after 0.2 s, and each time waits twice as long
LEAST_BYTES = 400  # less is a sign of life
NUMBERS = 1 << 32  # of TCP's bytes, then they begin again
WINDOW = 1 << 24  # a number further away than this is another connection's, of the same port

Transfer = Literal["query send", "request send", "knowledge send", "answer send", "passages back"]
Last = Literal["answer send", "passages back"]


@dataclass(slots=True)
class Tally:
    """How many packets, and their bytes with all headers of IP."""

    packets: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        """Count one packet."""
        self.packets += 1
        self.bytes += size


@dataclass(slots=True)
class Lane:
    """One direction of an edge's link. Every packet is counted once: carried, lost, full (no room in the queue) or cut."""

    shape: LinkShape
    is_cut: bool = False
    free_at: float = 0.0  # when the last packet's last bit is on the wire
    last_at: float = 0.0  # when the last packet arrives
    carried: Tally = field(default_factory=Tally)
    lost: Tally = field(default_factory=Tally)
    full: Tally = field(default_factory=Tally)
    cut: Tally = field(default_factory=Tally)

    def admit(self, now: float, size: int, chance: float) -> float | None:
        """When a packet of ``size`` bytes arrives; None if it never does. ``chance``: drawn from [0, 1), below ``loss`` it is lost.

        >>> lane = Lane(LinkShape(mbit=8, delay_ms=10, queue_ms=1))  # a byte takes a microsecond
        >>> lane.admit(0.0, 1500, 0.5), lane.admit(0.0, 1500, 0.5)
        (0.0115, None)
        """
        if self.is_cut:
            self.cut.add(size)
            return None
        if chance < self.shape.loss:
            self.lost.add(size)
            return None
        begins = max(now, self.free_at)
        if (begins - now) * 1000 > self.shape.queue_ms:
            self.full.add(size)
            return None
        self.carried.add(size)
        self.free_at = begins + size * 8 / (self.shape.mbit * 1e6)
        self.last_at = max(self.last_at, self.free_at + self.shape.delay_ms / 1000)  # a delay that was made shorter reorders nothing
        return self.last_at


@dataclass(frozen=True, slots=True)
class SentPacket:
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

    def __init__(self, nodes: Sequence[Node], shape: LinkShape, chance_of: Callable[[str], Chance]) -> None:
        """``chance_of``: gives each lane, "EDGE up" and "EDGE down", a chance of its own, so that what is lost repeats with its seed."""
        self.links = {
            node.number: Link(node.name, Lane(shape), Lane(shape), chance_of(f"{node.name} up"), chance_of(f"{node.name} down"))
            for node in nodes
            if node.number != CLOUD_NUMBER
        }
        self.journal: deque[SentPacket] = deque(maxlen=JOURNAL_PACKETS)
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
        self.journal.append(SentPacket(sent, delivered, edge, way, port, seq, len(packet), payload))

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

    def span(self, packet: SentPacket) -> tuple[int, int]:
        """What the packet carries, from number to number. Forgets what another connection of the same port had sent."""
        away = (packet.seq - self.top + NUMBERS // 2) % NUMBERS - NUMBERS // 2
        if self.top < 0 or not -WINDOW <= away <= 0:
            self.top, self.holes, away = packet.seq, (), 0
        return self.top + away, self.top + away + packet.payload

    def has_had(self, start: int, end: int) -> bool:
        """Whether all of it has arrived, or is on its way: then this is a copy, sent because an acknowledgement was lost or late."""
        return end <= self.top and not any(start < to and at < end for at, to in self.holes)

    def add(self, packet: SentPacket, start: int, end: int) -> None:
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


def hops(journal: Iterable[SentPacket], *, gap_s: float = GAP_S, least: int = LEAST_BYTES) -> list[Hop]:
    """The bursts in the order of their beginnings, without those of fewer than ``least`` bytes.

    A burst ends with a pause of more than ``gap_s``; while something of it was dropped and has not arrived, with one of more than WAIT_S.

    >>> whole = [SentPacket(at, at + 0.02, "ward", "up", 4000, seq, 1500, 1448) for at, seq in ((0.0, 0), (0.01, 1448), (0.5, 2896))]
    >>> [(hop.bytes, round(hop.ms)) for hop in hops(whole)]
    [(3000, 30), (1500, 20)]
    >>> lost = SentPacket(0.5, None, "ward", "up", 4000, 2896, 1500, 1448)
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
        for request, until in zip(requests, [hop.began for hop in requests[1:]] + [math.inf], strict=False):
            sent = [hop for hop in others if hop.way == "up" and request.began < hop.began < until]
            named += [("knowledge send", max(sent, key=lambda hop: hop.bytes))] if sent else []
    return sorted(named, key=lambda row: row[1].began)


def obeyed(star: Star, command: Command) -> Rows:
    """Do it, and return the state of the links that it was about, or the hops.

    Raises ClusterError for an edge without a link, and for words that say nothing; then nothing is changed.
    """
    links = star.chosen(command.edge)
    verbs: dict[Verb, Callable[[Sequence[Link], Command], None]] = {"set": _set, "cut": _cut, "heal": _heal}
    if command.do == "hops":
        edges = {link.edge for link in links}
        sent = [packet for packet in star.journal if packet.sent >= command.since and packet.edge in edges]
        return [asdict(hop) for hop in hops(sent)]
    if command.do in verbs:
        verbs[command.do](links, command)
    return [_told(link) for link in links]


def _set(links: Sequence[Link], command: Command) -> None:
    shapes = [parsed(command.words, link.up.shape) for link in links]
    for link, shape in zip(links, shapes, strict=True):
        link.up.shape = link.down.shape = shape


def _cut(links: Sequence[Link], _command: Command) -> None:
    for link in links:
        link.up.is_cut = link.down.is_cut = True


def _heal(links: Sequence[Link], _command: Command) -> None:
    for link in links:
        link.up.is_cut = link.down.is_cut = False


def _told(link: Link) -> dict[str, Any]:
    state = {"edge": link.edge, "cut": link.up.is_cut, "shape": words_of(link.up.shape)}
    return {**state, "up": _counted(link.up), "down": _counted(link.down)}


def _counted(lane: Lane) -> dict[str, int]:
    dropped = {"lost": lane.lost.packets, "full": lane.full.packets, "cut": lane.cut.packets}
    return {"bytes": lane.carried.bytes, "packets": lane.carried.packets, **dropped}
