"""From the packets that passed to the transfers of one question (DGRAG Fig. 9). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from deploy.net.star import Passed, Way

GAP_S = 0.1  # a pause in which an edge or the cloud computes is longer, one between the packets of a body is not
LEAST_BYTES = 400  # less is a sign of life


Transfer = Literal["query send", "request send", "knowledge send", "answer send"]


@dataclass(frozen=True, slots=True)
class Hop:
    """A burst of packets in one direction of a connection; the acknowledgements of the other direction are no part of it."""

    edge: str
    way: Way
    port: int  # the edge's: of the same connection if it is the same
    began: float  # seconds of the monotonic clock, when the first packet was sent
    ms: float  # until the last one was there
    bytes: int  # with all headers of IP
    packets: int


def hops(journal: Iterable[Passed], *, gap_s: float = GAP_S, least: int = LEAST_BYTES) -> list[Hop]:
    """The bursts in the order of their beginnings, without those of fewer than ``least`` bytes.

    >>> packets = [Passed(at, at + 0.02, "ward", "up", 4000, 1500, 1448) for at in (0.0, 0.01, 0.5)]
    >>> [(hop.bytes, round(hop.ms)) for hop in hops(packets)]
    [(3000, 30), (1500, 20)]
    """
    open_bursts: dict[tuple[str, Way, int], Hop] = {}
    done: list[Hop] = []
    for packet in sorted((packet for packet in journal if packet.payload), key=lambda packet: packet.sent):
        key = (packet.edge, packet.way, packet.port)
        burst = open_bursts.get(key)
        if burst is not None and packet.sent - (burst.began + burst.ms / 1000) <= gap_s:
            ms = max(burst.ms, (packet.delivered - burst.began) * 1000)
            open_bursts[key] = replace(burst, ms=ms, bytes=burst.bytes + packet.size, packets=burst.packets + 1)
        else:
            done += [burst] if burst is not None else []
            open_bursts[key] = Hop(*key, packet.sent, (packet.delivered - packet.sent) * 1000, packet.size, 1)
    return sorted((hop for hop in (*done, *open_bursts.values()) if hop.bytes >= least), key=lambda hop: hop.began)


def transfers(found: Sequence[Hop], asker: str) -> list[tuple[Transfer, Hop]]:
    """The hops of one question with the names that DGRAG's Fig. 9 gives them; ``asker`` is the edge that was asked.

    The asker's first hop up is the query, the last one down on the same connection the answer. Of the others, those down are requests;
    after each, the edge's biggest hop up until its next request is the knowledge, and what else it sends is none (it asks for work).
    """
    query = next((hop for hop in found if (hop.edge, hop.way) == (asker, "up")), None)
    answers = [hop for hop in found if query and (hop.edge, hop.way, hop.port) == (asker, "down", query.port)]
    own = [query, *answers]
    named: list[tuple[Transfer, Hop]] = [("query send", query)] if query else []
    named += [("answer send", hop) for hop in answers[-1:]]
    for edge in dict.fromkeys(hop.edge for hop in found):
        others = [hop for hop in found if hop.edge == edge and hop not in own]
        requests = [hop for hop in others if hop.way == "down"]
        named += [("request send", hop) for hop in requests]
        for request, ends in zip(requests, [hop.began for hop in requests[1:]] + [math.inf], strict=False):
            sent = [hop for hop in others if hop.way == "up" and request.began < hop.began < ends]
            named += [("knowledge send", max(sent, key=lambda hop: hop.bytes))] if sent else []
    return sorted(named, key=lambda row: row[1].began)
