"""Edge ids from what the user gave. Pure."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence

from deploy.cluster.errors import ClusterError
from shared.plural import counted
from shared.wire import EDGE_ID_PATTERN

MOST_CLOUDS = 9
RESERVED = frozenset(
    {"again", "cloud", "database", "keeper", "model", "wan", *(f"cloud-{n + 1}" for n in range(MOST_CLOUDS))}
)  # logs and tables carry these names already, containers a word
MOST_CHARS = 63

LAST_PORT = 65_535


def is_free(port: int, *, host: str = "127.0.0.1") -> bool:
    """True when a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: a port in TIME_WAIT is free
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


class Ports:
    """Hands out each free port once, the wished one or the next above it."""

    def __init__(self, had: Mapping[str, int] | None = None) -> None:
        """``had``: the ports that sites had before; each is for its site alone, as long as it is free."""
        self._had = dict(had or {})
        self._taken = set(self._had.values())

    def of_edge(self, edge: str, wished: int) -> int:
        """The port that an edge had before, where that is at or above ``wished`` and free; else as ``take``.

        >>> Ports({"ward": 48_000}).of_edge("bank", 48_000) > 48_000
        True
        """
        had = self._had.pop(edge, 0)  # once: two sites may have had one port, at different times
        return had if had >= wished and had not in self._had.values() and is_free(had) else self.take(wished)

    def take(self, wished: int) -> int:
        """A free port at or above ``wished``. Raises ClusterError when there is none."""
        for port in range(wished, LAST_PORT + 1):
            if port not in self._taken and is_free(port):
                self._taken.add(port)
                return port
        raise ClusterError(f"no port at or above {wished} is free", next_step="name another port")


def edge_ids(count: int, *, names: Sequence[str] = (), stems: Sequence[str] = ()) -> list[str]:
    """``count`` ids: the names given, else the data's stems made valid, else ``edge-1`` ….

    Raises ClusterError for a name that is not valid or comes twice, and for more names or data than edges.

    >>> edge_ids(3, stems=["Ward 7", "ward_7"])
    ['ward-7', 'ward-7-2', 'edge-3']
    """
    for given, what in ((names, "names"), (stems, "data paths")):
        if len(given) > count:
            raise ClusterError(f"{len(given)} {what} for {counted(count, 'edge')}", next_step=f"use --edges {len(given)}")
    ids = [_checked(name) for name in names]
    if len(set(ids)) < len(ids):
        raise ClusterError(f"an edge's name comes twice: {', '.join(ids)}", next_step="give each edge a name of its own")
    for place in range(len(ids), count):
        wished = slug(stems[place]) if place < len(stems) else ""
        ids.append(_unused(wished or f"edge-{place + 1}", ids))
    return ids


def slug(text: str) -> str:
    """Lower case letters, digits and single hyphens; empty when nothing is left.

    >>> slug("Überblick – Plant 3.txt")
    'berblick-plant-3-txt'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MOST_CHARS].rstrip("-")


def _checked(name: str) -> str:
    if not re.fullmatch(EDGE_ID_PATTERN, name) or name in RESERVED:
        step = f"use a-z, 0-9, hyphens, {MOST_CHARS} at most; not {', '.join(sorted(RESERVED))}"
        raise ClusterError(f"{name!r} cannot be an edge's name", next_step=step)
    return name


def _unused(wished: str, ids: Sequence[str]) -> str:
    candidate, number = wished, 1
    while candidate in ids or candidate in RESERVED:
        number += 1
        candidate = f"{wished[: MOST_CHARS - 5]}-{number}"
    return candidate
