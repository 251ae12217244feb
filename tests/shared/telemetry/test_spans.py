"""Spans of work and of its steps: ids that fit together, times, counts, and no words of anybody."""

import logging
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from shared.errors import SettingsError
from shared.http.service import recorder_of
from shared.records import TraceStep
from shared.telemetry.correlation import STATUS, parsed, tell, working
from shared.telemetry.spans import Announcing, Spans, spans_to

GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SETTING = "DGRAG_EDGE_OTLP_URL"


@pytest.fixture
def kept():
    return InMemorySpanExporter()


@pytest.fixture
def spans(kept):
    return Spans(SimpleSpanProcessor(kept), service="dgrag-edge", instance="ward")


@pytest.fixture
def collector():
    """The address of one that takes everything, and what it took: path, type, body."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            received.append((self.path, self.headers["content-type"], self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", received
    server.shutdown()
    server.server_close()


def test_a_step_is_a_child_of_the_work_and_the_work_of_whoever_asked(kept, spans):
    with working(GIVEN, spans, name="POST /v1/query") as work:
        tell(TraceStep("samples", 250.0, calls=2, tokens_in=30))
    step, server = kept.get_finished_spans()
    asker = parsed(GIVEN)
    assert {span.context.trace_id for span in (step, server)} == {int(asker.trace_id, 16)}
    assert (server.parent.span_id, step.parent.span_id) == (int(asker.span_id, 16), server.context.span_id)
    assert server.context.span_id == int(work.place.span_id, 16) != step.context.span_id
    assert (server.kind, step.kind) == (SpanKind.SERVER, SpanKind.INTERNAL)
    assert (server.name, step.name, dict(step.attributes)) == ("POST /v1/query", "samples", {"dgrag.calls": 2, "dgrag.tokens_in": 30})
    assert step.end_time - step.start_time == 250_000_000
    assert dict(server.resource.attributes).keys() == {"service.name", "service.instance.id", "service.version"}


def test_work_that_nobody_asked_for_is_a_root(kept, spans):
    with working("", spans, name="serve evidence"):
        pass
    assert kept.get_finished_spans()[0].parent is None


@pytest.mark.parametrize(("status", "said"), [(200, StatusCode.UNSET), (404, StatusCode.UNSET), (500, StatusCode.ERROR)])
def test_an_error_of_the_service_is_one_and_an_error_of_the_caller_is_none(kept, spans, status, said):
    with working("", spans, name="GET /") as work:
        work.facts[STATUS] = status
    assert kept.get_finished_spans()[0].status.status_code is said


def test_the_environment_adds_nothing_to_what_is_said_of_the_service(monkeypatch, kept):
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "canary=1")
    with working("", Spans(SimpleSpanProcessor(kept), service="dgrag-cloud", instance="cloud"), name="x"):
        pass
    assert "canary" not in kept.get_finished_spans()[0].to_json()


def test_spans_are_off_by_default():
    assert recorder_of("", service="dgrag-edge", instance="ward", setting=SETTING) is None


def test_without_the_extra_the_setting_names_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "shared.telemetry.spans")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(SettingsError) as caught:
        recorder_of("http://127.0.0.1:9", service="dgrag-edge", instance="ward", setting=SETTING)
    assert "dgrag[otel]" in caught.value.next_step
    assert SETTING in caught.value.next_step


@pytest.mark.parametrize("url", ["127.0.0.1:4318", "ftp://a/", "http://"])
def test_what_is_no_url_is_said_at_the_start(url):
    with pytest.raises(SettingsError, match="no URL"):
        recorder_of(url, service="dgrag-edge", instance="ward", setting=SETTING)


def test_spans_reach_a_collector_over_http_before_the_service_ends(collector):
    url, received = collector
    spans = spans_to(f"{url}/", service="dgrag-edge", instance="ward")
    with working(GIVEN, spans, name="POST /v1/query"):
        tell(TraceStep("samples", 1.0))
    spans.close()
    ((path, kind, body),) = received
    assert (path, kind) == ("/v1/traces", "application/x-protobuf")
    assert all(word in body for word in (b"POST /v1/query", b"samples", bytes.fromhex(parsed(GIVEN).trace_id)))


def test_a_collector_that_is_away_costs_one_line_and_so_does_its_return(caplog):
    caplog.set_level(logging.INFO)
    results = [SpanExportResult.FAILURE, SpanExportResult.FAILURE, SpanExportResult.SUCCESS, SpanExportResult.SUCCESS]

    class Exporter:
        def export(self, spans):
            return results.pop(0)

    exporter = Announcing(Exporter())
    for _ in range(4):
        exporter.export(())
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_service_ends_while_its_collector_is_away(caplog, monkeypatch):
    monkeypatch.setattr("shared.telemetry.spans.SEND_TIMEOUT_S", 0.2)
    spans = spans_to("http://127.0.0.1:9", service="dgrag-edge", instance="ward")
    with working("", spans, name="x"):
        pass
    spans.close()
    assert caplog.messages == ["the collector takes no spans; those of this time are lost"]
