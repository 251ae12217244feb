"""A relay between an edge and the cloud that keeps each byte of both directions: what somebody on the line sees."""

import asyncio
import contextlib
import json

CHUNK = 65536


class Wiretap:
    """``url`` stands in the place of the cloud's address."""

    def __init__(self):
        self.url = ""
        self._seen = []

    def holds(self, word):
        """Whether the word passed by, as it is or as JSON escapes it."""
        seen = b"".join(self._seen)
        return word.encode() in seen or json.dumps(word)[1:-1].encode() in seen

    async def serve(self, reader, writer, host, port):
        """Pass on a connection until both sides have ended."""
        there, back = await asyncio.open_connection(host, port)
        try:
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        finally:
            for end in (back, writer):
                end.transport.abort()
            await asyncio.gather(back.wait_closed(), writer.wait_closed(), return_exceptions=True)

    async def _pass_on(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(CHUNK):
                self._seen.append(data)
                writer.write(data)
                await writer.drain()
            writer.write_eof()


@contextlib.asynccontextmanager
async def tapped(target):
    """A relay to the address ``target``, until the block ends."""
    tap, (host, _, port) = Wiretap(), target.removeprefix("http://").partition(":")
    working = set()

    def serve(reader, writer):
        working.add(asyncio.create_task(tap.serve(reader, writer, host, int(port))))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    tap.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield tap
    finally:
        server.close()
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
