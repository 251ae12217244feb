"""What stands at the model's address in a run that needs none: it has a name, and refuses to write, or says that it knows nothing."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import orjson

NO_MODEL = "none"  # instead of a generator's name: what is asked of it is refused …
UNKNOWING = "unknowing"  # … or answered: it knows nothing
SERVED = orjson.dumps({"object": "list", "data": [{"id": NO_MODEL, "object": "model"}]})
REFUSED = orjson.dumps({"error": {"message": "this run has no language model; name a generator"}})
_CHOICE = {"index": 0, "message": {"role": "assistant", "content": "The passages do not say."}, "finish_reason": "stop"}
UNKNOWN = orjson.dumps({"choices": [_CHOICE], "usage": {"prompt_tokens": 0, "completion_tokens": 0}})
_LENGTH = re.compile(rb"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)

Handler: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def serve_no_model(port: int) -> asyncio.Server:
    """Listen on loopback. ``GET …/models`` names one model; whatever is asked of it fails with 501, so that no row is made up."""
    return await asyncio.start_server(_answering(b"501 Not Implemented", REFUSED), "127.0.0.1", port)


async def serve_unknowing(port: int) -> asyncio.Server:
    """As ``serve_no_model``, but all that is asked gets the same refusal in words: for runs in which a model's answer counts as none."""
    return await asyncio.start_server(_answering(b"200 OK", UNKNOWN), "127.0.0.1", port)


STAND_INS = {NO_MODEL: serve_no_model, UNKNOWING: serve_unknowing}


def _answering(status: bytes, body: bytes) -> Handler:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if length := _LENGTH.search(head):
                await reader.readexactly(int(length[1]))  # a connection that closes before all is read loses the answer
            names = head.startswith(b"GET ") and head.split(b" ", 2)[1].endswith(b"/models")
            said = (b"200 OK", SERVED) if names else (status, body)
            lines = (b"HTTP/1.1 " + said[0], b"content-type: application/json", b"content-length: %d" % len(said[1]), b"connection: close")
            writer.write(b"\r\n".join([*lines, b"", said[1]]))
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass  # whoever asked has gone, or speaks no HTTP
        finally:
            writer.close()

    return answer


async def _serve(port: int) -> None:
    await (await serve_no_model(port)).serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
