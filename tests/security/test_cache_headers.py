"""No cache keeps an answer of a service, and no proxy holds a stream up: neither is a route's to remember."""

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from shared.http.caching import CacheHeaders
from shared.http.console.pages import asset_path
from shared.http.docs import DOCS, OPENAPI, PAGE
from tests.support.both_services import QUERIES, SERVICES, URL, as_json, filled, routes_of
from tests.support.raw_asgi import send

HOST = [("host", "127.0.0.1")]
PAGES = {"edge": ["/", "/console", "/console/audit", "/console/audit/export/csv", "/console/health/export"], "cloud": ["/", "/console"]}
NDJSON = ("accept", "application/x-ndjson")
EVENTS = ("accept", "text/event-stream")
STREAMS = {  # all routes that can stream, with what makes them do it
    "edge": [
        ("POST", "/v1/query", {"stream": True}, ()),
        ("POST", "/v1/chat/completions", {"stream": True}, ()),
        ("POST", "/api/chat", {"stream": True}, ()),
        ("POST", "/api/generate", {"stream": True}, ()),
        ("GET", "/v1/export", {}, ()),
        ("GET", "/console/audit/export/csv", {}, ()),
        ("GET", "/console/health/export", {}, ()),
    ],
    "cloud": [("POST", "/v1/questions", {}, (NDJSON,)), ("POST", "/v1/evidence", {}, (NDJSON,))],
}


async def answers(service):
    """(what was asked, the answer) of each route, of pages and of a path that is none."""
    for method, path in routes_of(service.app):
        body = service.bodies.get((method, path))
        content = None if body is None else as_json(body)
        yield f"{method} {path}", await service.call(method, filled(path), content=content, query=QUERIES.get(path, ""))
    for path in (*PAGES[service.name], PAGE, OPENAPI, "/no/such/path"):
        yield f"GET {path}", await service.call("GET", path)


@pytest.mark.parametrize("name", SERVICES)
async def test_no_cache_may_keep_an_answer_and_errors_are_answers(tmp_path, name):
    async with SERVICES[name](tmp_path) as service:
        async for asked, got in answers(service):
            assert "no-store" in got.headers.get("cache-control", ""), asked
            assert {"Accept", "Authorization", "Cookie"} <= set(got.headers["vary"].split(", ")), asked


@pytest.mark.parametrize("name", SERVICES)
async def test_static_files_may_be_kept(tmp_path, name):
    async with SERVICES[name](tmp_path) as service:
        script = await service.call("GET", asset_path("console.js"))
        docs = [await service.call("GET", path) for _, path in DOCS if path not in (PAGE, OPENAPI)]
    assert (script.status, script.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert "vary" not in script.headers
    assert {(one.status, one.headers["cache-control"]) for one in docs} == {(200, "private, max-age=86400")}


@pytest.mark.parametrize("name", SERVICES)
async def test_every_stream_passes_through_proxies_as_it_is_written(tmp_path, name):
    async with SERVICES[name](tmp_path) as service:
        for method, path, change, headers in STREAMS[name]:
            body = service.bodies.get((method, path))
            content = None if body is None else as_json(body | change)
            got = await service.call(method, path, content=content, headers=headers)
            assert (got.status, "content-length" in got.headers) == (200, False), path
            assert got.headers["x-accel-buffering"] == "no", path
            assert got.headers["cache-control"] == "no-store, no-transform", path


def app_with_a_stream(*middleware):
    app = FastAPI()

    @app.get("/lines")
    async def lines() -> StreamingResponse:
        return StreamingResponse(iter([b"{}\n"]), media_type="application/x-ndjson")

    for each in middleware:
        app.add_middleware(each)
    return app


async def test_a_new_route_that_streams_needs_to_know_nothing_of_it():
    bare = await send(app_with_a_stream(), "GET", "/lines", headers=HOST)
    got = await send(app_with_a_stream(CacheHeaders), "GET", "/lines", headers=HOST)
    assert not bare.headers.keys() & {"x-accel-buffering", "cache-control"}
    assert (got.headers["x-accel-buffering"], got.headers["cache-control"]) == ("no", "no-store, no-transform")


async def test_an_error_that_nobody_expected_is_not_kept_either(tmp_path):
    async with SERVICES["edge"](tmp_path) as service:
        service.app.state.node = None
        transport = httpx2.ASGITransport(service.app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=URL) as http:
            got = await http.get("/v1/documents")
    assert (got.status_code, got.json()["code"], got.headers["cache-control"]) == (500, "internal", "no-store")
