"""Questions that memories answer, verdicts, and the routes about both; the memories are told by the test."""

import contextlib

import orjson
import pytest

from edge_node.answering.fast_path import SHADOW
from shared.http.keyring import KeyRing
from shared.telemetry.trace import Trace
from shared.wire import EvidenceRequest
from tests.support.memories import Told, memory_in
from tests.support.running_edge import running_edge, scripted

MILL = "It is old. Orrin Mill was built by Ann Lee in 1881. It has 40 looms."
SAID = "Orrin Mill was built by Ann Lee in 1881."
WHO, WHEN = "Who built Orrin Mill?", "When was Orrin Mill built?"
REPORTED = "Orrin Mill has 40 looms [1]."  # what the model says to everything
MEMORIES = ("recalled", "rate", "learn", "bar", "page", "counts")


@contextlib.asynccontextmanager
async def mill(folder, monkeypatch, **settings):
    """An edge with one document, that remembers who built the mill."""
    async with running_edge(folder, generator=scripted(REPORTED), **settings) as edge:
        edge.document_id = (await edge.add("mill.md", MILL))["document_id"]
        edge.told = Told(edge.node.documents)
        for name in MEMORIES:
            monkeypatch.setattr(edge.node.strategy.memories, name, getattr(edge.told, name), raising=False)
        ((chunk, _, _),) = edge.node.documents.chunks([f"{edge.document_id}:0"]).values()
        edge.who = memory_in(chunk, WHO, "Ann Lee", said=SAID)
        await edge.told.put(edge.node.fast_path._embedder, edge.who)
        yield edge


@pytest.fixture
async def edge(tmp_path, monkeypatch):
    async with mill(tmp_path, monkeypatch) as started:
        yield started


async def judge(edge, query_id, verdict):
    return (await edge.http.post(f"/v1/queries/{query_id}/feedback", json={"verdict": verdict})).status_code


async def test_what_is_remembered_is_answered_without_the_model_and_with_its_sentence(edge):
    answer = await edge.ask(WHO)
    assert (answer["route"], answer["answer"], answer["gate"]) == ("memory", "Ann Lee [1]", None)
    ((start, end),) = [citation["span"] for citation in answer["citations"]]
    assert MILL[start:end] == answer["citations"][0]["quote"] == SAID
    assert (answer["memory"]["memory_id"], answer["memory"]["why_not"]) == (edge.who.memory_id, "")
    assert [step["step"] for step in answer["trace"]] == ["remember"]


async def test_a_miss_goes_to_the_model_and_tells_of_the_nearest_memory(edge):
    answer = await edge.ask("Who built the old Orrin Mill in Fenlow?")
    assert (answer["route"], answer["answer"]) == ("local", REPORTED)
    assert answer["memory"] is None
    near = await edge.ask("Who has built Orrin Mill in 1881?")
    assert near["route"] == "local"
    assert (near["memory"]["memory_id"], bool(near["memory"]["why_not"])) == (edge.who.memory_id, True)


async def test_keys_that_may_only_read_silence_a_memory_together_and_not_alone(tmp_path, monkeypatch):
    async with mill(tmp_path, monkeypatch) as edge:
        ring = KeyRing(tmp_path)
        tokens = {
            name: ring.add(name, role, now=0.0) for name, role in (("ann", "read"), ("bob", "read"), ("eve", "read"), ("ops", "write"))
        }
        ring.close()

        async def judged(name):
            edge.http.headers["authorization"] = f"Bearer {tokens[name]}"
            query_id = (await edge.ask(WHO))["query_id"]
            reply = (await edge.http.post(f"/v1/queries/{query_id}/feedback", json={"verdict": "wrong"})).json()
            return reply["outcome"], bool(reply["next_step"])

        assert [await judged("ann") for _ in range(4)] == [("noted", True)] * 4
        assert await judged("bob") == ("noted", True)
        assert (await edge.ask(WHO))["route"] == "memory"
        assert await judged("eve") == ("counted", False)


@pytest.mark.parametrize("fields", [{"memory": False}, {"memory": False, "mode": "local"}])
async def test_whoever_asks_may_do_without_memory(edge, fields):
    answer = await edge.ask(WHO, **fields)
    assert (answer["route"], answer["memory"]) == ("local", None)
    assert edge.node.fast_path.looked == 0


async def test_a_shadow_never_answers_and_tells_what_it_would_have_said(tmp_path, monkeypatch):
    async with mill(tmp_path, monkeypatch, memory_fast="shadow") as edge:
        answer = await edge.ask(WHO)
        assert (answer["route"], answer["memory"]["answer"], answer["memory"]["why_not"]) == ("local", "Ann Lee", SHADOW)


async def test_switched_off_nothing_is_looked_for(tmp_path, monkeypatch):
    async with mill(tmp_path, monkeypatch, memory_fast="off") as edge:
        assert (await edge.ask(WHO))["memory"] is None
        assert edge.told.asked == []


async def test_a_stream_has_the_text_and_then_the_answer(edge):
    response = await edge.http.post("/v1/query", json={"question": WHO, "stream": True})
    events = [part.split("\r\n") for part in response.text.strip().split("\r\n\r\n")]
    kinds = [lines[0].removeprefix("event: ") for lines in events if lines[0].startswith("event: ")]
    assert kinds == ["step", "text", "text", "text", "answer"]
    assert orjson.loads(events[-1][1].removeprefix("data: "))["route"] == "memory"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_chat_is_answered_from_memory_too(edge, stream):
    body = {"model": "dgrag", "messages": [{"role": "user", "content": WHO}], "stream": stream, "sources": False}
    response = await edge.http.post("/v1/chat/completions", json=body)
    if stream:
        lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
        pieces = [orjson.loads(line) for line in lines[:-1]]
        assert "".join(piece["choices"][0]["delta"].get("content", "") for piece in pieces) == "Ann Lee [1]"
        assert pieces[-1]["dgrag"]["route"] == "memory"
    else:
        reply = response.json()
        assert (reply["choices"][0]["message"]["content"], reply["dgrag"]["route"]) == ("Ann Lee [1]", "memory")
        assert reply["usage"]["total_tokens"] == 0


async def test_other_sites_get_evidence_and_no_memory_is_looked_for(edge):
    request = EvidenceRequest(request_id="r1", question=WHO, budget_tokens=100, deadline_ms=1000)
    await edge.node.for_others.evidence(request)
    await edge.node.answerer.search.retrieve(WHO, Trace())
    assert edge.told.asked == []


async def test_a_memory_that_is_called_wrong_answers_once_and_never_again(edge):
    first = await edge.ask(WHO)
    assert await judge(edge, first["query_id"], "wrong") == 200
    for _ in range(2):
        again = await edge.ask(WHO)
        assert again["route"] == "local"
        assert "wrong" in again["memory"]["why_not"]


async def test_a_verdict_is_taken_once_and_only_on_answers_of_this_edge(edge):
    answer = await edge.ask(WHO)
    assert await judge(edge, "0123456789abcdef", "right") == 404
    assert await judge(edge, answer["query_id"], "right") == 200
    assert await judge(edge, answer["query_id"], "wrong") == 409
    assert (await edge.http.post(f"/v1/queries/{answer['query_id']}/feedback", json={"verdict": "maybe"})).status_code == 422
    assert edge.told.ratings == {edge.who.memory_id: (1, 0)}


async def test_an_answer_of_the_chat_can_be_judged_by_its_id(edge):
    body = {"model": "dgrag", "messages": [{"role": "user", "content": WHO}]}
    reply = (await edge.http.post("/v1/chat/completions", json=body)).json()
    assert await judge(edge, reply["id"], "wrong") == 200
    assert edge.told.ratings == {edge.who.memory_id: (0, 1)}


async def test_memories_are_listed_by_id_page_by_page(edge):
    when = memory_in(edge.node.documents.chunks([f"{edge.document_id}:0"])[f"{edge.document_id}:0"][0], WHEN, "1881", said=SAID)
    await edge.told.put(edge.node.fast_path._embedder, when)
    await edge.told.rate(edge.who.memory_id, right=True)
    first = (await edge.http.get("/v1/memories", params={"limit": 1})).json()
    second = (await edge.http.get("/v1/memories", params={"after": first["next"]})).json()
    views = {view["question"]: view for view in first["memories"] + second["memories"]}
    assert second["next"] is None
    assert set(views) == {WHO, WHEN}
    assert (views[WHO]["answer"], views[WHO]["kind"], views[WHO]["good"], views[WHO]["bad"]) == ("Ann Lee", "template", 1, 0)
    (support,) = views[WHO]["supports"]
    assert (support["document"], support["text"], MILL[slice(*support["span"])]) == ("mill.md", SAID, SAID)


async def test_hostile_words_of_memories_are_listed_inert(edge):
    evil = "Ann Lee <img src=x onerror=alert(1)> [click](http://x.example/a)"
    chunk = edge.node.documents.chunks([f"{edge.document_id}:0"])[f"{edge.document_id}:0"][0]
    await edge.told.put(edge.node.fast_path._embedder, memory_in(chunk, f"Who is {evil}?", evil))
    listed = (await edge.http.get("/v1/memories")).text
    assert "click" in listed
    assert "<img" not in listed
    assert "http:" not in listed


async def test_a_memory_that_is_deleted_answers_no_more(edge):
    assert (await edge.http.delete(f"/v1/memories/{edge.who.memory_id}")).status_code == 204
    assert (await edge.http.delete("/v1/memories/0123456789abcdef")).status_code == 404
    assert (await edge.ask(WHO))["route"] == "local"


async def test_the_status_counts_memories_and_what_they_answered(edge):
    await edge.ask(WHO)
    await edge.ask("Which pumps failed?")
    told = (await edge.http.get("/v1/status")).json()["memory"]
    assert (told["template"], told["looked"], told["answered"], told["fast"], told["learn"]) == (1, 2, 1, "on", "confirmed")
    assert told["thresholds"] == {"template": 0.92, "model": 0.92, "learned": 0.88}
