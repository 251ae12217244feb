"""What a browser does at a console, in this process: a session's token with every change, and a key where there are any."""

import contextlib
import re
import time

from shared.http.console.sessions import CSRF_HEADER
from shared.http.keyring import KeyRing
from tests.support.running_edge import running_edge

PAGE_TOKEN = re.compile(r'data-token="([0-9a-f]{64})"')


class Visit:
    """The pages of one edge, as a person with one role sees them."""

    def __init__(self, edge, key):
        self.edge = edge
        self._headers = {"authorization": f"Bearer {key}"}
        self._token = ""

    async def get(self, path, **fields):
        return await self.edge.http.get(path, headers=self._headers, **fields)

    async def change(self, method, path, **fields):
        """A change as htmx sends it from a page of this session."""
        if not self._token:
            self._token = PAGE_TOKEN.search((await self.get("/")).text)[1]
        return await self.edge.http.request(
            method, path, headers=self._headers | {CSRF_HEADER: self._token, "hx-request": "true"}, **fields
        )

    async def forged(self, method, path, **fields):
        """The same without the token."""
        return await self.edge.http.request(method, path, headers=self._headers, **fields)

    async def add(self, name, text, **data):
        """The id of a document that is added as a file, and indexed or parked."""
        answer = await self.change("POST", "/console/documents", files={"file": (name, text.encode())}, data=data)
        assert answer.status_code == 200, answer.text
        await self.edge.settled()
        return next(one["document_id"] for one in self.edge.node.documents.list(limit=1000, name=name))


@contextlib.asynccontextmanager
async def visited_edge(folder, **settings):
    """An edge with a key for each role, and a visit by each."""
    ring = KeyRing(folder)
    try:
        keys = {role: ring.add(role, role, now=time.time()) for role in ("read", "write", "admin")}
    finally:
        ring.close()
    async with running_edge(folder, **settings) as edge:
        yield {role: Visit(edge, key) for role, key in keys.items()}
