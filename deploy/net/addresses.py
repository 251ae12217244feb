"""Who has which address on the links, and between whom a packet goes. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from deploy.cluster.errors import ClusterError
from shared.plural import counted

CLOUD = "cloud"
CLOUD_NUMBER = 0
NETWORK = "10.88.0.0/16"
MOST_EDGES = 250
IPV4, TCP = 4, 6
SHORTEST = 20  # bytes of an IPv4 header


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
