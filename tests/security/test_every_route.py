"""Goal S2: every route of both services, with every kind of wrong credentials, answers 401 or 403 before it reads a body."""

import itertools
import random
import re

import httpx2
import pytest
from fastapi import APIRouter, FastAPI

from cloud_server.api import access as cloud_access
from edge_node.api import access as edge_access
from shared.http.access import Caller, guarded
from shared.http.docs import DOCS
from shared.http.doorkeeper import LOCAL
from shared.http.keyring import KeyRing
from shared.http.open_mode import FORWARDED
from shared.identity import make_identity
from shared.signing import Signature
from tests.support.both_services import SERVICES, URL, filled, routes_of
from tests.support.raw_asgi import send, send_request

PUBLIC = {
    "edge": {("GET", "/health"), ("GET", "/ready")},
    "cloud": {("GET", "/health"), ("GET", "/ready"), ("POST", "/v1/edges")},  # the last checks invitation and signature itself
}
RULES = {"edge": edge_access.RULES, "cloud": cloud_access.RULES}
REFUSED = (401, 403)
HOST = [("host", "127.0.0.1")]
JSON = ("content-type", "application/json")
CHUNK = b"x" * 16_384


def malformed(token):
    """50 headers ``Authorization`` that resemble a good one."""
    head, secret = token[:17], token[17:]
    chance = random.Random(7)
    by_hand = [
        "", "Bearer", "Bearer ", "bearer  ", "Basic " + token, "Digest " + token, token, f"Bearer {head}", f"Bearer {secret}",
        f"Bearer {token}x", f"Bearer {token[:-1]}", f"Bearer {token.upper()}", f"Bearer {token[::-1]}", f"Bearer {token} {token}",
        f"Bearer {token},{token}", f"Bearer '{token}'", f'Bearer "{token}"', f"Bearer {token}\x00", f"Bearer\t{token}", f"Bearer={token}",
        "Bearer dgk_", "Bearer null", "Bearer undefined", "Bearer true", "Bearer *", "Bearer %00", "Bearer ../../keys.db",
        "Bearer ' OR 1=1 --", "Bearer {}", "Bearer []", "Bearer é", "Bearer " + "A" * 5000, "Bearer dgk_" + "0" * 12 + "_" + "A" * 43,
    ]  # fmt: skip
    flipped = [chance.randrange(17, len(token)) for _ in range(50 - len(by_hand))]
    return by_hand + [f"Bearer {token[:place]}{'B' if token[place] == 'A' else 'A'}{token[place + 1 :]}" for place in flipped]


def tokens(folder):
    """A ring with keys; returns tokens by what they are."""
    ring = KeyRing(folder)
    made = {role: ring.add(role, role, now=0.0) for role in ("read", "write", "admin", "metrics")}
    made["expired"] = ring.add("expired", "admin", now=0.0, days=1.0 / 86_400)
    made["revoked"] = ring.add("revoked", "admin", now=0.0)
    ring.revoke("revoked", now=1.0)
    ring.close()
    return made


def wrong_ones(rule, own, foreign):
    """(what it is, Authorization) of all that must not open a route with this rule."""
    yield "none", None
    for text in malformed(own["admin"]):
        yield "malformed", text
    for kind in ("expired", "revoked"):
        yield kind, f"Bearer {own[kind]}"
    yield "of another service", f"Bearer {foreign['admin']}"
    for role, may in (("read", {"read"}), ("write", {"read", "write"}), ("admin", {"read", "write", "admin"}), ("metrics", {"metrics"})):
        if not rule.roles & may:
            yield f"role {role}", f"Bearer {own[role]}"


async def statuses(service, rules, own, foreign):
    """The status of every route that is not public, with each wrong credential."""
    for (method, path), rule in rules.items():
        if "anyone" in rule.roles:
            continue
        for kind, text in wrong_ones(rule, own, foreign):
            headers = HOST if text is None else [*HOST, ("authorization", text)]
            got = await send(service.app, method, filled(path), headers=headers)
            yield f"{method} {path} with {kind} {text!r}", got


@pytest.mark.parametrize("name", SERVICES)
async def test_the_routes_and_the_rules_are_the_same_and_the_public_ones_are_these(tmp_path, name):
    async with SERVICES[name](tmp_path) as service:
        assert set(routes_of(service.app)) | set(DOCS) == set(RULES[name])
        assert not [
            route.path for route in all_routes(service.app) if "GuardedRoute" not in {kind.__name__ for kind in type(route).__mro__}
        ]
    assert {route for route, rule in RULES[name].items() if "anyone" in rule.roles} == PUBLIC[name]


@pytest.mark.parametrize("name", SERVICES)
async def test_a_scrapers_key_reads_the_metrics_and_nothing_else_that_is_not_public(tmp_path, name):
    async with SERVICES[name](tmp_path) as service:
        headers = [*HOST, ("authorization", f"Bearer {tokens(tmp_path)['metrics']}")]
        open_to_it = [
            (method, path)
            for method, path in set(RULES[name]) - PUBLIC[name]
            if (await send(service.app, method, filled(path), headers=headers)).status not in REFUSED
        ]
    assert open_to_it == [("GET", "/metrics")]


def all_routes(app):
    """Every route, described or not."""
    return [route for included in app.routes for route in getattr(getattr(included, "original_router", None), "routes", [included])]


@pytest.mark.parametrize("name", SERVICES)
async def test_no_route_opens_to_wrong_credentials(tmp_path, name):
    async with SERVICES[name](tmp_path / "state") as service:
        own, foreign = tokens(tmp_path / "state"), tokens(tmp_path / "other")
        seen = [what async for what, got in statuses(service, RULES[name], own, foreign) if got.status not in REFUSED]
    assert not seen


@pytest.mark.parametrize("name", SERVICES)
async def test_null_control_without_the_guard_routes_open(tmp_path, monkeypatch, name):
    class Unguarded:
        async def admit(self, request, rule):
            return Caller("anyone", frozenset({"read", "write", "admin"}))

    async with SERVICES[name](tmp_path / "state") as service:
        own, foreign = tokens(tmp_path / "state"), tokens(tmp_path / "other")
        monkeypatch.setattr(service.app.state, "guard", Unguarded())
        rules = dict(itertools.islice(((r, rule) for r, rule in RULES[name].items() if r[0] == "GET" and "events" not in r[1]), 6))
        assert [what async for what, got in statuses(service, rules, own, foreign) if got.status not in REFUSED]


async def test_a_readers_key_makes_no_edge_read_a_document(tmp_path):
    """Said here by itself: the rules, from which the other tests take what they expect, could allow it."""
    async with SERVICES["edge"](tmp_path / "state") as service:
        own = tokens(tmp_path / "state")
        for path in ("/v1/estimate", "/v1/documents"):
            assert (await send(service.app, "POST", path, headers=[*HOST, ("authorization", f"Bearer {own['read']}")])).status == 403


@pytest.mark.parametrize("name", SERVICES)
async def test_right_keys_open_what_they_should(tmp_path, name):
    async with SERVICES[name](tmp_path / "state") as service:
        own = tokens(tmp_path / "state")
        for (method, path), rule in RULES[name].items():
            for role in rule.roles & {"read", "write", "admin", "metrics"}:
                if "events" not in path:
                    got = await send(service.app, method, filled(path), headers=[*HOST, ("authorization", f"Bearer {own[role]}")])
                    assert got.status not in REFUSED, (method, path, role)


async def test_an_edge_route_takes_the_signature_of_its_edge_only(tmp_path):
    async with SERVICES["cloud"](tmp_path) as service:
        audience = service.app.state.cloud.credentials.identity.key_id
        stranger = Signature(make_identity(), audience)
        for (method, path), rule in cloud_access.RULES.items():
            if "edge" not in rule.roles:
                continue
            request = next(stranger.auth_flow(httpx2.Request(method, URL + filled(path))))
            got = await send_request(service.app, request)
            assert got.status in REFUSED, (method, path)


@pytest.mark.parametrize("name", SERVICES)
async def test_a_refusal_reads_no_byte_of_the_body(tmp_path, name):
    async with SERVICES[name](tmp_path / "state") as service:
        own = tokens(tmp_path / "state")
        for (method, path), rule in RULES[name].items():
            if "anyone" in rule.roles:
                continue
            for text in ("Bearer x", f"Bearer {own['expired']}"):
                read, status = await read_bytes(service.app, method, filled(path), [*HOST, ("authorization", text)])
                assert (read, status) == (0, 401), (method, path)


async def read_bytes(app, method, path, headers):
    """Send an endless body; returns the bytes that were read of it and the status."""
    read, status = 0, 0

    async def receive():
        nonlocal read
        read += len(CHUNK)
        return {"type": "http.request", "body": CHUNK, "more_body": True}

    async def collect(message):
        nonlocal status
        status = message.get("status", status)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [(n.encode(), v.encode()) for n, v in [*headers, ("transfer-encoding", "chunked")]], "state": {},
    }  # fmt: skip
    await app(scope, receive, collect)
    return read, status


def test_a_route_without_a_rule_cannot_be_made():
    router = APIRouter(route_class=guarded({}))
    with pytest.raises(KeyError):
        router.get("/secret")(lambda: None)


def test_a_new_route_of_an_app_needs_the_guards_class(tmp_path):
    app = FastAPI()
    app.get("/secret")(lambda: None)
    assert set(routes_of(app)) - set(edge_access.RULES) == {("GET", "/secret")}


@pytest.mark.parametrize("name", SERVICES)
async def test_open_mode_is_for_this_machines_own_names_and_pages(tmp_path, name):
    path = {"edge": "/v1/status", "cloud": "/v1/edges"}[name]
    good = [
        [("host", "127.0.0.1:8100")], [("host", "localhost")], [("host", "[::1]:1")],
        [("host", "127.0.0.1:8100"), ("origin", "http://127.0.0.1:8100")],
        *([("host", "localhost"), ("sec-fetch-site", site)] for site in ("same-origin", "none")),
        [("host", "localhost"), ("authorization", "Bearer any-key-of-an-openai-client")],
    ]  # fmt: skip
    bad = [
        [], [("host", "")], [("host", "evil.example")], [("host", "127.0.0.1.evil.example")], [("host", "10.0.0.1")],
        [("host", "localhost"), ("origin", "http://evil.example")], [("host", "localhost"), ("origin", "null")],
        *([("host", "127.0.0.1"), (header, "203.0.113.9")] for header in (*FORWARDED, "x-forwarded-for", "x-forwarded-anything")),
        *([("host", "127.0.0.1"), ("sec-fetch-site", site)] for site in ("cross-site", "same-site")),  # a link, an image: no Origin
        [("host", "localhost:8100"), ("origin", "http://localhost:3000")], [("host", "localhost@evil.example")], [("host", "[::1")],
    ]  # fmt: skip
    async with SERVICES[name](tmp_path) as service:
        assert [(await send(service.app, "GET", path, headers=headers)).status for headers in good] == [200] * len(good)
        assert [(await send(service.app, "GET", path, headers=headers)).status for headers in bad] == [403] * len(bad)


@pytest.mark.parametrize("name", SERVICES)
async def test_in_open_mode_what_changes_anything_shows_what_no_page_of_another_site_can_send(tmp_path, name):
    path, body = {"edge": ("/v1/retrieve", b'{"question": "?"}'), "cloud": ("/v1/match", b'{"question": "?"}')}[name]
    shown = [
        ("X-DGRAG", "1"),
        ("authorization", "Bearer of-an-openai-client"),
        ("sec-fetch-site", "same-origin"),
        ("sec-fetch-site", "none"),
    ]
    lacking = [
        [],
        [("content-type", "application/json")],
        [("sec-fetch-site", "cross-site")],
        [("x-dgrag", "1"), ("sec-fetch-site", "same-site")],
    ]
    async with SERVICES[name](tmp_path) as service:
        for header in shown:
            assert (await send(service.app, "POST", path, headers=[*HOST, JSON, header], body=body)).status == 200, header
        for headers in lacking:
            got = await send(service.app, "POST", path, headers=[*HOST, *headers], body=body)
            assert got.status == 403, headers
            assert headers[1:] or b"X-DGRAG" in got.body or b"another origin" in got.body
        refused = [got async for got in every_unsafe_route(service.app, RULES[name])]
        assert refused == [403] * len(refused)
        assert refused


async def every_unsafe_route(app, rules):
    """The status of each route that changes something and that open mode opens, for who shows nothing."""
    for (method, path), rule in rules.items():
        if method != "GET" and rule.roles & LOCAL.roles:
            yield (await send(app, method, filled(path), headers=HOST)).status


@pytest.mark.parametrize("name", SERVICES)
async def test_open_mode_takes_nothing_as_nginx_passes_it_on_by_default(tmp_path, name):
    """Its host is rewritten, and no header tells of it: but it speaks HTTP/1.0."""
    path = {"edge": "/v1/status", "cloud": "/v1/edges"}[name]
    async with SERVICES[name](tmp_path) as service:

        async def as_http_1_0(scope, receive, told):
            await service.app({**scope, "http_version": "1.0"}, receive, told)

        got = await send(as_http_1_0, "GET", path, headers=[*HOST, ("connection", "close")])
        assert got.status == 403
        assert b"keys" in got.body
        assert (await send(service.app, "GET", path, headers=HOST)).status == 200


@pytest.mark.parametrize("name", SERVICES)
async def test_the_documentation_fetches_nothing_from_elsewhere_and_holds_no_script(tmp_path, name):
    async with SERVICES[name](tmp_path) as service:
        page = (await send(service.app, "GET", "/docs", headers=HOST)).body.decode()
        loaded = re.findall(r"""(?:src|href)=["']?([^"' >]+)""", page)
        assert loaded
        assert "<script>" not in page
        for address in loaded:
            assert address == "data:," or (address.startswith("/docs/") and not address.startswith("//"))
            if address != "data:,":
                got = await send(service.app, "GET", address, headers=HOST)
                assert got.status == 200
                assert ("css" if address.endswith("css") else "javascript") in got.headers["content-type"]
                fetched = (
                    re.findall(rb"(?:@import|url\()\s*[\"']?\s*((?:https?:)?//[^\s\"')]+)", got.body) if address.endswith("css") else []
                )
                assert fetched == []


@pytest.mark.parametrize("name", SERVICES)
async def test_docs_are_there_in_open_mode_only_and_no_origin_is_ever_allowed(tmp_path, name):
    async with SERVICES[name](tmp_path / "open") as service:
        got = await send(service.app, "GET", "/openapi.json", headers=[*HOST, ("origin", URL)])
        assert got.status == 200
        assert not [header for header in got.headers if header.startswith("access-control")]


@pytest.mark.parametrize("name", SERVICES)
async def test_docs_are_gone_with_the_first_key_and_are_never_told_to_another_host(tmp_path, name):
    async with SERVICES[name](tmp_path) as service:

        async def seen(*headers):
            return [(await send(service.app, "GET", path, headers=headers)).status for path in ("/openapi.json", "/docs", "/redoc")]

        assert await seen(*HOST) == [200, 200, 404]
        assert await seen(("host", "evil.example")) == [403, 403, 404]
        own = tokens(tmp_path)
        assert await seen(*HOST) == [401, 401, 404]
        assert await seen(*HOST, ("authorization", f"Bearer {own['admin']}")) == [404] * 3


@pytest.mark.parametrize("name", SERVICES)
async def test_the_document_says_which_credentials_a_route_takes_and_how_it_refuses(tmp_path, name):
    async with SERVICES[name](tmp_path) as service:
        described = service.app.openapi()
    assert set(described["components"]["securitySchemes"]) == {"edge": {"key"}, "cloud": {"key", "signature"}}[name]
    for (method, path), rule in RULES[name].items():
        if (method, path) not in DOCS:
            operation = described["paths"][path][method.lower()]
            named = {scheme for one in operation.get("security", []) for scheme in one}
            assert ("key" in named, "signature" in named) == (bool(rule.roles & {"read", "write", "admin"}), "edge" in rule.roles)
            assert {"401", "403", "408", "413", "415", "422", "429", "503"} <= set(operation["responses"])


@pytest.mark.parametrize("name", SERVICES)
async def test_a_slash_too_many_leads_nowhere(tmp_path, name):
    async with SERVICES[name](tmp_path) as service:
        for method, path in service.routes:
            got = await send(service.app, method, filled(path) + "/", headers=[("host", "evil.example")])
            assert got.status in (403, 404, 405), (method, path)
