import logging

import httpx
import pytest
from fastapi import FastAPI

from shared.access_log import AccessLog
from shared.metrics import Meter
from tests.support.metrics_pages import value
from tests.support.raw_asgi import send

log = logging.getLogger("dgrag.test.access")


def app_with(meter, **given):
    app = FastAPI()

    @app.get("/v1/documents/{name}")
    async def document(name: str):
        if name == "broken":
            raise ValueError(name)
        return {"name": name}

    app.add_middleware(AccessLog, meter=meter, **given)
    return app


async def asked(app, method, path):
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
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


async def test_with_a_log_it_has_a_line_a_request_and_without_none(caplog):
    caplog.set_level(logging.INFO)
    await asked(app_with(Meter("ward"), log=log), "GET", "/v1/documents/canary")
    await asked(app_with(Meter("ward")), "GET", "/v1/documents/canary")
    lines = [record.getMessage() for record in caplog.records if record.name == log.name]
    assert len(lines) == 1
    assert lines[0].startswith("GET /v1/documents/{name} 200 ")
    assert "canary" not in lines[0]
