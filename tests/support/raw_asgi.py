"""Requests as no decent client would send them, straight into an app."""

import asyncio
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

PATIENCE_S = 20.0  # a request that hangs fails its test


PIECE_BYTES = 64 * 2**10  # as a server hands a body on


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    body: bytes


async def send(app, method, target, *, headers=(), body=b""):
    """Call the app with these exact bytes. An exception that it lets out is a 500, as a server would make of it."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path.encode("utf-8", "surrogatepass"),
        "query_string": query.encode("utf-8", "surrogatepass"),
        "root_path": "",
        "headers": [(_bytes(name).lower(), _bytes(value)) for name, value in headers],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    messages, sent, ended = _pieces(body), [], asyncio.Event()

    async def receive():
        if messages:
            return messages.pop(0)
        await ended.wait()
        return {"type": "http.disconnect"}

    async def collect(message):
        sent.append(message)

    (error,) = await asyncio.gather(asyncio.wait_for(app(scope, receive, collect), PATIENCE_S), return_exceptions=True)
    ended.set()
    if error is not None:
        return Got(500, {}, repr(error).encode())
    head = next(message for message in sent if message["type"] == "http.response.start")
    named = {name.decode("latin-1"): value.decode("latin-1") for name, value in head["headers"]}
    return Got(head["status"], named, b"".join(message.get("body", b"") for message in sent))


async def send_request(app, request, *, headers=()):
    """An ``httpx2.Request``, with further headers."""
    given = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
    return await send(app, request.method, request.url.raw_path.decode("ascii"), headers=[*given, *headers], body=request.content)


def _bytes(text):
    return text if isinstance(text, bytes) else text.encode("latin-1", "replace")


def _pieces(body):
    """The messages that bring a body."""
    starts = range(0, max(1, len(body)), PIECE_BYTES)
    pieces = [body[start : start + PIECE_BYTES] for start in starts]
    return [{"type": "http.request", "body": piece, "more_body": at < len(pieces) - 1} for at, piece in enumerate(pieces)]
