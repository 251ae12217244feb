"""A person at a console, in this process: signed in with a key of some role, by the pages' own forms."""

import contextlib
import re

import httpx

from shared.http.keyring import KeyRing

URL = "http://127.0.0.1"
PIECE = {"HX-Request": "true"}


class Person:
    """A client with a browser's cookies. A change carries the token of the page that was read last."""

    def __init__(self, http):
        self.http = http
        self.token = ""

    async def read(self, path, *, status=200):
        """The markup of a page."""
        response = await self.http.get(path)
        assert response.status_code == status, response.text
        self.token = re.search(r'data-token="(\w+)"', response.text)[1]
        return response.text

    async def change(self, method, path, *, status=200, token=None, **fields):
        """Send a form as a page does; returns the markup that comes."""
        headers = PIECE | {"X-CSRF-Token": self.token if token is None else token}
        response = await self.http.request(method, path, data=fields, headers=headers)
        assert response.status_code == status, response.text
        return response.text


@contextlib.asynccontextmanager
async def person(app, folder, role):
    """Somebody who has signed in with a new key of this role. The service is closed to others from the first key on."""
    ring = KeyRing(folder)
    key = ring.add(role, role, now=0.0)
    ring.close()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL) as http:
        visitor = Person(http)
        await visitor.read("/", status=401)
        await visitor.change("POST", "/console/session", status=204, key=key)
        yield visitor
