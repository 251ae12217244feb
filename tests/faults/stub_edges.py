"""Edges that fail in every way, over real sockets and with real signatures; each polls until it is cancelled."""

import asyncio
import contextlib
import json
from urllib.parse import urlsplit

import httpx2

from shared.http.open_mode import CALLER
from shared.identity import key_id, make_identity
from shared.signing import ANY_CLOUD, Signature

POLL_S = 5
DRIP_EVERY_S = 0.2


class StubEdge:
    """``behave(edge, request_id)`` says how it replies."""

    def __init__(self, url, name, behave):
        self.url = url
        self.name = name
        self.behave = behave
        self.asked = 0
        self.seen = []  # requests, as the cloud sent them
        self._identity = make_identity()
        self._replying = set()

    async def join(self, summary):
        """Make itself known, with one summary."""
        async with httpx2.AsyncClient(headers=CALLER, base_url=self.url, timeout=30) as http:
            body = {"edge": self.name, "public_key": self._identity.public_key}
            joined = await http.post("/v1/edges", json=body, auth=Signature(self._identity, ANY_CLOUD))
            assert joined.status_code == 201, joined.text
            self.audience = key_id(joined.json()["cloud_key"])
            one = {"summary_id": "s", "text": summary, "entities": 1, "relations": 1}
            delta = {"epoch": "e", "base_version": 0, "version": 1, "upserts": [one], "removals": []}
            assert (await http.put(f"/v1/edges/{self.name}/summaries", json=delta, auth=self.signature)).status_code == 200

    @property
    def signature(self):
        return Signature(self._identity, self.audience)

    async def serve(self):
        """Poll, and reply to each request in a task of its own."""
        async with httpx2.AsyncClient(headers=CALLER, base_url=self.url, timeout=30) as self.http:
            try:
                while True:
                    polled = await self.http.post(f"/v1/edges/{self.name}/poll?wait_s={POLL_S}", auth=self.signature)
                    for request in polled.json().get("requests", []):
                        self.asked += 1
                        self.seen.append(request)
                        task = asyncio.create_task(self.behave(self, request["request_id"]))
                        self._replying.add(task)
                        task.add_done_callback(self._replying.discard)
            finally:
                for task in self._replying:
                    task.cancel()
                await asyncio.gather(*self._replying, return_exceptions=True)

    async def reply(self, request_id, body):
        """A whole reply, signed; ``body``: JSON, or bytes."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        path = f"/v1/edges/{self.name}/replies/{request_id}"
        with contextlib.suppress(httpx2.TransportError):  # a cloud that has heard enough closes the connection
            return await self.http.post(path, content=content, headers=headers, auth=self.signature)

    async def raw(self, request_id, body, *, pieces, pause_s, headers=()):
        """A reply of signed headers and then ``pieces`` of a body, one each ``pause_s`` seconds."""
        url = f"{self.url}/v1/edges/{self.name}/replies/{request_id}"
        request = httpx2.Request("POST", url, content=body, headers={"content-type": "application/json"})
        next(self.signature.auth_flow(request))
        if headers:
            del request.headers["content-length"]
            request.headers.update(headers)
        head = f"POST {urlsplit(url).path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
        try:
            with contextlib.suppress(ConnectionError):
                writer.write(head.encode() + b"\r\n")
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(pause_s)
                await reader.read()
        finally:
            writer.close()


async def good(edge, request_id):
    text = f"The pump P-204 was replaced in March, says {edge.name}."
    passage = {"document_id": "d", "document": "a.md", "chunk_id": "d:0", "span": [0, len(text)], "text": text}
    await edge.reply(request_id, {"evidence": [passage]})


async def refuse(edge, request_id):
    await edge.reply(request_id, {"refused": "the sharing policy of this site"})


async def silent(edge, request_id):
    """Takes the request, and that is all."""


async def drip(edge, request_id):
    body = json.dumps({"evidence": []}).encode() + b" " * 1000
    await edge.raw(request_id, body, pieces=[body[n : n + 1] for n in range(len(body))], pause_s=DRIP_EVERY_S)


async def garbage(edge, request_id):
    """In turn: no JSON, another's request, NaN, a nested list without end."""
    bodies = [b"\xff\xfe not json", b'{"evidence": "many"}', b'{"evidence": [], "trace": [{"step": "x", "ms": NaN}]}', b"[" * 5000]
    await edge.reply(request_id if edge.asked % 2 else "0" * 32, bodies[edge.asked % len(bodies)])


async def too_much(edge, request_id):
    """In turn: 1 MB at once, and a body that never ends."""
    if edge.asked % 2:
        await edge.reply(request_id, {"refused": "x" * 1_000_000})
    else:
        declared = b" " * 200_000
        await edge.raw(request_id, declared, pieces=[b" " * 65536] * 200, pause_s=0)


async def oversized(edge, request_id):
    """4 MB, of declared length."""
    body = b" " * 4_000_000
    await edge.raw(request_id, body, pieces=[body[at : at + 65536] for at in range(0, len(body), 65536)], pause_s=0)


async def endless(edge, request_id):
    """4 MB in chunks, of which none is the last."""
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    await edge.raw(request_id, b" ", pieces=[chunk] * 64, pause_s=0, headers={"transfer-encoding": "chunked"})
