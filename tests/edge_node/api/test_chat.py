"""The edge as a model of an OpenAI client."""

import asyncio

import orjson
import pytest
from pydantic import TypeAdapter

from edge_node.api import chat
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.records import Answer, Citation
from tests.support.running_edge import running_edge

PUMPS = "Juniper Ward reported the failure of four infusion pumps. The pumps stopped at night."
ASKED = {"model": "dgrag-local", "messages": [{"role": "user", "content": "Which ward?"}]}
ANSWER = "Juniper Ward reported it [1]."
SOURCES = "\n\nSources:\n\n- [1] report.md – ward"


def failing(error):
    def answer(prompt):
        raise error

    return ScriptedGenerator(answer)


class Waiting:
    """A model that answers when it is told to."""

    name = "waiting"

    def __init__(self):
        self.go = asyncio.Event()

    async def generate(self, prompt, *, deadline_s):
        await self.go.wait()
        raise ModelUnavailable("gone")


async def post(edge, body):
    return await edge.http.post("/v1/chat/completions", json=body)


def data(text):
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [orjson.loads(line) for line in lines[:-1]]


def without_steps(events):
    return [event for event in events if "error" in event or "reasoning_content" not in event["choices"][0]["delta"]]


async def test_the_answer_is_a_completion(edge):
    await edge.add("report.md", PUMPS)
    reply = (await post(edge, {**ASKED, "temperature": 0.2})).json()
    message = reply["choices"][0]["message"]
    assert (message["role"], message["content"]) == ("assistant", ANSWER + SOURCES)
    assert reply["dgrag"]["route"] == "local"
    assert reply["dgrag"]["citations"][0]["document"] == "report.md"
    assert [m["id"] for m in (await edge.http.get("/v1/models")).json()["data"]] == [
        "dgrag",
        "dgrag-local",
        "dgrag-global",
        "dgrag-embedding",
    ]


async def test_a_stream_is_role_text_in_pieces_and_stop(edge):
    await edge.add("report.md", PUMPS)
    first, *pieces, last = without_steps(data((await post(edge, {**ASKED, "stream": True})).text))
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [piece["choices"][0]["delta"]["content"] for piece in pieces] == ["Juniper", " Ward", " reported", " it", " [1].", SOURCES]
    assert (last["choices"][0]["finish_reason"], set(last["choices"][0]["delta"])) == ("stop", {"annotations"})
    assert last["dgrag"]["route"] == "local"
    assert {event["id"] for event in (first, *pieces, last)} == {first["id"]}


async def test_a_stream_begins_before_the_answer_and_is_kept_alive(tmp_path, monkeypatch):
    """The model answers only after the second comment has gone out: without one the test would hang."""
    monkeypatch.setattr(chat, "KEEP_ALIVE_S", 0.01)
    model, sent = Waiting(), []
    async with running_edge(tmp_path, generator=model) as edge:
        await edge.add("report.md", PUMPS)

        async def send(message):
            sent.append(message.get("body", b""))
            if sum(body.startswith(b": ping") for body in sent) == 2:
                model.go.set()

        asked = iter([{"type": "http.request", "body": orjson.dumps({**ASKED, "stream": True})}])

        async def receive():
            return next(asked, None) or await asyncio.Event().wait()

        headers = [(b"content-type", b"application/json"), (b"host", b"localhost"), (b"x-dgrag", b"1")]
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/chat/completions",
            "headers": headers,
            "query_string": b"",
            "http_version": "1.1",
        }
        async with asyncio.timeout(10):
            await edge.http._transport.app(scope, receive, send)
    bodies = [body for body in sent if body]
    assert b'"role":"assistant"' in bodies[0]
    assert next(body for body in bodies[1:] if b"reasoning_content" not in body).startswith(b": ping")
    *_, told, end = [body for body in bodies if not body.startswith(b": ping")]
    assert b'"code":"model_unavailable"' in told
    assert end.strip() == b"data: [DONE]"
    assert chat.KEEP_ALIVE_S <= 10


@pytest.mark.parametrize(
    ("error", "code"), [(ModelUnavailable("no model", next_step="start it"), "model_unavailable"), (KeyError("x"), "internal")]
)
async def test_an_error_inside_a_stream_is_an_event(tmp_path, error, code):
    async with running_edge(tmp_path, generator=failing(error)) as edge:
        await edge.add("report.md", PUMPS)
        events = without_steps(data((await post(edge, {**ASKED, "stream": True})).text))
    assert [set(event) for event in events[1:]] == [{"error"}]
    assert (events[1]["error"]["code"], events[1]["error"]["type"]) == (code, "server_error")


async def test_what_was_said_and_is_not_the_answer_is_taken_back_in_words(edge, monkeypatch):
    await edge.add("report.md", PUMPS)

    async def answer(ask, trace, deadline, on_text):
        on_text("Pumps fly. ")
        on_text("")
        on_text("Pumps fail.")
        return Answer("q1", "Pumps fail.", (), "global", coverage="this site alone")

    monkeypatch.setattr(edge.node.overview, "answer", answer)
    events = data((await post(edge, {**ASKED, "model": "dgrag-global", "stream": True})).text)
    said = [event["choices"][0]["delta"].get("content") for event in events[1:-1]]
    assert said == ["Pumps fly. ", chat.TAKEN_BACK, "Pumps fail.", "\n\nthis site alone"]


async def test_a_content_of_text_parts_and_messages_of_other_roles_are_taken(edge):
    await edge.add("report.md", PUMPS)
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "content": None},
        {"role": "tool", "content": "42", "tool_call_id": "t"},
        {"role": "user", "content": [{"type": "text", "text": "Which "}, {"type": "text", "text": "ward?"}]},
    ]
    response = await post(edge, {**ASKED, "messages": messages, "sources": False})
    assert response.json()["choices"][0]["message"]["content"] == ANSWER


async def test_the_markers_of_an_answer_are_annotated_wherever_it_begins(edge, monkeypatch):
    """In what was said, the answer begins behind what was taken back."""
    await edge.add("report.md", PUMPS)
    cited = (await edge.ask("Which ward?"))["citations"][0]

    async def answer(ask, trace, deadline, on_text):
        on_text("Pumps fly [1]. ")
        on_text("")
        on_text("Pumps fail [1].")
        return Answer("q1", "Pumps fail [1].", (TypeAdapter(Citation).validate_python(cited),), "global")

    monkeypatch.setattr(edge.node.overview, "answer", answer)
    whole = (await post(edge, {**ASKED, "model": "dgrag-global"})).json()["choices"][0]["message"]
    events = data((await post(edge, {**ASKED, "model": "dgrag-global", "stream": True})).text)
    deltas = [event["choices"][0]["delta"] for event in events]
    streamed = {"content": "".join(delta.get("content", "") for delta in deltas), "annotations": deltas[-1]["annotations"]}
    for message in (whole, streamed):
        (one,) = (found["url_citation"] for found in message["annotations"])
        assert message["content"][: one["end_index"]].endswith("Pumps fail [1]")
        assert message["content"][one["start_index"] : one["end_index"]] == "[1]"
        assert (one["title"], one["url"]) == ("report.md – ward", f"dgrag://ward/documents/{cited['document_id']}#char=0,57")


@pytest.mark.parametrize(
    ("body", "status", "code", "said"),
    [
        ({"model": "gpt"}, 400, "bad_input", "there is no model 'gpt' (use one of dgrag, dgrag-local, dgrag-global)"),
        ({"model": "dgrag-global"}, 409, "conflict", "the edge's strategy builds no graph"),
        ({"messages": []}, 422, "bad_input", "body.messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, 400, "bad_input", "there is no user message"),
        ({"messages": [{"role": "user", "content": " \x00"}]}, 422, "bad_input", "the question is blank"),
        ({"messages": [{"role": "user", "content": "x" * 4001}]}, 400, "bad_input", "has 4,001 characters, 4,000 are the limit"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, 400, "bad_input", "'image_url'"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]}, 422, "bad_input", "body.messages.0"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, 422, "bad_input", "body.messages.0.role"),
    ],
)
async def test_an_error_has_openais_form(edge, body, status, code, said):
    response = await post(edge, {**ASKED, **body})
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    assert error["type"] == "invalid_request_error"
    assert said in error["message"]


async def test_a_model_that_is_away_is_told_with_our_status(tmp_path):
    async with running_edge(tmp_path, generator=failing(ModelUnavailable("no model"))) as edge:
        await edge.add("report.md", PUMPS)
        response = await post(edge, ASKED)
    assert (response.status_code, response.json()["error"]["code"]) == (503, "model_unavailable")


async def test_a_body_that_is_no_json_is_told_in_openais_form(edge):
    response = await edge.http.post("/v1/chat/completions", content=b"{", headers={"content-type": "application/json"})
    assert (response.status_code, set(response.json())) == (422, {"error"})


SAID = [
    {"role": "user", "content": "Which pumps failed on Juniper Ward?"},
    {"role": "assistant", "content": "Four infusion pumps [1].\n\nSources:\n\n- [1] report.md – ward"},
    {"role": "user", "content": "And who reported them?"},
]


def completing(prompt):
    return "Who reported the infusion pumps?" if prompt.messages[-1].content.endswith("Alone:") else [ANSWER] * prompt.n


async def test_a_follow_up_is_completed_from_the_conversation_and_told(tmp_path):
    generator = ScriptedGenerator(completing)
    async with running_edge(tmp_path, generator=generator) as edge:
        await edge.add("report.md", PUMPS)
        whole = (await post(edge, {**ASKED, "messages": SAID})).json()
        stream = data((await post(edge, {**ASKED, "messages": SAID, "stream": True})).text)
        said = [{"question": SAID[0]["content"], "answer": "Four."}]
        query = await edge.ask(SAID[-1]["content"], mode="local", earlier=said)
        first = (await post(edge, ASKED)).json()
    assert "Sources" not in generator.prompts[0].messages[-1].content
    assert (whole["dgrag"]["asked"], query["asked"], first["dgrag"]["asked"]) == (*["Who reported the infusion pumps?"] * 2, "")
    thoughts = [event["choices"][0]["delta"].get("reasoning_content", "") for event in stream]
    assert "asked: Who reported the infusion pumps?\n" in thoughts
    assert whole["dgrag"]["trace"][0]["step"] == "follow-up"


@pytest.mark.parametrize(
    "content",
    [r'"Which \ud83d ward?"', r'[{"type": "text", "text": "Which \ud83d"}, {"type": "text", "text": " ward?"}]'],
    ids=["text", "parts"],
)
async def test_half_of_an_emoji_is_a_replacement_character_or_a_refusal_in_openais_form(edge, content):
    await edge.add("report.md", PUMPS)
    body = f'{{"model": "dgrag-local", "messages": [{{"role": "user", "content": {content}}}]}}'
    reply = await edge.http.post("/v1/chat/completions", content=body.encode(), headers={"content-type": "application/json"})
    if reply.status_code == 200:
        assert reply.json()["choices"][0]["message"]["content"] == ANSWER + SOURCES
    else:
        assert reply.status_code in (400, 422)
        assert reply.json()["error"]["type"] == "invalid_request_error"
