"""A person at a console, in this process: signed in with a key of some role, by the pages' own forms."""

import contextlib
import re
import time

import httpx2

from shared.http.console.sessions import CSRF_HEADER
from shared.http.keyring import KeyRing
from tests.support.running_edge import running_edge

URL = "http://127.0.0.1"
PIECE = {"HX-Request": "true"}
PAGE = {"Accept": "text/html,application/xhtml+xml"}
PAGE_TOKEN = re.compile(r'data-token="([0-9a-f]{64})"')


class Person:
    """A client with a browser's cookies. A change carries the token of the page that was read last."""

    def __init__(self, http, edge=None):
        self.http = http
        self.edge = edge  # whose pages they are, where it is an edge
        self.token = ""

    async def get(self, path, **query):
        """The response to a page that a browser goes to."""
        response = await self.http.get(path, params=query or None, headers=PAGE)
        if found := PAGE_TOKEN.search(response.text):
            self.token = found[1]
        return response

    async def read(self, path, *, status=200):
        """The markup of a page."""
        response = await self.get(path)
        assert response.status_code == status, response.text
        return response.text

    async def send(self, method, path, *, token=None, **content):
        """The response to a change, as htmx sends it from a page of this session; ``token``: another one than the page's."""
        if token is None and not self.token:
            await self.get("/")
        headers = PIECE | {CSRF_HEADER: self.token if token is None else token}
        return await self.http.request(method, path, headers=headers, **content)

    async def change(self, method, path, *, status=200, token=None, **fields):
        """Send a form; returns the markup that comes."""
        response = await self.send(method, path, token=token, data=fields)
        assert response.status_code == status, response.text
        return response.text

    async def add(self, name, text, **fields):
        """The id of a document that is added as a file, and indexed or parked."""
        response = await self.send("POST", "/console/documents", files={"file": (name, text.encode())}, data=fields)
        assert response.status_code == 200, response.text
        await self.edge.settled()
        return next(one["document_id"] for one in self.edge.node.documents.list(limit=1000, name=name))


@contextlib.asynccontextmanager
async def person(app, folder, role, *, edge=None):
    """Somebody who has signed in with a new key of this role. The service is closed to others from the first key on."""
    ring = KeyRing(folder)
    key = ring.add(role, role, now=time.time())
    ring.close()
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=URL) as http:
        visitor = Person(http, edge)
        await visitor.read("/", status=401)
        await visitor.change("POST", "/console/session", status=204, key=key)
        visitor.token = ""  # it was the session's before
        yield visitor


@contextlib.asynccontextmanager
async def visited_edge(folder, **settings):
    """An edge, and a person of each role at its console."""
    async with running_edge(folder, **settings) as edge, contextlib.AsyncExitStack() as stack:
        app = edge.http._transport.app
        yield {role: await stack.enter_async_context(person(app, folder, role, edge=edge)) for role in ("read", "write", "admin")}
