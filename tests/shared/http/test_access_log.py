import json
import logging

import httpx2
import pytest
from fastapi import FastAPI

from shared.http.middleware import AccessLog
from shared.http.open_mode import CALLER
from shared.telemetry.logs import JsonLines
from shared.telemetry.metrics import Meter
from tests.support.metrics_pages import value
from tests.support.raw_asgi import send

log = logging.getLogger("dgrag.test.access")


def app_with(meter):
    app = FastAPI()

    @app.get("/v1/documents/{name}")
    async def document(name: str):
        if name == "broken":
            raise ValueError(name)
        return {"name": name}

    app.add_middleware(AccessLog, meter=meter, log=log)
    return app


async def asked(app, method, path):
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(headers=CALLER, transport=transport, base_url="http://127.0.0.1") as http:
        return await http.request(method, path)


async def test_a_request_is_counted_by_the_template_of_its_route():
    meter = Meter("ward")
    app = app_with(meter)
    for path in ("/v1/documents/canary-1", "/v1/documents/canary-2"):
        await asked(app, "GET", path)
    page = meter.page()
    assert value(page, "dgrag_http_seconds_count", method="GET", route="/v1/documents/{name}", status="2xx") == 2
    assert b"canary" not in page


@pytest.mark.parametrize(("method", "path"), [("GET", "/canary"), ("CANARY", "/canary"), ("GET", "/v1/documents/a/canary")])
async def test_a_path_that_no_route_has_is_not_on_the_page(method, path):
    meter = Meter("ward")
    await send(app_with(meter), method, path)
    assert b'route="-",status="4xx"' in meter.page()
    assert b"canary" not in meter.page().lower()


async def test_a_request_that_breaks_the_service_counts_as_one():
    meter = Meter("ward")
    await asked(app_with(meter), "GET", "/v1/documents/broken")
    assert value(meter.page(), "dgrag_http_seconds_count", method="GET", route="/v1/documents/{name}", status="5xx") == 1


async def test_a_request_is_a_line_of_closed_fields_also_as_an_object(caplog):
    caplog.set_level(logging.INFO)
    await send(app_with(Meter("ward")), "CANARY", "/v1/documents/canary?canary=1", headers=[("canary", "canary")], body=b"canary")
    await asked(app_with(Meter("ward")), "GET", "/v1/documents/canary")
    lost, served = (record for record in caplog.records if record.name == log.name)
    assert lost.getMessage().startswith("OTHER /v1/documents/{name} 405 ")
    line = json.loads(JsonLines("edge", "ward").format(served))
    assert {key: line[key] for key in ("method", "route", "status", "bytes")} == {
        "method": "GET",
        "route": "/v1/documents/{name}",
        "status": 200,
        "bytes": len('{"name":"canary"}'),
    }
    assert line["ms"] >= 0
    assert line.keys() == {
        *("at", "level", "logger", "message", "service", "edge", "request"),
        *("method", "route", "status", "ms", "bytes"),
    }
    assert "canary" not in JsonLines("edge").format(lost).lower() + JsonLines("edge").format(served)


async def test_an_error_that_nobody_expected_is_told_without_its_words(caplog):
    await asked(app_with(Meter("ward")), "GET", "/v1/documents/broken")
    (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert told.startswith("an error that nobody expected: ValueError at test_access_log.py:")
    assert "broken" not in told
