"""How much a server reads from its sockets, before or after it has refused what comes."""

import itertools
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Counting(HttpToolsProtocol):
    """Counts what is read from each connection that carries a request with ``marker`` in its first bytes."""

    marker: ClassVar[bytes] = b"/replies/"
    read: ClassVar[dict[int, int]] = {}  # by connection, in the order in which they were made
    numbers: ClassVar[itertools.count] = itertools.count()

    def connection_made(self, transport):
        super().connection_made(transport)
        self.number, self.taken, self.is_meant = next(self.numbers), 0, False

    def data_received(self, data):
        self.taken += len(data)
        self.is_meant = self.is_meant or self.marker in data[:200]
        if self.is_meant:
            self.read[self.number] = self.taken
        super().data_received(data)
