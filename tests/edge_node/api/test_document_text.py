"""The text of a document over HTTP: made of its chunks, which overlap, touch, or leave white space out."""

import pytest

from edge_node.documents.store import MOST_CHARS
from edge_node.documents.worker import Worker
from tests.support.running_edge import running_edge

WARDS = [f"Ward {number} reported the failure of pump P-{number}." for number in range(200)]


async def read(edge, identity, **part):
    response = await edge.http.get(f"/v1/documents/{identity}/text", params=part)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("overlap", [0, 8])
async def test_the_text_is_that_of_the_file_whether_its_chunks_overlap_or_leave_line_ends_out(tmp_path, overlap):
    text = "\n\n".join(WARDS)
    async with running_edge(tmp_path, chunk_tokens=40, chunk_overlap=overlap) as edge:
        identity = (await edge.add("wards.md", text, title="Wards"))["document_id"]
        assert (await edge.http.get(f"/v1/documents/{identity}")).json()["chunks"] > 20
        whole = await read(edge, identity)
        assert whole == {
            "document_id": identity, "name": "wards.md", "title": "Wards", "start": 0, "end": len(text), "length": len(text), "text": text,
        }  # fmt: skip
        for start, end in ((0, 0), (7, 8), (100, 1_000), (len(text) - 5, len(text) + 5), (len(text) + 5, len(text) + 9)):
            part = await read(edge, identity, start=start, end=end)
            assert (part["text"], part["end"]) == (text[start:end], start + len(text[start:end])), (start, end)


async def test_a_long_text_comes_in_parts_that_follow_one_another(tmp_path):
    text = " ".join(WARDS * 6)
    async with running_edge(tmp_path) as edge:
        identity = (await edge.add("wards.md", text))["document_id"]
        first = await read(edge, identity)
        assert (len(first["text"]), first["end"], first["length"]) == (MOST_CHARS, MOST_CHARS, len(text))
        parts = [first["text"]]
        while sum(map(len, parts)) < len(text):
            parts.append((await read(edge, identity, start=sum(map(len, parts))))["text"])
        assert "".join(parts) == text


async def test_a_passages_span_is_a_part_of_the_text_and_the_id_that_other_sites_know_opens_it(edge):
    identity = (await edge.add("wards.md", " ".join(WARDS)))["document_id"]
    passage = (await edge.http.post("/v1/retrieve", json={"question": "Ward 7", "top_k": 1})).json()["evidence"][0]
    start, end = passage["span"]
    outside = edge.node.sharing.outside_ids.of(identity)
    assert (await read(edge, outside, start=start, end=end))["text"] == passage["text"]


async def test_a_text_that_is_not_there_is_told_with_the_reason(edge, monkeypatch):
    assert (await edge.http.get("/v1/documents/nothing/text")).status_code == 404
    parked = (await edge.add("empty.txt", " "))["document_id"]
    problem = await edge.http.get(f"/v1/documents/{parked}/text")
    assert (problem.status_code, problem.json()["next_step"]) == (409, "add a document that has words in it")
    monkeypatch.setattr(Worker, "wake", lambda _: None)
    waiting = (await edge.http.post("/v1/documents", json={"name": "a", "text": "A pump."})).json()["document_id"]
    problem = await edge.http.get(f"/v1/documents/{waiting}/text")
    assert (problem.status_code, "not indexed yet" in problem.json()["detail"]) == (409, True)


@pytest.mark.parametrize("part", ["start=5&end=4", "start=-1", "end=x", f"start={2**60}"])
async def test_a_part_that_cannot_be_is_refused(edge, part):
    identity = (await edge.add("a.md", "A pump stopped."))["document_id"]
    problem = await edge.http.get(f"/v1/documents/{identity}/text?{part}")
    assert (problem.status_code, problem.json()["code"]) == (422, "bad_input")


async def test_a_chunk_that_is_damaged_on_disk_is_left_out_and_the_places_stay(tmp_path):
    text = " ".join(WARDS[:20])
    async with running_edge(tmp_path, chunk_tokens=40, chunk_overlap=0) as edge:
        identity = (await edge.add("wards.md", text))["document_id"]
        with edge.node.documents.database.write() as tx:
            tx.execute("UPDATE chunks SET text = 'forged' WHERE ordinal = 1")
        whole = await read(edge, identity)
    assert (whole["length"], len(whole["text"])) == (len(text), len(text))
    assert "forged" not in whole["text"]
    assert whole["text"].startswith(WARDS[0])
    assert whole["text"].endswith(WARDS[19])
