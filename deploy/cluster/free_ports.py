"""Ports that nobody listens on."""

from __future__ import annotations

import socket

from deploy.cluster.errors import ClusterError

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

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def take(self, wished: int) -> int:
        """A free port at or above ``wished``. Raises ClusterError when there is none."""
        for port in range(wished, LAST_PORT + 1):
            if port not in self._taken and is_free(port):
                self._taken.add(port)
                return port
        raise ClusterError(f"no port at or above {wished} is free", next_step="name another port")
