"""What a service counts of itself, as Prometheus reads it. A label's values are a closed list: nothing that people wrote is one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shared.admission import Admission
from shared.errors import DgragError
from shared.ports import Clock
from shared.records import Answer, EdgeReport, Route, TraceStep
from shared.telemetry.trace import CLOUD, OTHER, TRANSFERS, TRANSMISSION, component_of, is_the_clouds, transmission_ms

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
KEPT_S = 5.0  # gauges read the store: scrapes that follow each other faster share one reading
SECONDS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
HTTP_SECONDS = (0.01, 0.05, 0.25, 1.0, 5.0, 30.0, 300.0)  # fewer: each is a line of the page for each route and status
BYTES = tuple(256.0 * 4**n for n in range(8))  # 256 B to 4 MiB
ROUTES = frozenset(get_args(Route))
INTERNAL = "internal"  # the code of an error that is none of ours
METHODS = frozenset({"GET", "POST", "PUT", "DELETE"})  # those that a route of ours has
ASKED = frozenset({"answered", "late", "refused", "failed"})  # an edge that was offline or skipped took no time


@dataclass(frozen=True, slots=True)
class MetricReading:
    """Figures of this moment, each with the values of its ``labels``, in their order. What ends with ``_total`` only grows."""

    name: str
    text: str
    labels: tuple[str, ...]
    values: tuple[tuple[tuple[str, ...], float], ...]


class Meter:
    """Counts and times what one service does, in a registry of its own. Costs microseconds a call; any thread may call.

    ``name``: the edge's id, or "cloud".
    """

    def __init__(self, name: str) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # else each series comes twice, with the time of its first value
        self._registry = own = CollectorRegistry()
        ProcessCollector(registry=own)
        info = Gauge("dgrag_build_info", "The service and its version; always 1.", ["name", "version"], registry=own)
        info.labels(name, metadata.version("dgrag")).set(1)
        self._questions = Counter(
            "dgrag_questions", "Questions answered.", ["route", "answered", "partial", "degraded"], registry=own
        )  # Prometheus' text has them as dgrag_questions_total
        self._failed = Counter(
            "dgrag_questions_failed",
            "Questions that ended with an error; not those whose caller went.",
            ["code"],
            registry=own,
        )
        self._question_seconds = Histogram(
            "dgrag_question_seconds", "Until a question's answer, the wait for a turn included.", ["route"], registry=own, buckets=SECONDS
        )
        self._gate = Counter("dgrag_gate", "What the gate decided.", ["decision"], registry=own)
        self._component_seconds = Histogram(
            "dgrag_component_seconds", "Time in a component, summed over an answer.", ["component", "route"], registry=own, buckets=SECONDS
        )
        self._transfer_bytes = Histogram(
            "dgrag_transfer_bytes", "Bytes of bodies of an answer's transfers.", ["transfer"], registry=own, buckets=BYTES
        )
        self._tokens = Counter("dgrag_tokens", "Tokens of models for answers.", ["component", "direction"], registry=own)
        self._calls = Counter("dgrag_model_calls", "Calls of models for answers.", ["component"], registry=own)
        self._fan_out = Histogram("dgrag_fan_out_seconds", "Until an edge's reply.", ["outcome"], registry=own, buckets=SECONDS)
        self._http = Histogram("dgrag_http_seconds", "HTTP requests.", ["method", "route", "status"], registry=own, buckets=HTTP_SECONDS)

    def answered(self, answer: Answer, seconds: float, *, at_cloud: bool = False) -> None:
        """Count an answer as it leaves. ``at_cloud``: its trace has the cloud's steps without the "cloud: " that an edge adds."""
        route = _known(answer.route, ROUTES)
        self._questions.labels(route, _word(answer.answered), _word(answer.partial), _word(answer.degraded)).inc()
        self._question_seconds.labels(route).observe(seconds)
        if answer.gate is not None:
            self._gate.labels(answer.gate.decision).inc()
        spent = dict[str, float]()
        for step in answer.trace:
            name = f"{CLOUD}{step.step}" if at_cloud else step.step
            component = component_of(name)
            if component != OTHER:
                spent[component] = spent.get(component, 0.0) + step.ms / 1000
            self._transferred(name, step)
            if step.calls and (is_the_clouds(name) or not name.startswith(CLOUD)):  # what another edge spent is not ours to tell
                self._tokens.labels(component, "in").inc(step.tokens_in)
                self._tokens.labels(component, "out").inc(step.tokens_out)
                self._calls.labels(component).inc(step.calls)
        if (transmission := transmission_ms(answer.trace)) is not None:
            spent[TRANSMISSION] = transmission / 1000
        for component, component_s in spent.items():
            self._component_seconds.labels(component, route).observe(component_s)

    @contextmanager
    def counting_failures(self) -> Iterator[None]:
        """Count a question that ends here with an error, and let the error go on. A cancellation is none: nobody waits any longer."""
        try:
            yield
        except Exception as error:
            self._failed.labels(type(error).code if isinstance(error, DgragError) else INTERNAL).inc()
            raise

    def fanned_out(self, reports: Iterable[EdgeReport]) -> None:
        """Time the edges that the cloud has asked, by how that ended."""
        for report in reports:
            if report.status in ASKED:
                self._fan_out.labels(report.status).observe(report.ms / 1000)

    def http(self, method: str, route: str, status: int, seconds: float) -> None:
        """Time a request. ``route`` is a template of ours, never a path; ``status`` 0: the caller went before there was one."""
        kind = f"{status // 100}xx" if 100 <= status < 600 else "none"
        self._http.labels(_known(method, METHODS), route, kind).observe(seconds)

    def page(self, readings: Iterable[MetricReading] = ()) -> bytes:
        """All of it and ``readings``, as Prometheus' text format 0.0.4. Reads ``/proc``: belongs off the event loop."""
        return generate_latest(_Page(self._registry, tuple(map(_family, readings))))

    def _transferred(self, name: str, step: TraceStep) -> None:
        for transfer, (moving, direction) in TRANSFERS.items():
            if name == moving:
                self._transfer_bytes.labels(transfer).observe(step.bytes_out if direction == "bytes_out" else step.bytes_in)


class Scrape:
    """A service's page: its meter, and readings that are at most ``KEPT_S`` old."""

    def __init__(self, meter: Meter, read: Callable[[], Awaitable[Sequence[MetricReading]]], clock: Clock) -> None:
        self._meter = meter
        self._read = read
        self._clock = clock
        self._one = asyncio.Lock()
        self._read_at = -KEPT_S
        self._readings: Sequence[MetricReading] = ()

    async def page(self) -> bytes:
        """The page as it is now. Raises as ``read``."""
        async with self._one:
            if (now := self._clock.monotonic()) - self._read_at >= KEPT_S:
                self._readings, self._read_at = await self._read(), now
        return await asyncio.to_thread(self._meter.page, self._readings)


def single(name: str, text: str, value: float | None) -> MetricReading:
    """A figure without labels. None: the service has none such now, and its name is on the page all the same."""
    return MetricReading(name, text, (), () if value is None else (((), float(value)),))


def each(name: str, text: str, label: str, values: Mapping[str, float]) -> MetricReading:
    """A figure for each value of one label."""
    return MetricReading(name, text, (label,), tuple(((one,), float(value)) for one, value in values.items()))


def turns_of(admissions: Mapping[str, Admission]) -> MetricReading:
    """How many requests have a turn and how many wait for one, by kind of work."""
    values = [((kind, "taken"), float(one.running)) for kind, one in admissions.items()]
    values += [((kind, "waiting"), float(one.waiting)) for kind, one in admissions.items()]
    return MetricReading("dgrag_turns", "Requests that are being answered, and that wait for a turn.", ("kind", "state"), tuple(values))


class _Page(Collector):
    def __init__(self, registry: Collector, families: Sequence[Metric]) -> None:
        self._registry = registry
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._registry.collect()
        yield from self._families


def _family(reading: MetricReading) -> Metric:
    """As Prometheus' client has it.

    >>> _family(each("dgrag_edges", "Edges.", "state", {"online": 2})).samples[0][:3]
    ('dgrag_edges', {'state': 'online'}, 2.0)
    """
    kind = CounterMetricFamily if reading.name.endswith("_total") else GaugeMetricFamily
    family = kind(reading.name, reading.text, labels=reading.labels)
    for labels, value in reading.values:
        family.add_metric(labels, value)
    return family


def _known(value: str, allowed: Collection[str]) -> str:
    return value if value in allowed else OTHER


def _word(value: bool) -> str:
    return "true" if value else "false"
