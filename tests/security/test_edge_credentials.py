"""Goals S2 and S6 for edges: every route of theirs with every kind of wrong signature, and operators' routes with a right one."""

import base64
import random

import httpx2
import pytest

from cloud_server.api.access import RULES
from shared.http.keyring import KeyRing
from shared.identity import make_identity
from shared.signing import Signature
from tests.support.both_services import filled
from tests.support.raw_asgi import send_request
from tests.support.running_cloud import running_cloud
from tests.support.signed import URL, enrolled

OF_EDGES = sorted(route for route, rule in RULES.items() if "edge" in rule.roles)
OF_OPERATORS = sorted(route for route, rule in RULES.items() if rule.roles.isdisjoint({"edge", "anyone"}))


@pytest.fixture
async def closed(tmp_path):
    """A cloud with an API key, and the edges ward (of all paths here) and bank."""
    ring = KeyRing(tmp_path)
    token = ring.add("operator", "admin", now=0.0)
    ring.close()
    async with running_cloud(tmp_path) as service:
        service.http.headers["authorization"] = f"Bearer {token}"
        service.audience = service.cloud.credentials.identity.key_id
        service.ward = await member(service, "ward")
        yield service


async def member(service, edge):
    """The identity of an edge that has joined."""
    token = (await service.http.post("/v1/invites", json={"edge": edge})).json()["token"]
    identity = make_identity()
    await enrolled(service.app, edge, identity=identity, invitation=token)
    return identity


def signed(route, signature):
    method, path = route
    fields = {"json": {}} if method in ("POST", "PUT") else {}
    query = "?wait_s=0" if path.endswith("/poll") else ""
    return next(signature.auth_flow(httpx2.Request(method, URL + filled(path) + query, **fields)))


async def statuses(service, signature, routes=OF_EDGES):
    return {route: (await send_request(service.app, signed(route, signature))).status for route in routes}


async def test_the_lists_hold_every_route(closed):
    assert (len(OF_EDGES), len(OF_EDGES) + len(OF_OPERATORS) + 3) == (11, len(RULES))


async def test_control_the_edges_own_signature_is_taken_at_each_of_its_routes(closed):
    assert {401, 403}.isdisjoint((await statuses(closed, Signature(closed.ward, closed.audience))).values())


async def test_an_edges_signature_opens_no_route_of_operators(closed):
    assert set((await statuses(closed, Signature(closed.ward, closed.audience), OF_OPERATORS)).values()) <= {401, 403}


async def test_a_signature_for_another_cloud_opens_nothing(closed):
    assert set((await statuses(closed, Signature(closed.ward, "0" * 32))).values()) == {401}


async def test_an_expelled_edge_opens_nothing(closed):
    await closed.http.delete("/v1/edges/ward")
    assert set((await statuses(closed, Signature(closed.ward, closed.audience))).values()) == {403}


async def test_a_key_that_has_ended_opens_nothing(closed):
    with closed.cloud.database.write() as tx:
        tx.execute("UPDATE edge_keys SET ends = 1.0")
    assert set((await statuses(closed, Signature(closed.ward, closed.audience))).values()) == {401}


async def test_another_edges_key_opens_no_route_of_this_edge(closed):
    bank = Signature(await member(closed, "bank"), closed.audience)
    own = [route for route in OF_EDGES if "{edge}" in route[1]]
    assert set((await statuses(closed, bank, own)).values()) <= {404, 422}


def malformed(request):
    """50 ways to spoil the two headers of a signature."""
    chance = random.Random(7)
    given, signature = request.headers["signature-input"], request.headers["signature"]
    raw = bytearray(base64.b64decode(signature.removeprefix("dgrag=:").removesuffix(":")))
    for text in ("", "dgrag=", "dgrag=()", given.replace("ed25519", "none"), given.replace("ed25519", "hmac-sha256"), given + ";x=1",
                 given.replace('"@method" ', ""), given.replace('"@path" ', ""), given.replace('"content-digest" ', ""), given * 2,
                 given.replace("created=", "created=-"), given.replace("created=", "created=9"), given.replace("dgrag-1", "dgrag-2"),
                 given.replace("dgrag=", "other="), given.upper(), given[:-1], given.replace(";keyid", ";nokeyid")):  # fmt: skip
        yield text, signature
    for text in ("", "dgrag=::", "dgrag=:AAAA:", signature[:-1], signature + signature, signature.upper(), "dgrag=:" + "A" * 86 + "==:"):
        yield given, text
    for _ in range(26):
        spoilt = raw.copy()
        spoilt[chance.randrange(64)] ^= 1 << chance.randrange(8)
        yield given, f"dgrag=:{base64.b64encode(spoilt).decode()}:"


async def test_no_route_opens_to_a_malformed_signature_and_none_reads_a_byte_for_it(closed):
    for route in OF_EDGES:
        request = signed(route, Signature(closed.ward, closed.audience))
        tried = list(malformed(request))
        assert len(tried) == 50
        for given, signature in tried:
            request.headers["signature-input"], request.headers["signature"] = given, signature
            read, status = await unread(closed.app, request)
            assert (read, status) == (0, 401), (route, given, signature)


async def unread(app, request):
    """Send a request whose body nobody should want; returns how often it was read, and the status."""
    read, status = 0, 0

    async def receive():
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    async def collect(message):
        nonlocal status
        status = message.get("status", status)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method, "scheme": "http",
        "path": request.url.path, "raw_path": request.url.path.encode(), "query_string": b"", "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "headers": [(n.lower(), v) for n, v in request.headers.raw], "state": {},
    }  # fmt: skip
    await app(scope, receive, collect)
    return read, status
