"""What stands between two processes and writes down what one of them sends, byte by byte, before it hands it on."""

import asyncio
import base64
import contextlib
import re
from itertools import count

DIGEST = re.compile(rb"content-digest: sha-256=:([A-Za-z0-9+/=]+):", re.IGNORECASE)
LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def witness(folder, port, target, say):
    """Serve until killed. Each connection has its file: ``1.open``, and ``1.done`` when the one who dialled has gone."""
    numbers = count()

    async def to_target(reader, writer, file):
        while data := await reader.read(65536):
            file.write(data)
            if writer is not None:
                writer.write(data)

    async def from_target(reader, writer):
        with contextlib.suppress(ConnectionError):  # who was killed with something unread resets the connection
            while data := await reader.read(65536):
                writer.write(data)
        writer.close()

    async def hand_on(reader, writer):
        path = folder / f"{next(numbers)}.open"
        with path.open("wb", buffering=0) as file:
            answers, requests = None, None
            with contextlib.suppress(ConnectionError):
                answers, requests = await asyncio.open_connection("127.0.0.1", target)
            back = asyncio.create_task(from_target(answers, writer)) if answers else None
            if back is None:
                writer.close()
            with contextlib.suppress(ConnectionError):
                await to_target(reader, requests, file)
        if back is not None:
            requests.close()
            await asyncio.gather(back, return_exceptions=True)
        writer.close()
        path.rename(path.with_suffix(".done"))

    async def serve():
        async with await asyncio.start_server(hand_on, "127.0.0.1", port) as server:
            say("serving")
            await server.serve_forever()

    asyncio.run(serve())


def bodies_in(sent):
    """(path, size, SHA-256 in hexadecimal) of each request with a body, also of one that was cut, as its head tells.

    >>> digest = base64.b64encode(b"12").decode()
    >>> put = f"PUT /x HTTP/1.1\\r\\nContent-Digest: sha-256=:{digest}:\\r\\nContent-Length: 3\\r\\n\\r\\nabc"
    >>> list(bodies_in(f"{put}GET /y HTTP/1.1\\r\\n\\r\\n".encode()))
    [('/x', 3, '3132')]
    """
    while sent:
        head, ended, sent = sent.partition(b"\r\n\r\n")
        if not ended:
            return  # of this one, no body was sent
        length = LENGTH.search(head)
        size = int(length[1]) if length else 0
        if size:
            yield head.split(b" ")[1].decode(), size, base64.b64decode(DIGEST.search(head)[1]).hex()
        sent = sent[size:]
