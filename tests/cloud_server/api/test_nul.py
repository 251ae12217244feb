"""A NUL in a path or a query is nobody's name: whichever store there is, no route breaks over it."""

import hmac
import re
from contextlib import nullcontext
from hashlib import sha256

import pytest

from cloud_server.api.access import RULES
from cloud_server.api.console.access import RULES as PAGES
from shared.http.docs import DOCS
from tests.support.both_services import VALUES, as_json, cloud_service, filled

NUL = "%00"


def with_nul(app):
    """(method, path template, path, query) of every route, with a NUL in the place of each value in turn."""
    described = app.openapi()["paths"]
    for method, path in sorted([*RULES, *PAGES], key=lambda route: route[0] == "DELETE"):
        if (method, path) in DOCS:
            continue
        for name in re.findall(r"\{(\w+)\}", path):
            yield method, path, filled(path.replace(f"{{{name}}}", NUL)), ""
        parameters = described.get(path, {}).get(method.lower(), {}).get("parameters", ())
        for name in [one["name"] for one in parameters if one["in"] == "query"] or ["other"]:
            yield method, path, filled(path), f"{name}={NUL}"


async def broken(service):
    """What the app answers with 5xx; a page's change brings its session's token along."""
    cookie, sessions = "A" * 43, service.app.state.sessions
    token = hmac.new(sessions._secret, cookie.encode(), sha256).hexdigest()
    page = {"cookie": f"{sessions._cookie}={cookie}", "x-csrf-token": token}
    found, answered = [], 0
    for method, path, at, query in with_nul(service.app):
        for content in {as_json(service.bodies.get((method, path), {})), b"null"} if method in ("POST", "PUT") else (None,):
            got = await service.call(method, at, content=content, query=query, headers=page if (method, path) in PAGES else {})
            found += [(method, at, query, got.body)] if got.status >= 500 else []
            answered += got.status in (404, 422)
    assert answered > 20, "else the requests have not come to the store"
    return found


@pytest.fixture
def values(monkeypatch):
    for name, value in (("key_id", "k1"), ("name", "console.js")):
        monkeypatch.setitem(VALUES, name, value)


async def test_no_route_breaks_over_a_nul(tmp_path, database_url, values):
    async with cloud_service(tmp_path, database_url=database_url) as service:
        assert await broken(service) == []


@pytest.mark.process
async def test_where_a_nul_is_not_told_from_other_faults_routes_break(tmp_path, postgres, values, monkeypatch):
    monkeypatch.setattr("cloud_server.database.postgres.storable", nullcontext)
    monkeypatch.setattr("cloud_server.database.letters.storable", nullcontext)
    async with cloud_service(tmp_path, database_url=postgres.fresh()) as service:
        assert {at for _, at, _, _ in await broken(service)} >= {f"/v1/keys/{NUL}", f"/v1/edges/ward/replies/{NUL}"}
