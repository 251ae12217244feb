"""What stands at the model's address in a run that needs none: it has a name, and refuses to write."""

from __future__ import annotations

import asyncio

import orjson

NO_MODEL = "none"  # instead of a generator's name
SERVED = orjson.dumps({"object": "list", "data": [{"id": NO_MODEL, "object": "model"}]})
REFUSED = orjson.dumps({"error": {"message": "this run has no language model; set [models] generator in its configuration"}})


async def serve_no_model(port: int) -> asyncio.Server:
    """Listen on loopback. ``GET …/models`` names one model; whatever is asked of it fails with 501, so that no row is made up."""
    return await asyncio.start_server(_answer, "127.0.0.1", port)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        names = head.startswith(b"GET ") and head.split(b" ", 2)[1].endswith(b"/models")
        status, body = (b"200 OK", SERVED) if names else (b"501 Not Implemented", REFUSED)
        lines = (b"HTTP/1.1 " + status, b"content-type: application/json", b"content-length: %d" % len(body), b"connection: close")
        writer.write(b"\r\n".join([*lines, b"", body]))
        await writer.drain()
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        pass  # whoever asked has gone, or speaks no HTTP
    finally:
        writer.close()
