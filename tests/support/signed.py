"""Edges that sign, for tests of a cloud."""

import re

import httpx2

from shared.http.open_mode import CALLER
from shared.identity import key_id, make_identity
from shared.ports import SystemClock
from shared.signing import ANY_CLOUD, Signature

URL = "http://127.0.0.1"  # in open mode a cloud is called by this machine's own name only
CLOCK = SystemClock()
OWN_PATH = re.compile(r"/v1/edges/([^/]+)(/(keys|ledger|summaries|poll|replies/.*))?")


async def join(http, edge, identity, *, invitation="", clock=CLOCK, **fields):
    """Ask to join; returns the response."""
    body = {"edge": edge, "public_key": identity.public_key, "invitation": invitation, **fields}
    return await http.post("/v1/edges", json=body, auth=Signature(identity, ANY_CLOUD, clock))


async def enrolled(app, edge, *, identity=None, invitation="", transport=None, clock=CLOCK):
    """A client that is an edge: it has joined the cloud behind ``app`` (or ``transport``), and signs all that it sends."""
    identity = identity or make_identity()
    http = httpx2.AsyncClient(headers=CALLER, transport=transport or httpx2.ASGITransport(app), base_url=URL)
    response = await join(http, edge, identity, invitation=invitation, clock=clock)
    assert response.status_code == 201, response.text
    http.auth = Signature(identity, key_id(response.json()["cloud_key"]), clock)
    return http


class AsEdges(httpx2.Auth):
    """Signs what only an edge may call as the edge of the path, and leaves the rest alone."""

    requires_request_body = True

    def __init__(self, audience):
        self._audience = audience
        self._identities = {}

    def identity(self, edge):
        return self._identities.setdefault(edge, make_identity())

    def of(self, edge):
        """The signature of one edge, for requests that others may make too."""
        return Signature(self.identity(edge), self._audience)

    def auth_flow(self, request):
        own = OWN_PATH.fullmatch(request.url.path)
        if own and request.method != "DELETE":
            yield from self.of(own[1]).auth_flow(request)
        else:
            yield request
