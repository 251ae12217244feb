"""Questions about everything over REST, on an edge with a graph."""

import asyncio
import math
import re

import orjson
import pytest

from edge_node.node import EdgeNode
from shared.errors import ModelTimeout, ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.records import Answer
from tests.support.running_edge import running_edge
from tests.support.waiting import until

PUMPS = "Juniper Ward uses the Maristow Pump. The Maristow Pump has a CX-40 battery pack."
GATES = "Thornby Builders built the Heron Gate Barrier. The Heron Gate Barrier protects Port Tessel."
QUESTION = "What is told of here?"
RULE = "Join what belongs together, leave out what does not help with the question, and write four to eight sentences."


def notes(prompt):
    return re.findall(r"^\[(\d+)\] (.*)$", prompt.messages[-1].content, re.MULTILINE)


def told(prompt):
    return " ".join(f"{text.rstrip('.')} [{number}]." for number, text in notes(prompt))


def reader(reply=told, *, yes=0.9):
    return ScriptedGenerator(reply, lambda prompt: {"Yes": math.log(yes), "No": math.log(1 - yes)})


def site(folder, generator=None, **settings):
    return running_edge(folder, generator=generator or reader(), strategy="dgrag", **settings)


async def filled(edge):
    await edge.add("pump.md", PUMPS)
    await edge.add("gate.md", GATES)


def events(text):
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\r\n\r\n")]


@pytest.mark.parametrize("level", [None, "dynamic", 0, 1, 2, 3])
async def test_every_source_of_a_global_answer_can_be_opened(tmp_path, level):
    async with site(tmp_path) as edge:
        await filled(edge)
        answer = await edge.ask(QUESTION, mode="global", **({} if level is None else {"level": level}))
        assert (answer["route"], answer["answered"], answer["degraded"], answer["gate"]) == ("global", True, False, None)
        assert re.fullmatch(r"this site alone: (\d+) of \1 reports?", answer["coverage"])
        markers = {int(number) for number in re.findall(r"\[(\d+)\]", answer["answer"])}
        assert markers == {citation["n"] for citation in answer["citations"]} != set()
        assert all(re.search(r"\[\d+\]", sentence) for sentence in re.split(r"(?<=\.) ", answer["answer"]))
        for citation in answer["citations"]:
            report = (await edge.http.get(f"/v1/reports/{citation['report']}")).json()
            sources = {source["chunk_id"]: source for finding in report["findings"] for source in finding["sources"]}
            assert {citation["chunk_id"], *citation["chunks"]} <= sources.keys()
            document = (await edge.http.get(f"/v1/documents/{citation['document_id']}")).json()
            text = {"pump.md": PUMPS, "gate.md": GATES}[document["name"]]
            assert text[slice(*citation["span"])] == citation["quote"] != ""


async def test_passages_can_stand_in_the_place_of_reports(tmp_path):
    async with site(tmp_path) as edge:
        await filled(edge)
        answer = await edge.ask(QUESTION, mode="global", level="text")
        assert {citation["document"] for citation in answer["citations"]} == {"pump.md", "gate.md"}
        assert {citation["report"] for citation in answer["citations"]} == {""}


async def test_without_a_model_the_answer_is_of_the_documents_own_sentences(tmp_path):
    def away(prompt):
        raise ModelUnavailable("no model")

    async with site(tmp_path, reader(away)) as edge:
        await filled(edge)
        answer = await edge.ask("What is the Heron Gate Barrier?", mode="global")
        assert (answer["route"], answer["degraded"], answer["reason"]) == ("global", True, "no model")
        assert "Heron Gate Barrier" in answer["answer"].splitlines()[0]
        assert {citation["quote"] for citation in answer["citations"]} <= set(
            re.findall(r"[^.]+\.", PUMPS.replace(". ", ".") + GATES.replace(". ", "."))
        )


async def test_reports_that_do_not_help_are_dropped(tmp_path):
    async with site(tmp_path, reader(yes=0.001)) as edge:
        await filled(edge)
        answer = await edge.ask(QUESTION, mode="global")
        assert (answer["answered"], answer["citations"]) == (False, [])


async def test_a_strategy_without_a_graph_is_a_conflict_that_says_what_to_do(edge):
    response = await edge.http.post("/v1/query", json={"question": QUESTION, "mode": "global"})
    assert (response.status_code, response.json()["code"]) == (409, "conflict")
    assert "dgrag" in response.json()["next_step"]


@pytest.mark.parametrize(
    "body", [{"level": 0}, {"level": "dynamic", "mode": "local"}, {"level": 4, "mode": "global"}, {"level": "all", "mode": "global"}]
)
async def test_a_level_is_for_global_questions_and_one_of_four(edge, body):
    response = await edge.http.post("/v1/query", json={"question": QUESTION, **body})
    assert (response.status_code, response.json()["code"]) == (422, "bad_input")


async def test_a_stream_brings_the_sentences_as_they_are_written(tmp_path):
    async with site(tmp_path) as edge:
        await filled(edge)
        got = events((await edge.http.post("/v1/query", json={"question": QUESTION, "mode": "global", "stream": True})).text)
    kinds = [event["event"] for event in got]
    assert kinds.index("step") < kinds.index("text")
    assert kinds.index("text") < len(kinds) - 1 - kinds[::-1].index("step")  # the step "reduce" ends when all is written
    assert (kinds[-1], "void" in kinds) == ("answer", False)
    said = "".join(orjson.loads(event["data"]) for event in got if event["event"] == "text")
    assert said.strip() == orjson.loads(got[-1]["data"])["answer"]


async def test_a_stream_takes_back_what_turns_out_to_be_no_answer(tmp_path):
    """The model tells the first point and then repeats its instructions; without it, all points are told."""

    def turning(prompt):
        return f"{notes(prompt)[0][1]} {RULE}" if prompt.messages[-1].content.startswith("Points:") else told(prompt)

    async with site(tmp_path, reader(turning), global_method="paper") as edge:
        await filled(edge)
        got = events((await edge.http.post("/v1/query", json={"question": QUESTION, "mode": "global", "stream": True})).text)
    kinds = [event["event"] for event in got]
    assert kinds.index("text") < kinds.index("void")
    said = "".join(orjson.loads(event["data"]) for event in got[kinds.index("void") + 1 :] if event["event"] == "text")
    answer = orjson.loads(got[-1]["data"])
    assert said == answer["answer"]
    assert answer["reason"].startswith("the points are not joined: ")


async def test_what_was_heard_is_taken_back_at_once(edge, monkeypatch):
    async def asked(node, ask, trace, on_text, on_asked):
        for sentence in ("Pumps fail. ", "Gates hold. ", "", ""):
            on_text(sentence)
        with trace.step("map"):
            on_text("It rains.")
        return Answer("q", "It rains.", (), "global")

    monkeypatch.setattr(EdgeNode, "ask", asked)
    got = events((await edge.http.post("/v1/query", json={"question": QUESTION, "mode": "global", "stream": True})).text)
    assert [event["event"] for event in got] == ["text", "text", "void", "text", "step", "answer"]


class Hanging(ScriptedGenerator):
    """Never answers; ``ended`` counts the calls that were cancelled."""

    def __init__(self):
        super().__init__(told)
        self.begun = self.ended = 0

    async def generate(self, prompt, *, deadline_s):
        self.begun += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


async def test_a_client_that_goes_takes_the_models_work_along(tmp_path):
    model = Hanging()
    async with site(tmp_path, model, global_context_tokens=200) as edge:
        await filled(edge)
        asked = iter([{"type": "http.request", "body": orjson.dumps({"question": QUESTION, "mode": "global"})}])

        async def receive():
            if (body := next(asked, None)) is not None:
                return body
            await until(lambda: model.begun)
            return {"type": "http.disconnect"}

        async def send(message):
            del message

        headers = [(b"content-type", b"application/json"), (b"host", b"localhost"), (b"x-dgrag", b"1")]
        scope = {"type": "http", "method": "POST", "path": "/v1/query", "headers": headers, "query_string": b"", "http_version": "1.1"}
        async with asyncio.timeout(10):
            await edge.http._transport.app(scope, receive, send)
        assert model.begun == model.ended > 0


async def test_questions_about_everything_leave_the_turns_of_others_free(edge, monkeypatch):
    begun = asyncio.Event()

    async def hanging(*_):
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(edge.node.overview, "answer", hanging)
    body = {"question": QUESTION, "mode": "global"}
    waiting = edge.node.settings.questions_waiting
    held = [asyncio.create_task(edge.http.post("/v1/query", json=body)) for _ in range(1 + waiting)]
    await begun.wait()
    turns = edge.http._transport.app.state.node.admissions.overviews
    await until(lambda: (turns.running, turns.waiting) == (1, waiting))
    for more in ({}, {"stream": True}):
        assert (await edge.http.post("/v1/query", json={**body, **more})).status_code == 503
    assert (await edge.ask(QUESTION, mode="local"))["route"] == "local"
    for one in held:
        one.cancel()


async def test_a_deadline_ends_the_reading_and_what_can_be_said_without_a_model_is_said(tmp_path):
    class Late(Hanging):
        async def generate(self, prompt, *, deadline_s):
            try:
                async with asyncio.timeout(deadline_s):
                    await super().generate(prompt, deadline_s=deadline_s)
            except TimeoutError as error:
                raise ModelTimeout(deadline_s=deadline_s) from error

    async with site(tmp_path, Late(), global_deadline_s=0.5) as edge:
        await filled(edge)
        answer = await edge.ask("What is the Heron Gate Barrier?", mode="global")
        assert (answer["answered"], answer["degraded"]) == (True, True)
        assert answer["reason"].startswith("the model gave no full answer in 0.")


async def test_a_chat_client_reads_what_is_covered_in_the_last_paragraph(tmp_path):
    async with site(tmp_path) as edge:
        await filled(edge)
        body = {"model": "dgrag-global", "messages": [{"role": "user", "content": QUESTION}], "sources": False}
        reply = (await edge.http.post("/v1/chat/completions", json=body)).json()
        text, _, last = reply["choices"][0]["message"]["content"].rpartition("\n\n")
        assert (text, last) == (reply["dgrag"]["answer"], reply["dgrag"]["coverage"])
        streamed = (await edge.http.post("/v1/chat/completions", json={**body, "stream": True})).text
        pieces = [orjson.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: {")]
        assert "".join(piece["choices"][0]["delta"].get("content", "") for piece in pieces) == f"{text}\n\n{last}"
