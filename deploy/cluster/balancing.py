"""``python -m deploy.cluster.balancing PORT HOST:PORT…``: one address for several clouds of this machine.

It hands each connection to the next cloud that takes it, and reads nothing of what goes through: TLS and signatures are the clouds'.
A cloud that ends, ends its connections; who calls again reaches another one.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing

HOST = "127.0.0.1"
DIAL_S = 2.0
PIECE = 2**16  # bytes


class Balancer:
    """Takes turns between addresses."""

    def __init__(self, clouds: Sequence[tuple[str, int]]) -> None:
        self._clouds = list(clouds)
        self._turn = 0

    async def serve(self, port: int) -> asyncio.Server:
        """Listen on this machine."""
        return await asyncio.start_server(self._carry, HOST, port)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            if (dialled := await self._dial()) is None:
                return
            answers, asks = dialled
            with closing(asks):
                await asyncio.gather(_pass_on(reader, asks), _pass_on(answers, writer))

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection to the next cloud that takes one."""
        for _ in self._clouds:
            self._turn = (self._turn + 1) % len(self._clouds)
            try:
                async with asyncio.timeout(DIAL_S):
                    return await asyncio.open_connection(*self._clouds[self._turn])
            except OSError:
                continue
        return None


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """All bytes up to the end; where one side breaks, the other ends too."""
    try:
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()


async def _run(port: int, clouds: Sequence[tuple[str, int]]) -> None:
    async with await Balancer(clouds).serve(port) as server:
        await server.serve_forever()


def address(text: str) -> tuple[str, int]:
    """Host and port.

    >>> address("127.0.0.1:8300")
    ('127.0.0.1', 8300)
    """
    host, _, port = text.rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1]), [address(text) for text in sys.argv[2:]]))
