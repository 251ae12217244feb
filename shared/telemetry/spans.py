"""Spans for an OpenTelemetry collector (extra ``otel``): one for the work on a request, and one for each step of it.

They hold names of routes and steps, times and counts, and nothing that anybody wrote. A span is made when its work has ended, with
the ids that correlation gave it: nothing here knows a current span, and no global provider is asked or set.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from urllib.parse import urlsplit

import requests
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from shared.records import TraceStep
from shared.telemetry.correlation import STATUS, RequestWork, SpanPlace
from shared.tls import is_loopback

TRACES = "/v1/traces"  # of OTLP over HTTP
SEND_EVERY_S = 5.0
SEND_TIMEOUT_S = 2.0  # a stop waits so long for each of at most two batches
MOST_KEPT = 1024  # spans that wait for a collector; the oldest are dropped
log = logging.getLogger("dgrag.spans")


class Spans:
    """Implements ``Recorder``. ``service``: as "dgrag-edge"; ``instance``: which one, as the edge's id."""

    def __init__(self, processor: SpanProcessor, *, service: str, instance: str) -> None:
        self._processor = processor
        version = metadata.version("dgrag")
        named = {"service.name": service, "service.instance.id": instance, "service.version": version}
        self._resource = Resource(named)  # not Resource.create: that adds what the environment says
        self._scope = InstrumentationScope("dgrag", version)

    def step(self, place: SpanPlace, step: TraceStep) -> None:
        """A child of the work's span; its calls, tokens and bytes where there are some."""
        counts = {
            "dgrag.calls": step.calls,
            "dgrag.tokens_in": step.tokens_in,
            "dgrag.tokens_out": step.tokens_out,
            "dgrag.bytes_out": step.bytes_out,
            "dgrag.bytes_in": step.bytes_in,
        }
        self._ended(place.child(), step.step, step.ms / 1000, SpanKind.INTERNAL, {name: count for name, count in counts.items() if count})

    def work(self, work: RequestWork, seconds: float) -> None:
        """The server's span. An error: the service's own, 5xx."""
        failed = int(work.facts.get(STATUS, 0)) >= 500
        self._ended(work.place, work.name, seconds, SpanKind.SERVER, work.facts, failed=failed)

    def close(self) -> None:
        """Send what waits."""
        self._processor.shutdown()

    def _ended(
        self, place: SpanPlace, name: str, seconds: float, kind: SpanKind, facts: Mapping[str, str | int], *, failed: bool = False
    ) -> None:
        ended = time.time_ns()
        span = ReadableSpan(
            name,
            _context(place.trace_id, place.span_id, is_remote=False),
            _context(place.trace_id, place.parent_id, is_remote=kind is SpanKind.SERVER) if place.parent_id else None,
            resource=self._resource,
            attributes=dict(facts),
            kind=kind,
            status=Status(StatusCode.ERROR if failed else StatusCode.UNSET),
            start_time=ended - int(seconds * 1e9),
            end_time=ended,
            instrumentation_scope=self._scope,
        )
        self._processor.on_end(span)


def _context(trace_id: str, span_id: str, *, is_remote: bool) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote, TraceFlags(TraceFlags.SAMPLED))


class Announcing(SpanExporter):
    """Says in one line when the collector takes no spans, and when it does again; what it missed is lost."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """As the exporter."""
        result = self._exporter.export(spans)
        away = result is not SpanExportResult.SUCCESS
        if away and not self._away:
            log.warning("the collector takes no spans; those of this time are lost")
        if self._away and not away:
            log.info("the collector takes spans again")
        self._away = away
        return result

    def shutdown(self) -> None:
        """As the exporter."""
        self._exporter.shutdown()


def spans_to(url: str, *, service: str, instance: str) -> Spans:
    """Spans for the collector at ``url``, without its path; they leave every few seconds, from a thread.

    OpenTelemetry's exporter reads headers and certificates for a collector from ``OTEL_EXPORTER_OTLP_*``.
    """
    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)  # a line each few seconds, with the collector's own words
    session = requests.Session()
    session.trust_env = not is_loopback(urlsplit(url).hostname or "")  # no proxy for one on this machine
    exporter = OTLPSpanExporter(url.rstrip("/") + TRACES, timeout=SEND_TIMEOUT_S, compression=Compression.NoCompression, session=session)
    batches = BatchSpanProcessor(
        Announcing(exporter), MOST_KEPT, SEND_EVERY_S * 1000, max_export_batch_size=MOST_KEPT, export_timeout_millis=SEND_TIMEOUT_S * 1000
    )
    return Spans(batches, service=service, instance=instance)
