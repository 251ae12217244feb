"""The edge's REST contract (design §11) on the smallest strategy."""

import asyncio

import orjson
import pytest

from tests.support.running_edge import running_edge, scripted

PUMPS = "Juniper Ward reported the failure of four infusion pumps. The pumps stopped at night."


async def test_a_document_is_accepted_indexed_and_listed(edge):
    accepted = await edge.add("report.md", PUMPS)
    assert set(accepted) >= {"document_id", "job_id", "duplicate"}
    listed = (await edge.http.get("/v1/documents")).json()
    assert [(d["name"], d["status"]) for d in listed["documents"]] == [("report.md", "indexed")]
    assert listed["next"] is None
    one = (await edge.http.get(f"/v1/documents/{accepted['document_id']}")).json()
    assert (one["status"], one["chunks"]) == ("indexed", 1)


async def test_sending_it_again_is_a_duplicate_and_new_content_replaces(edge):
    first = await edge.add("report.md", PUMPS)
    again = await edge.add("report.md", PUMPS)
    assert again["duplicate"]
    assert again["document_id"] == first["document_id"]
    await edge.add("report.md", "The valve was replaced.")
    found = (await edge.http.post("/v1/retrieve", json={"question": "pumps"})).json()["evidence"]
    assert [item["text"] for item in found] == ["The valve was replaced."]


async def test_a_file_is_uploaded_as_a_form(edge):
    response = await edge.http.post(
        "/v1/documents", files={"file": ("note.html", b"<p>The pump stopped.</p>")}, data={"labels": "ward,night"}
    )
    assert response.status_code == 202
    await edge.settled()
    document = (await edge.http.get("/v1/documents")).json()["documents"][0]
    assert (document["name"], document["labels"], document["status"]) == ("note.html", ["ward", "night"], "indexed")


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("empty.txt", b"", "empty"),
        ("empty.pdf", b"", "empty"),
        ("binary.txt", bytes(range(256)) * 40, "not_text"),
        ("broken.pdf", b"%PDF-1.4 nothing follows", "bad_pdf"),
    ],
)
async def test_what_cannot_be_read_is_parked_with_a_reason_and_the_rest_is_indexed(edge, name, content, code):
    await edge.http.post("/v1/documents", files={"file": (name, content)})
    await edge.add("good.md", PUMPS)
    documents = {d["name"]: d for d in (await edge.http.get("/v1/documents")).json()["documents"]}
    assert (documents[name]["status"], documents[name]["code"]) == ("parked", code)
    assert documents[name]["next_step"]
    assert documents["good.md"]["status"] == "indexed"


async def test_utf16_text_is_read(edge):
    await edge.http.post("/v1/documents", files={"file": ("wide.txt", PUMPS.encode("utf-16"))})
    await edge.settled()
    found = (await edge.http.post("/v1/retrieve", json={"question": "pumps"})).json()["evidence"]
    assert found[0]["text"] == PUMPS


async def test_a_document_over_the_limit_is_refused_before_it_is_read(tmp_path):
    async with running_edge(tmp_path, max_document_bytes=1000) as edge:
        response = await edge.http.post("/v1/documents", files={"file": ("big.txt", b"x" * 200_000)})
        assert response.status_code == 413
        assert response.json()["code"] == "too_large"


async def test_a_deleted_document_is_found_no_more(edge):
    accepted = await edge.add("report.md", PUMPS)
    receipt = (await edge.http.delete(f"/v1/documents/{accepted['document_id']}")).json()
    assert (receipt["chunks"], receipt["erased"], receipt["cloud"]) == (1, True, "none")
    assert (await edge.http.post("/v1/retrieve", json={"question": "pumps"})).json()["evidence"] == []
    assert (await edge.http.get(f"/v1/documents/{accepted['document_id']}")).status_code == 404


async def test_a_job_tells_its_progress_until_it_ends(edge):
    accepted = await edge.add("report.md", PUMPS)
    assert (await edge.http.get(f"/v1/jobs/{accepted['job_id']}")).json()["status"] == "indexed"
    events = (await edge.http.get(f"/v1/jobs/{accepted['job_id']}/events")).text
    assert events.startswith("event: progress")


async def test_an_answer_names_route_citations_gate_and_trace(edge):
    await edge.add("report.md", PUMPS)
    answer = await edge.ask("Which ward reported the pump failure?")
    assert (answer["route"], answer["answered"], answer["degraded"]) == ("local", True, False)
    assert answer["answer"] == "Juniper Ward reported it [1]."
    citation = answer["citations"][0]
    assert (citation["edge"], citation["document"]) == ("ward", "report.md")
    start, end = citation["span"]
    assert PUMPS[start:end] == citation["quote"]
    assert answer["gate"]["decision"] == "local"
    assert answer["gate"]["similarity"]["mean"] == 1.0
    assert [step["step"] for step in answer["trace"]][:5] == ["remember", "tables", "retrieve", "samples", "gate: confidence"]


async def test_without_a_cloud_an_unsure_edge_says_so_and_is_degraded(tmp_path):
    async with running_edge(tmp_path, generator=scripted("Insufficient information.")) as edge:
        await edge.add("report.md", PUMPS)
        answer = await edge.ask("Who paints the roof?")
        assert (answer["route"], answer["degraded"], answer["answered"], answer["citations"]) == ("degraded", True, False, [])
        assert "no cloud" in answer["reason"]


async def test_a_question_that_must_stay_is_not_escalated(tmp_path):
    async with running_edge(tmp_path, generator=scripted("Insufficient information.")) as edge:
        await edge.add("report.md", PUMPS)
        for fields in ({"mode": "local"}, {"allow_escalation": "no"}):
            answer = await edge.ask("Who paints the roof?", **fields)
            assert (answer["route"], answer["degraded"]) == ("local", False)


async def test_a_streamed_answer_shows_steps_then_text_then_the_whole(edge):
    await edge.add("report.md", PUMPS)
    text = (await edge.http.post("/v1/query", json={"question": "Which ward?", "stream": True})).text
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.strip().split("\r\n\r\n")]
    kinds = [block["event"] for block in blocks]
    assert kinds[0] == "step"
    assert kinds[-1] == "answer"
    said = "".join(orjson.loads(block["data"]) for block in blocks if block["event"] == "text")
    assert said == orjson.loads(blocks[-1]["data"])["answer"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/query", b'{"question": "\\ud800"}'),
        ("POST", "/v1/query", b'{"question": ""}'),
        ("POST", "/v1/query", b'{"question": "x", "n": NaN}'),
        ("POST", "/v1/query", b'{"question": "x", "n": 9223372036854775808}'),
        ("POST", "/v1/query", b'{"question": "x", "unknown": 1}'),
        ("POST", "/v1/query", b"[" * 100_000),
        ("POST", "/v1/retrieve", b'{"question": "x", "budget_tokens": 1e999}'),
        ("POST", "/v1/documents", b"not json"),
        ("POST", "/v1/documents", b'{"name": "a\\u0000b", "text": "x"}'),
        ("POST", "/v1/documents", b'{"name": "  ", "text": "x"}'),
        ("GET", "/v1/documents?limit=0", b""),
        ("GET", "/v1/documents?limit=99999999999999999999", b""),
        ("GET", "/v1/documents/%00", b""),
        ("GET", "/v1/documents/" + "x" * 5000, b""),
        ("DELETE", "/v1/documents/unknown", b""),
        ("GET", "/v1/jobs/unknown", b""),
        ("GET", "/v1/jobs/unknown/events", b""),
        ("POST", "/v1/jobs/unknown/cancel", b""),
        ("POST", "/v1/jobs/unknown/retry", b""),
        ("GET", "/v1/receipts/unknown", b""),
        ("POST", "/v1/estimate", b""),
        ("POST", "/v1/estimate", b"[" * 100_000),
        ("POST", "/v1/estimate", b'{"documents": 3}'),
        ("POST", "/v1/estimate", b'{"documents": [{"name": "a"}]}'),
        ("GET", "/v1/graph?hops=99", b""),
    ],
)
async def test_bad_input_is_a_problem_in_words_never_a_500(edge, method, path, body):
    response = await edge.http.request(method, path, content=body, headers={"content-type": "application/json"})
    assert 400 <= response.status_code < 500, response.text
    problem = response.json()
    assert problem["code"]
    assert problem["detail"]
    assert len(response.content) < 5000


async def test_a_restarted_edge_continues_where_it_was(tmp_path):
    async with running_edge(tmp_path) as edge:
        await edge.http.post("/v1/documents", json={"name": "report.md", "text": PUMPS})
    async with running_edge(tmp_path) as edge:
        await edge.settled()
        assert (await edge.http.get("/v1/status")).json()["documents"]["indexed"] == 1
        assert (await edge.ask("Which ward?"))["citations"][0]["document"] == "report.md"


async def test_questions_are_answered_while_documents_wait(edge):
    await edge.add("report.md", PUMPS)
    posts = [edge.http.post("/v1/documents", json={"name": f"n{i}", "text": f"Valve {i} was replaced."}) for i in range(20)]
    answer, *accepted = await asyncio.gather(edge.ask("Which ward?"), *posts)
    assert answer["answered"]
    assert {response.status_code for response in accepted} == {202}
    await edge.settled()
    assert (await edge.http.get("/v1/status")).json()["documents"]["indexed"] == 21
