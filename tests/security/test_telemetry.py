"""Goal S13: FastAPI's own telemetry, which an environment variable or a global provider wakes elsewhere, records nothing of a service."""

import contextlib

import pytest
from fastapi import FastAPI
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from edge_node.api.safe_mode import create_safe_app
from edge_node.settings import EdgeSettings
from shared.errors import StoreDamaged
from tests.support.both_services import SERVICES
from tests.support.raw_asgi import send

CANARY = "canary-entity-77c1"
HOST = [("host", "127.0.0.1")]


class Trap(TracerProvider):
    """A provider that shows the spans it is given, and who would send them away."""

    def __init__(self):
        super().__init__(shutdown_on_exit=False)
        self.spans, self.senders = InMemorySpanExporter(), []
        super().add_span_processor(SimpleSpanProcessor(self.spans))

    def add_span_processor(self, span_processor):
        span_processor.shutdown()
        self.senders.append(span_processor)

    def said(self):
        return " ".join(span.to_json() for span in self.spans.get_finished_spans())


@pytest.fixture
def trap(monkeypatch):
    """What a collector beside the service would set."""
    made = Trap()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", made)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    monkeypatch.setenv("OTEL_LOGS_EXPORTER", "none")
    return made


@contextlib.asynccontextmanager
async def safe_mode(folder):
    app = create_safe_app(EdgeSettings(id="ward", state_dir=folder), StoreDamaged("a page of the store"))
    yield app
    app.state.guard.close()


@contextlib.asynccontextmanager
async def service(name, folder):
    if name == "safe mode":
        async with safe_mode(folder) as app:
            yield app
    else:
        async with SERVICES[name](folder) as running:
            yield running.app


@pytest.mark.parametrize("name", [*SERVICES, "safe mode"])
async def test_no_service_records_or_sends_a_span_whatever_the_environment_says(tmp_path, trap, name):
    async with service(name, tmp_path) as app:
        for path in (f"/v1/graph?entity={CANARY}", f"/v1/edges?name={CANARY}", f"/{CANARY}"):
            await send(app, "GET", path, headers=HOST)
    assert (trap.said(), trap.senders) == ("", [])


async def test_null_control_an_app_that_leaves_it_on_records_the_query_and_sends_it(trap):
    app = FastAPI()
    app.get("/v1/graph")(lambda entity: {"entity": entity})
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive():
        return messages.pop(0)

    async def ignore(message):
        pass

    await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, ignore)
    await send(app, "GET", f"/v1/graph?entity={CANARY}", headers=HOST)
    assert CANARY in trap.said()
    assert len(trap.senders) == 1
