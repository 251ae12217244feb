"""One question over three sites is one trace: by its id in every response, in every log, and in the spans of all services."""

import json
import logging

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from shared.models.fake import ScriptedGenerator
from shared.telemetry.correlation import REQUEST_ID
from shared.telemetry.logs import JsonLines
from shared.telemetry.spans import Spans
from tests.security.test_canaries import surprising
from tests.support.federation import PLANT, REFUSAL, WARD, federation
from tests.support.running_edge import running_edge

MEMBERS = {
    "ward": (WARD, REFUSAL),
    "plant": (PLANT, REFUSAL),
    "stock": ("The store of infusion pumps holds each battery pack of lot L-7713 back.", REFUSAL),
}
QUESTION = "Which lot of the battery pack caused the failure of infusion pumps?"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GIVEN = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
PIECES = ("L-7713", "battery", "pumps", "Juniper", "report.md", "Which")


class Seen:
    """The spans of all services, and the log as objects."""

    def __init__(self, names):
        self.exporter, self.lines = InMemorySpanExporter(), []
        self.recorders = {name: Spans(SimpleSpanProcessor(self.exporter), service="dgrag", instance=name) for name in names}

    def spans(self):
        return [span for span in self.exporter.get_finished_spans() if format(span.context.trace_id, "032x") == TRACE]

    def tree(self):
        """Parent's and own span id by service and name."""
        return {
            (span.resource.attributes["service.instance.id"], span.name): (span.parent.span_id, span.context.span_id)
            for span in self.spans()
        }


@pytest.fixture
def seen():
    """With a handler that writes what a container's log would get."""
    kept, form = Seen(["cloud", "lone", *MEMBERS]), JsonLines("edge", "ward")

    class Handler(logging.Handler):
        def emit(self, record):
            if record.name != "httpx2":  # the addresses that this test calls; a service's own is set to be still
                kept.lines.append(form.format(record))

    handler, root = Handler(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield kept
    root.removeHandler(handler)
    root.setLevel(level)


async def test_a_question_is_one_tree_from_the_asking_edge_over_the_cloud_to_those_that_were_asked(tmp_path, seen):
    said = "Lot L-7713 caused the failure [1]."
    told = {"recorders": seen.recorders}
    async with federation(tmp_path, cloud_answer=said, edge_answers=MEMBERS, **told) as (edges, _, _):
        got = await edges["ward"].http.post("/v1/query", json={"question": QUESTION}, headers=GIVEN)
    assert (got.status_code, got.json()["route"], got.headers[REQUEST_ID]) == (200, "cloud", TRACE)
    asked = {report["edge"] for report in got.json()["edges"] if report["status"] == "answered"}
    assert asked >= {"plant", "stock"}
    others = asked - {"ward"}  # the asker may be asked too

    tree = seen.tree()
    asker, own = tree["ward", "POST /v1/query"]
    assert asker == int(SPAN, 16)
    sender, cloud = tree["cloud", "POST /v1/questions"]
    assert sender == own
    assert {tree[edge, "serve evidence"][0] for edge in asked} == {cloud}
    assert all(tree[edge, "retrieve"][0] == tree[edge, "serve evidence"][1] for edge in others)
    replies = [span.parent.span_id for span in seen.spans() if span.name == "POST /v1/edges/{edge}/replies/{request_id}"]
    assert set(replies) == {tree[edge, "serve evidence"][1] for edge in asked}
    assert tree["ward", "cloud"][0] == own
    assert {tree["cloud", step][0] for step in ("match", "fan_out", "generate")} == {cloud}

    objects = [json.loads(line) for line in seen.lines]
    routes = {line["route"] for line in objects if line.get("request") == TRACE and "route" in line}
    assert routes == {"/v1/query", "/v1/questions", "/v1/edges/{edge}/replies/{request_id}"}


async def test_no_span_and_no_object_of_a_log_holds_a_piece_of_what_anybody_wrote(tmp_path, seen):
    generator = ScriptedGenerator(surprising)
    async with federation(tmp_path, cloud_answer="-", edge_answers=MEMBERS, recorders=seen.recorders) as (
        edges,
        _,
        _,
    ):
        for body in ({"question": QUESTION}, {"question": [QUESTION]}, {"question": QUESTION, "mode": QUESTION}):
            await edges["ward"].http.post("/v1/query", json=body, headers={"traceparent": QUESTION, REQUEST_ID: QUESTION})
        await edges["ward"].http.get(f"/v1/documents/{QUESTION}", params={"pumps": QUESTION})
    async with running_edge(tmp_path / "lone", generator=generator, recorder=seen.recorders["lone"]) as edge:
        edge.http._transport.raise_app_exceptions = False
        await edge.add("report.md", WARD)
        await edge.http.post("/v1/query", json={"question": QUESTION, "mode": "local"})
    told = [*seen.lines, *(span.to_json() for span in seen.exporter.get_finished_spans())]
    assert len(told) > 20
    assert [(piece, line) for piece in PIECES for line in told if piece in line] == []
