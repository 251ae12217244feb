"""POST /v1/questions with ``mode: global``: both forms of its answer, its deadlines, and clients that go or are shut out."""

import asyncio
import json

import pytest

from cloud_server.api import questions
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.wire import NDJSON, AskLine

ASK = {"question": "What threatens the wildlife here?", "mode": "global"}
LINES = {"accept": NDJSON}
BEES, TROUT = "Bees find fewer flowers each August.", "Trout die because warm rivers hold little oxygen."
ANSWER = "Bees find fewer flowers each August [1]. Trout die because warm rivers hold little oxygen [2]."


def point(text):
    found = {"document_id": "d1", "document": "notes.md", "chunk_id": "d1:0", "span": [0, len(text)], "text": text}
    return {**found, "report": "r1"}


class Waiting(ScriptedGenerator):
    """Writes one sentence, and the other when it may."""

    def __init__(self, *, first_at_once=True):
        super().__init__(lambda _: ANSWER)
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()
        self.first_at_once = first_at_once
        self.given_up = False

    async def stream(self, prompt, *, deadline_s):
        first, second = ANSWER.split("Trout")
        self.asked.set()
        try:
            if self.first_at_once:
                yield first + "Trout"
            await self.go_on.wait()
            yield second if self.first_at_once else ANSWER
        except (asyncio.CancelledError, GeneratorExit):
            self.given_up = True
            raise


async def serve(http, edge, *points):
    auth = http.auth.of(edge)
    (request,) = (await http.post(f"/v1/edges/{edge}/poll?wait_s=20", auth=auth)).json()["requests"]
    body = {"evidence": list(points), "reports": 1, "reports_there": 2}
    assert (await http.post(f"/v1/edges/{edge}/replies/{request['request_id']}", json=body, auth=auth)).status_code == 204
    return request


async def asked(service, kit, *, headers=None, auth=None, **body):
    serving = await served(service, kit)
    response = await service.http.post("/v1/questions", json=ASK | body, headers=headers, auth=auth)
    return response, await serving


async def served(service, kit):
    """ward replies with both points as soon as it is asked."""
    await kit.join(service.http, "ward")
    serving = asyncio.create_task(serve(service.http, "ward", point(BEES), point(TROUT)))
    await kit.until(lambda: service.cloud.mailbox.online("ward"))
    return serving


def lines_of(response):
    return [AskLine.model_validate_json(line) for line in response.text.splitlines()]


async def test_an_operator_and_an_edge_are_answered_in_plain_json(tmp_path, kit):
    async with kit.running(tmp_path, global_method="paper", generator=ScriptedGenerator(lambda _: ANSWER)) as service:
        response, request = await asked(service, kit, query_id="q7", level=1)
        answer = response.json()
        assert (answer["answer"], answer["route"], answer["query_id"]) == (ANSWER, "global", "q7")
        assert answer["coverage"] == "1 of 1 site answered: ward (1 of 2 reports)"
        assert [(one["edge"], one["report"], one["chunk_id"]) for one in answer["citations"]] == [("ward", "r1", "d1:0")] * 2
        assert (request["requester"], request["level"]) == ("operator:local", 1)
        await kit.join(service.http, "bank")
        response, request = await asked(service, kit, auth=kit.signed(service.http, "bank"))
        assert response.json()["coverage"] == "1 of 2 sites answered: ward (1 of 2 reports); offline: bank"
        assert request["requester"] == "bank"


async def test_sentences_leave_while_the_model_still_writes(tmp_path, kit, monkeypatch):
    model = Waiting()
    line_of = questions._line

    def watched(line):
        if line.text:
            model.go_on.set()  # only now the second sentence is written
        return line_of(line)

    monkeypatch.setattr(questions, "_line", watched)
    async with kit.running(tmp_path, global_method="paper", generator=model) as service:
        response, _ = await asked(service, kit, headers=LINES)
    first, *between, last = lines_of(response)
    texts = [line.text for line in between if line.text]
    assert len(texts) == 2
    assert "".join(texts).strip() == last.answer.answer == ANSWER
    assert (first.alive, first.text, first.answer) == (True, None, None)
    assert all(line.answer is None for line in between)


class Breaking(ScriptedGenerator):
    """Fails in the middle of its second sentence."""

    async def stream(self, prompt, *, deadline_s):
        yield f"{ANSWER.split('. ')[0]}. And"
        raise ModelUnavailable("gone")


async def test_what_was_heard_is_taken_back_where_the_model_fails_on_the_way(tmp_path, kit):
    async with kit.running(tmp_path, global_method="paper", generator=Breaking(lambda _: "")) as service:
        response, _ = await asked(service, kit, headers=LINES)
    *between, last = lines_of(response)
    texts = [line.text for line in between if line.text is not None]
    assert len(texts) == 2
    assert (bool(texts[0]), texts[1], last.answer.degraded) == (True, "", True)


async def test_an_asker_that_is_expelled_meanwhile_hears_nothing_more(tmp_path, kit):
    model = Waiting(first_at_once=False)
    async with kit.running(tmp_path, global_method="paper", generator=model) as service:
        await kit.join(service.http, "bank")
        asking = asyncio.create_task(asked(service, kit, headers=LINES, auth=kit.signed(service.http, "bank")))
        await model.asked.wait()
        await service.cloud.expel("bank")
        model.go_on.set()
        *before, last = lines_of((await asking)[0])
    assert [line.text for line in before if line.text] == []
    assert (last.answer, last.problem["code"]) == (None, "expelled")


async def test_a_global_question_has_a_deadline_of_its_own(tmp_path, kit):
    model = Waiting(first_at_once=False)
    async with kit.running(
        tmp_path, global_method="paper", generator=model, global_answer_deadline_s=0.4, answer_deadline_s=100.0
    ) as service:
        assert (await asked(service, kit))[0].status_code == 504
        response, _ = await asked(service, kit, headers={"deadline-ms": "300"})
        assert (response.status_code, response.json()["code"]) == (400, "deadline_passed")


async def test_when_too_many_ask_a_global_question_waits_its_turn_too(tmp_path, kit):
    model = Waiting()
    async with kit.running(tmp_path, global_method="paper", generator=model, global_questions_at_once=1, questions_waiting=0) as service:
        first = asyncio.create_task(asked(service, kit))
        await model.asked.wait()
        for headers in ({}, LINES):
            assert (await service.http.post("/v1/questions", json=ASK, headers=headers)).status_code == 503
            ordinary = await service.http.post("/v1/questions", json=ASK | {"mode": "answer"}, headers=headers)
            assert ordinary.status_code == 200, "it has turns of its own"
        model.go_on.set()
        assert (await first)[0].json()["answered"]


@pytest.mark.parametrize("wrong", [{"mode": "local"}, {"level": 4}, {"level": "all"}, {"task": "reports"}])
async def test_a_mode_or_level_that_is_none_is_refused(service, wrong):
    assert (await service.http.post("/v1/questions", json=ASK | wrong)).status_code == 422


async def call(app, *, lines, gone):
    """A client that sends its question, and goes when ``gone`` is set."""
    messages = [{"type": "http.request", "body": json.dumps(ASK).encode(), "more_body": False}]

    async def receive():
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        pass

    headers = [
        (b"host", b"127.0.0.1"),
        (b"x-dgrag", b"1"),
        (b"content-type", b"application/json"),
        *([(b"accept", NDJSON.encode())] if lines else []),
    ]
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/v1/questions", "raw_path": b"/v1/questions", "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80), "headers": headers, "state": {},
    }  # fmt: skip
    await app(scope, receive, send)


@pytest.mark.parametrize("lines", [True, False])
async def test_a_client_that_goes_takes_its_requests_to_the_edges_along(service, kit, lines):
    gone = asyncio.Event()
    await kit.join(service.http, "ward")
    await service.cloud.mailbox.poll("ward", wait_s=0)
    asking = asyncio.create_task(call(service.app, lines=lines, gone=gone))
    await kit.until(lambda: service.cloud.fan_out._pending)
    gone.set()
    await asyncio.wait([asking], timeout=10)
    assert service.cloud.fan_out._pending == {}
    assert await service.cloud.mailbox.poll("ward", wait_s=0) == []
    assert service.app.state.global_admission.running == 0


async def test_an_edge_that_works_for_a_client_that_goes_is_told_at_its_next_poll(service, kit):
    gone, auth = asyncio.Event(), kit.signed(service.http, "ward")
    await kit.join(service.http, "ward")
    await service.cloud.mailbox.poll("ward", wait_s=0)
    asking = asyncio.create_task(call(service.app, lines=False, gone=gone))
    (request,) = (await service.http.post("/v1/edges/ward/poll?wait_s=20", auth=auth)).json()["requests"]
    gone.set()
    told = (await service.http.post("/v1/edges/ward/poll?wait_s=20", auth=auth)).json()
    assert told == {"requests": [], "withdrawn": [request["request_id"]]}
    await asyncio.wait([asking], timeout=10)


@pytest.mark.parametrize("lines", [True, False])
async def test_a_client_that_goes_takes_its_model_call_along(tmp_path, kit, lines):
    model, gone = Waiting(), asyncio.Event()
    async with kit.running(tmp_path, global_method="paper", generator=model) as service:
        serving = await served(service, kit)
        asking = asyncio.create_task(call(service.app, lines=lines, gone=gone))
        await model.asked.wait()
        gone.set()
        await asyncio.wait([asking, serving], timeout=10)
        assert model.given_up
        assert service.app.state.global_admission.running == 0
