"""Who has which address on the links, and between whom a packet goes. Pure."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from deploy.cluster.errors import ClusterError
from shared.plural import counted

CLOUD = "cloud"
CLOUD_NUMBER = 0
NETWORK = "10.88.0.0/16"
MOST_EDGES = 250
IPV4, TCP = 4, 6
SHORTEST = 20  # bytes of an IPv4 header

HOW = "write it as rate=50mbit delay=15ms loss=1% queue=100ms"
UNITS = {  # what one of each unit is in the unit of the field
    "rate": {"kbit": 1e-3, "mbit": 1.0, "gbit": 1e3},
    "delay": {"us": 1e-3, "ms": 1.0, "s": 1e3},
    "queue": {"us": 1e-3, "ms": 1.0, "s": 1e3},
    "loss": {"%": 0.01},
}
FIELDS = {"rate": "mbit", "delay": "delay_ms", "queue": "queue_ms", "loss": "loss"}


@dataclass(frozen=True, slots=True)
class LinkShape:
    """Each direction of a link: the defaults are the paper's (DGRAG §IV-D1), without loss."""

    mbit: float = 50.0  # Mbit/s
    delay_ms: float = 15.0  # one way: a round trip takes twice as long
    loss: float = 0.0  # probability that a packet is lost, 0 to 1
    queue_ms: float = 100.0  # a packet that would wait longer for its turn is dropped


def parsed(words: Iterable[str], base: LinkShape) -> LinkShape:
    """``base`` with what the words say. Raises ClusterError for a word that says nothing.

    >>> parsed(["rate=5mbit", "loss=1%"], LinkShape())
    LinkShape(mbit=5.0, delay_ms=15.0, loss=0.01, queue_ms=100.0)
    """
    shape = base
    for word in words:
        name, _, text = word.partition("=")
        found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)([a-z%]+)", text)
        if name not in UNITS or not found or found[2] not in UNITS[name]:
            raise ClusterError(f"a link cannot be {word!r}", next_step=HOW)
        value = float(found[1]) * UNITS[name][found[2]]
        if not math.isfinite(value) or (name == "loss" and value > 1.0) or (name == "rate" and not value):
            raise ClusterError(f"a link cannot be {word!r}", next_step=HOW)
        shape = replace(shape, **{FIELDS[name]: value})
    return shape


def words_of(shape: LinkShape) -> str:
    """The shape as it would be written.

    >>> words_of(LinkShape(loss=0.01))
    'rate=50mbit delay=15ms loss=1% queue=100ms'
    """
    return f"rate={shape.mbit:g}mbit delay={shape.delay_ms:g}ms loss={shape.loss * 100:g}% queue={shape.queue_ms:g}ms"


@dataclass(frozen=True, slots=True)
class Node:
    """A service with a link: its number is the third part of its address."""

    number: int
    name: str  # "cloud", or an edge's id

    @property
    def address(self) -> str:
        """Its IPv4 address.

        >>> Node(3, "ward").address
        '10.88.3.2'
        """
        return f"10.88.{self.number}.2"


def numbered(edges: Iterable[str]) -> tuple[Node, ...]:
    """The cloud and the edges in their order. Raises ClusterError for more edges than there are addresses.

    >>> [node.address for node in numbered(["plant", "ward"])]
    ['10.88.0.2', '10.88.1.2', '10.88.2.2']
    """
    nodes = (Node(CLOUD_NUMBER, CLOUD), *(Node(number, edge) for number, edge in enumerate(edges, start=1)))
    if len(nodes) > MOST_EDGES + 1:
        raise ClusterError(f"no place on the links for {counted(len(nodes) - 1, 'edge')}", next_step=f"start {MOST_EDGES} at most")
    return nodes


def prefix_of(state: str) -> str:
    """What the namespaces of the cluster in a state folder begin with: two clusters never share one.

    >>> prefix_of("/srv/lab")
    'dgrag-ce4a0b3e-'
    """
    return f"dgrag-{zlib.crc32(state.encode()):08x}-"


def ends(packet: bytes) -> tuple[int, int] | None:
    """Numbers of the sender and the receiver; None for a packet that is not of one of our nodes for another (IPv6, multicast).

    >>> ends(bytes([0x45]) + bytes(11) + bytes([10, 88, 1, 2]) + bytes([10, 88, 0, 2]))
    (1, 0)
    """
    if len(packet) < SHORTEST or packet[0] >> 4 != IPV4 or packet[12:14] != b"\x0a\x58" or packet[16:18] != b"\x0a\x58":
        return None
    return packet[14], packet[18]


def contents(packet: bytes, *, up: bool) -> tuple[int, int, int]:
    """Of a TCP packet the edge's port, which tells its connections apart, the number of its first byte, and how many it carries.

    0 bytes for an acknowledgement; (0, 0, 0) for anything that is not TCP. ``up``: the edge has sent it.
    """
    header = (packet[0] & 0x0F) * 4
    if packet[9] != TCP or len(packet) < header + SHORTEST:
        return 0, 0, 0
    place = header if up else header + 2
    port, first = int.from_bytes(packet[place : place + 2]), int.from_bytes(packet[header + 4 : header + 8])
    return port, first, len(packet) - header - (packet[header + 12] >> 4) * 4
