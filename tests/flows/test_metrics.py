"""One question that another site answers, and one that this site does: each metric of both services has moved by then."""

import httpx2
import pytest

from shared.http.open_mode import CALLER
from tests.support.federation import PLANT, REFUSAL, WARD, federation
from tests.support.metrics_pages import names_of, samples_of, value
from tests.support.running_edge import running_edge

MEMBERS = {"ward": (WARD, REFUSAL), "plant": (PLANT, "Lot L-7713 caused the failure [1].")}
QUESTION = "Which lot of the battery pack caused the failure of infusion pumps?"
STILL_AT_REST = {
    "dgrag_embedder_change",
    "dgrag_memory_hits_total",
    "dgrag_questions_failed_total",
    "dgrag_reader_faults",
    "dgrag_cloud_breaker_open",
    "dgrag_stale_texts",
    "dgrag_sync_lag_versions",
    "dgrag_memories",
    "dgrag_turns",
}


async def page_of(transport):
    async with httpx2.AsyncClient(headers=CALLER, transport=transport, base_url="http://127.0.0.1") as http:
        response = await http.get("/metrics")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return response.text


def moved(page):
    """The metrics with a figure above zero."""
    return {
        name for name in names_of(page) if any(figure > 0 for (sample, _), figure in samples_of(page).items() if sample.startswith(name))
    }


async def test_each_metric_has_moved_after_one_flow(tmp_path):
    said = "Lot L-7713 caused the failure [1]."
    async with federation(tmp_path, cloud_answer=said, edge_answers=MEMBERS) as (edges, lines, _):
        assert (await edges["ward"].ask(QUESTION))["route"] == "cloud"
        edge, cloud = await page_of(edges["ward"].http._transport), await page_of(lines["ward"])
    assert names_of(edge) - moved(edge) == STILL_AT_REST | {"dgrag_fan_out_seconds"}
    assert names_of(cloud) - moved(cloud) == {"dgrag_gate_total", "dgrag_memories", "dgrag_questions_failed_total", "dgrag_turns"}
    assert value(edge, "dgrag_transfer_bytes_sum", transfer="knowledge send") > 0
    assert value(edge, "dgrag_egress_bytes_total", kind="question") > len(QUESTION)
    assert (value(edge, "dgrag_documents", status="indexed"), value(edge, "dgrag_cloud_connected")) == (1, 1)
    assert value(cloud, "dgrag_edges", state="online") == 2
    assert value(cloud, "dgrag_fan_out_seconds_count", outcome="answered") >= 1
    assert (("dgrag_edge_seconds_since_seen", (("edge", "plant"),))) in samples_of(cloud)
    assert not [word for word in ("L-7713", "battery", "Juniper", "report.md") for page in (edge, cloud) if word in page]


async def test_what_memory_does_is_counted(tmp_path):
    async with running_edge(tmp_path) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps to Brackwell Works.")
        first = await edge.ask("Which ward reported the failure of four infusion pumps?")
        await edge.http.post(f"/v1/queries/{first['query_id']}/feedback", json={"verdict": "right"})
        assert (await edge.ask("Which ward reported the failure of four infusion pumps?"))["route"] == "memory"
        page = await page_of(edge.http._transport)
    assert (value(page, "dgrag_memory_looks_total"), value(page, "dgrag_memory_hits_total")) == (2, 1)
    assert value(page, "dgrag_memories", kind="learned") == 1
    assert value(page, "dgrag_component_seconds_count", component="remember", route="memory") == 1


async def test_an_open_breaker_a_broken_line_and_what_the_cloud_has_not_heard_can_be_seen(tmp_path):
    one = {"ward": (WARD, REFUSAL)}
    async with federation(tmp_path, cloud_answer="-", edge_answers=one, breaker_failures=1, breaker_s=600) as (edges, lines, _):
        lines["ward"].cut = True
        assert (await edges["ward"].ask(QUESTION))["degraded"]
        await edges["ward"].add("plant.md", PLANT)
        page = await page_of(edges["ward"].http._transport)
    assert value(page, "dgrag_cloud_breaker_open") == 1
    assert value(page, "dgrag_sync_lag_versions") >= 1
    assert value(page, "dgrag_questions_total", route="degraded", answered="false", partial="false", degraded="true") == 1


async def test_an_edge_without_a_cloud_has_no_figure_of_one(tmp_path):
    async with running_edge(tmp_path) as edge:
        page = await page_of(edge.http._transport)
    assert names_of(page) - {name for name, _ in samples_of(page)} >= {"dgrag_cloud_connected", "dgrag_sync_lag_versions"}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_streamed_answer_counts_as_any_other(tmp_path, stream):
    async with running_edge(tmp_path) as edge:
        await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps.")
        await edge.http.post("/v1/query", json={"question": "Which ward reported it?", "mode": "local", "stream": stream})
        page = await page_of(edge.http._transport)
    assert value(page, "dgrag_question_seconds_count", route="local") == 1
