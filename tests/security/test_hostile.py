"""Goal S8: a hand-written list of hostile input at every route of both services: no server error, no hang, no traceback."""

import pytest

from tests.support.both_services import QUERIES, SERVICES, VALUES, as_json, edge_service, filled
from tests.support.hostile import fault, hostile, hostile_headers, places, with_text
from tests.support.raw_asgi import Got, send, send_request

pytestmark = pytest.mark.campaign

BAD_FORMS = [
    b"",
    b"--x",
    b"--x\r\n\r\n\r\n--x--",
    b"--x--\r\n",
    b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\na\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\na\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a\x00b"\r\n\r\na\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="\xff\xfe"\r\n\r\na\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="../../x.md"\r\n\r\na\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7 nonsense\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.docx"\r\n\r\nPK\x03\x04nonsense\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="labels"\r\n\r\n\xff\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="title"\r\n\r\n' + b"a" * 5_000 + b"\r\n--x--\r\n",
    b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n",
    b"--x\r\nContent-Disposition: attachment\r\n\r\na\r\n--x--\r\n",
    b"--x\r\n" + b"A: b\r\n" * 1_000 + b"\r\na\r\n--x--\r\n",
    b'--x\r\nContent-Disposition: form-data; name="' + b"a" * 70_000 + b'"\r\n\r\na\r\n--x--\r\n',
    (b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.md"\r\n\r\na\r\n' * 1_100) + b"--x--\r\n",
]


@pytest.fixture(params=SERVICES)
async def service(request, tmp_path):
    async with SERVICES[request.param](tmp_path) as running:
        yield running


async def faults_in(service, requests):
    found = {}
    for name, request in requests:
        if why := fault(await send_request(service.app, request)):
            found[f"{service.name} {name}"[:160]] = why
    return found


def test_the_list_has_at_least_300_lines():
    assert sum(len(hostile(section)) for section in ("values", "bodies", "segments", "queries", "headers")) >= 300


async def test_every_route_that_takes_a_body_is_in_the_table(service):
    described = {
        (method.upper(), path)
        for path, item in service.app.openapi()["paths"].items()
        for method, operation in item.items()
        if "requestBody" in operation
    }
    assert described <= set(service.bodies)


async def test_a_valid_request_to_every_route_is_taken(service):
    """The list starts from these: were they refused at the door, nothing behind it would be tested."""
    for method, path in service.routes:
        body = service.bodies.get((method, path))
        got = await service.call(method, filled(path), content=None if body is None else as_json(body), query=QUERIES.get(path, ""))
        if not path.endswith("/keys"):  # that one needs the proof of a second key
            assert got.status not in (401, 403, 413, 415), (service.name, method, path, got.body)


def requests_with_values(service, *, every):
    """Each field of each body with each ``every``-th value, another part of the list in every field."""
    fields = [(route, body, place) for route, body in service.bodies.items() if route in service.routes for place in places(body)]
    for row, ((method, path), body, place) in enumerate(fields):
        for text in hostile("values")[row % every :: every]:
            yield f"{method} {path} {place} {text[:60]}", service.request(method, filled(path), content=with_text(body, place, text))


async def test_hostile_values_in_every_field(service):
    assert await faults_in(service, requests_with_values(service, every=6)) == {}


@pytest.mark.long
async def test_all_hostile_values_in_every_field(service):
    assert await faults_in(service, requests_with_values(service, every=1)) == {}


async def test_hostile_bodies_at_every_route(service):
    """All of them where a body is read, and elsewhere, where the door alone meets it, another part of the list at every route."""
    requests = (
        (f"{method} {path} {text[:60]}", service.request(method, filled(path), content=text.encode(), query=QUERIES.get(path, "")))
        for row, (method, path) in enumerate(service.routes)
        for text in (hostile("bodies") if (method, path) in service.bodies else hostile("bodies")[row % 6 :: 6])
    )
    assert await faults_in(service, requests) == {}


async def test_hostile_path_segments(service):
    requests = (
        (
            f"{method} {path} {text[:60]}",
            service.request(method, filled(path.replace(f"{{{name}}}", text)), query=QUERIES.get(path, "")),
        )
        for method, path in service.routes
        for name in VALUES
        if f"{{{name}}}" in path
        for text in hostile("segments")
    )
    assert await faults_in(service, requests) == {}


async def test_hostile_queries(service):
    requests = (
        (f"{method} {path} {text[:60]}", service.request(method, filled(path), query=text))
        for method, path in service.routes
        if method == "GET" or path in QUERIES
        for text in hostile("queries")
        if text.startswith("wait_s") or path not in QUERIES  # else the poll is held for its usual time
    )
    assert await faults_in(service, requests) == {}


async def test_hostile_headers_at_every_route(service):
    found = {}
    for method, path in service.routes:
        body = service.bodies.get((method, path))
        content = None if body is None else as_json(body)
        for header in hostile_headers():
            request = service.request(method, filled(path), content=content, query=QUERIES.get(path, ""))
            got = await send_request(service.app, without(request, header[0]), headers=[header])
            if why := fault(got):
                found[f"{service.name} {method} {path} {header}"[:160]] = why
    assert found == {}


def without(request, name):
    request.headers.pop(name, None)
    return request


async def test_bad_forms(tmp_path):
    kind = {"content-type": "multipart/form-data; boundary=x"}
    async with edge_service(tmp_path) as edge:
        requests = [
            (f"{path} {form[:90]!r}", edge.request("POST", path, content=form, headers=kind))
            for path in ("/v1/documents", "/v1/estimate")
            for form in BAD_FORMS
        ]
        assert await faults_in(edge, requests) == {}


async def test_a_service_that_breaks_is_noticed():
    """The null control: an app that fails, or shows its inside, has a fault."""

    async def broken(scope, receive, send):
        raise ValueError("no")

    assert fault(await send(broken, "GET", "/")).startswith("500")
    assert fault(Got(200, {}, b"Traceback (most recent call last)"))
    assert fault(Got(404, {"content-type": "text/html"}, b"<h1>no</h1>"))
