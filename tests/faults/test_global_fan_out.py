"""Goal R6 for a question about everything: it is put to all sites, so every way to fail is among them, over real sockets."""

import asyncio

import httpx2
import pytest

from shared.http.open_mode import CALLER
from shared.wire import NDJSON, AskLine
from tests.faults.stub_edges import drip, endless, garbage, good, oversized, refuse, silent
from tests.faults.test_fan_out import edges_of
from tests.support.cloud_socket import cloud_on_a_socket
from tests.support.waiting import until

pytestmark = pytest.mark.process
ASK = {"question": "What went wrong with the pumps?", "mode": "global"}
DEADLINE_S = 10.0  # of the fan-out, enough for the honest where much else runs; that it is kept to, test_overview measures by its own clock


def points_of(edge, *texts):
    where = {"document_id": "d", "document": "a.md", "chunk_id": "d:0", "report": "r1"}
    points = [{**where, "span": [0, len(text)], "text": text} for text in texts]
    return {"evidence": points, "reports": 3, "reports_there": 9}


async def honest(edge, request_id):
    await edge.reply(request_id, points_of(edge, f"It was replaced in March, the technician of {edge.name} says."))


async def heavy(edge, request_id):
    """All that the door lets in: 64 points, 250 kB."""
    await edge.reply(request_id, points_of(edge, *(f"It was replaced in March {n} times. " + "pad " * 900 for n in range(64))))


BEHAVIOURS = {
    "absent": None, "drip": drip, "endless": endless, "garbage": garbage, "heavy": heavy, "hole": silent,
    "honest-a": honest, "honest-b": honest, "oversized": oversized, "passages": good, "refuse": refuse,
}  # fmt: skip


async def test_what_the_honest_sites_say_is_told_and_every_other_one_is_named(tmp_path):
    async with (
        cloud_on_a_socket(tmp_path, global_deadline_s=DEADLINE_S, global_reduce_tokens=400) as (cloud, url),
        edges_of(url, BEHAVIOURS),
        httpx2.AsyncClient(headers=CALLER, base_url=url, timeout=60) as http,
    ):
        await until(lambda: all(cloud.mailbox.online(name) for name in BEHAVIOURS if name != "absent"))
        responses = await asyncio.gather(*(http.post("/v1/questions", json=ASK) for _ in range(4)))
    assert {response.status_code for response in responses} == {200}
    for answer in (response.json() for response in responses):
        statuses = {one["edge"]: one["status"] for one in answer["edges"]}
        assert {name for name, status in statuses.items() if status == "answered"} == {"heavy", "honest-a", "honest-b", "passages"}
        assert (statuses["refuse"], statuses["absent"], statuses["oversized"]) == ("refused", "offline", "failed")
        assert {statuses[name] for name in ("drip", "hole")} == {"late"}
        assert (answer["answered"], answer["partial"]) == (True, True)
        assert {one["edge"] for one in answer["citations"]} <= {"honest-a", "honest-b"}
        assert answer["coverage"].startswith("4 of 11 sites answered: ")
        assert "honest-a (3 of 9 reports)" in answer["coverage"]
        assert all(one["bytes"] <= 256 * 1024 for one in answer["edges"])


async def test_sentences_come_over_a_socket_before_the_answer_does(tmp_path):
    lines = []
    async with (
        cloud_on_a_socket(tmp_path) as (cloud, url),
        edges_of(url, {"honest-a": honest}),
        httpx2.AsyncClient(headers=CALLER, base_url=url, timeout=60) as http,
    ):
        await until(lambda: cloud.mailbox.online("honest-a"))
        async with http.stream("POST", "/v1/questions", json=ASK, headers={"accept": NDJSON}) as response:
            async for line in response.aiter_lines():
                lines.append(AskLine.model_validate_json(line))
    assert "".join(line.text or "" for line in lines).strip() == lines[-1].answer.answer
    assert lines[-1].answer.answer == "It was replaced in March, the technician of honest-a says [1]."
