"""Documents over HTTP: the estimate before, the receipt after."""

import asyncio
from types import SimpleNamespace

import pytest

from edge_node.documents.estimate import Rates
from tests.support.running_edge import running_edge

PUMPS = "Juniper Ward reported the failure of four infusion pumps. The pumps stopped at night."


async def estimated(edge, *documents):
    response = await edge.http.post("/v1/estimate", json={"documents": list(documents)})
    assert response.status_code == 200, response.text
    return response.json()


# ---------------------------------------------------------------- estimate


async def test_an_estimate_counts_chunks_tokens_and_seconds_and_stores_nothing(edge):
    found = await estimated(edge, {"name": "a", "text": PUMPS}, {"name": "b", "text": "The valve was replaced."})
    assert (found["documents"], found["chunks"], found["model_calls"], found["basis"]) == (2, 2, 0, "defaults")
    assert found["tokens"] > 10
    assert found["seconds"] > 0
    assert (await edge.http.get("/v1/status")).json()["documents"] == {"queued": 0, "running": 0, "indexed": 0, "parked": 0}


async def test_one_document_is_estimated_as_it_would_be_added(edge):
    as_json = (await edge.http.post("/v1/estimate", json={"name": "a.txt", "text": PUMPS})).json()
    as_form = (await edge.http.post("/v1/estimate", files={"file": ("a.txt", PUMPS.encode())})).json()
    assert as_json == as_form
    assert as_json["chunks"] == 1


async def test_what_is_indexed_already_or_comes_twice_costs_nothing(edge):
    await edge.add("a", PUMPS)
    found = await estimated(edge, {"name": "a", "text": PUMPS}, {"name": "b", "text": PUMPS}, {"name": "b", "text": PUMPS})
    assert (found["documents"], found["chunks"], found["duplicates"]) == (1, 1, 2)


async def test_what_cannot_be_read_is_named_with_the_reason(edge):
    found = await estimated(edge, {"name": "a", "text": " "}, {"name": "b\0", "text": PUMPS}, {"name": "c", "text": PUMPS})
    assert {(item["name"], item["code"]) for item in found["unreadable"]} == {("a", "empty"), ("b\0", "bad_input")}
    assert all(item["reason"] for item in found["unreadable"])
    assert found["documents"] == 1


async def test_model_calls_are_the_chosen_chunks_and_their_gleanings(tmp_path):
    """Two documents of one chunk each: ⌈0.5 · 1⌉ chunks each, asked twice."""
    async with running_edge(tmp_path, strategy="dgrag", extraction_share=0.5, gleanings=1) as edge:
        await edge.settled()
        edge.node.worker.rates = Rates(chunk_s=1.0, call_s=10.0, call_tokens_in=100.0, call_tokens_out=20.0, chunks=5.0, calls=5.0)
        found = await estimated(edge, {"name": "a", "text": PUMPS}, {"name": "b", "text": PUMPS})
    assert (found["model_calls"], found["tokens_in"], found["tokens_out"]) == (4, 400, 80)
    assert (found["seconds"], found["basis"]) == (42.0, "measured here")


async def test_too_many_documents_for_one_estimate_are_refused(edge):
    response = await edge.http.post("/v1/estimate", json={"documents": [{"name": "a", "text": ""}] * 1001})
    assert response.status_code == 422


# ---------------------------------------------------------------- deletion


async def test_the_receipt_of_a_deletion_can_be_asked_for_again(edge):
    accepted = await edge.add("report.md", PUMPS)
    receipt = (await edge.http.delete(f"/v1/documents/{accepted['document_id']}")).json()
    assert (receipt["document_id"], receipt["chunks"], receipt["erased"]) == (accepted["document_id"], 1, True)
    assert (await edge.http.get(f"/v1/receipts/{receipt['receipt_id']}")).json() == receipt


async def test_nothing_of_a_deleted_document_is_left_in_the_files(edge):
    canary = "Xylophone-Canary-4711"
    folder = edge.node.settings.state_dir
    accepted = await edge.add("report.md", f"Juniper Ward keeps the {canary} in a box.")
    assert any(canary.encode() in path.read_bytes() for path in folder.iterdir() if path.is_file())  # else the test proves nothing
    await edge.http.delete(f"/v1/documents/{accepted['document_id']}")
    assert not [path.name for path in folder.iterdir() if path.is_file() and canary.encode() in path.read_bytes()]


async def test_nothing_of_a_replaced_version_is_left_in_the_files(edge):
    canary = "Xylophone-Canary-4711"
    folder = edge.node.settings.state_dir
    await edge.add("report.md", f"Juniper Ward keeps the {canary} in a box.")
    await edge.add("report.md", PUMPS)
    assert not [path.name for path in folder.iterdir() if path.is_file() and canary.encode() in path.read_bytes()]


async def test_a_settle_that_fails_leaves_the_deletion_done_and_the_receipt_says_so(edge, monkeypatch):
    accepted = await edge.add("report.md", PUMPS)
    settle, failures = edge.node.strategy.settle, [ValueError("content of a document")]

    async def fails_once(progress):
        if failures:
            raise failures.pop()
        await settle(progress)

    monkeypatch.setattr(edge.node.strategy, "settle", fails_once)
    receipt = (await edge.http.delete(f"/v1/documents/{accepted['document_id']}")).json()
    assert (receipt["erased"], receipt["reason"]) == (False, "background work ended: ValueError")
    assert (await edge.http.get(f"/v1/documents/{accepted['document_id']}")).status_code == 404
    await edge.settled()
    assert (await edge.http.get(f"/v1/receipts/{receipt['receipt_id']}")).json()["erased"]


async def test_a_document_that_is_being_indexed_can_be_deleted(edge, monkeypatch):
    begun, add = asyncio.Event(), edge.node.strategy.add

    async def endless(chunks, progress, turn):
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(edge.node.strategy, "add", endless)
    accepted = (await edge.http.post("/v1/documents", json={"name": "a", "text": PUMPS})).json()
    await begun.wait()
    assert (await edge.http.delete(f"/v1/documents/{accepted['document_id']}")).status_code == 200
    monkeypatch.setattr(edge.node.strategy, "add", add)
    await edge.add("b", PUMPS)
    assert (await edge.http.get("/v1/status")).json()["documents"]["indexed"] == 1


@pytest.mark.parametrize(("version", "known", "cloud"), [(3, 2, "pending"), (3, 3, "confirmed"), (3, 9, "confirmed")])
async def test_the_cloud_has_forgotten_once_it_acknowledged_the_receipts_version(edge, monkeypatch, version, known, cloud):
    link = SimpleNamespace(state=SimpleNamespace(version=-1))  # not connected since the start
    accepted = await edge.add("report.md", PUMPS)
    edge.node.documents.database.set_meta("version", str(version))
    receipt = (await edge.http.delete(f"/v1/documents/{accepted['document_id']}")).json()
    monkeypatch.setattr(edge.node, "link", link)
    edge.node.documents.database.set_meta("cloud_version", str(known))  # as remembered from before a restart
    assert edge.node.receipt(receipt["receipt_id"])["cloud"] == cloud
    monkeypatch.setattr(edge.node, "link", None)


# ---------------------------------------------------------------- versions


async def test_a_version_that_cannot_be_read_leaves_the_old_one_served_and_says_which(edge):
    old = await edge.add("report.md", PUMPS)
    new = await edge.add("report.md", " ")
    found = (await edge.http.post("/v1/retrieve", json={"question": "pumps"})).json()["evidence"]
    assert [item["document_id"] for item in found] == [old["document_id"]]
    listed = (await edge.http.get("/v1/documents", params={"name": "report.md"})).json()["documents"]
    assert [(row["status"], row["replaces"]) for row in listed] == [("indexed", None), ("parked", old["document_id"])]
    assert [row["served"] for row in listed] == [True, False]
    assert listed[1]["document_id"] == new["document_id"]


# ---------------------------------------------------------------- labels


async def test_the_receipt_of_a_document_says_what_may_leave_of_it(tmp_path):
    async with running_edge(tmp_path) as edge:
        (tmp_path / "policy.toml").write_text('version = 1\n[labels]\npatients = "summary"\npublic = "full"\n')
        seen = []
        for labels in (None, ["patients", "public"], ["patients", "paitents"]):
            reply = (await edge.http.post("/v1/documents", json={"name": "a", "text": PUMPS, "labels": labels})).json()
            seen.append((reply["labels"], reply["share"], reply["unnamed_labels"]))
        assert seen == [([], "full", []), (["patients", "public"], "summary", []), (["patients", "paitents"], "never", ["paitents"])]


async def test_the_receipt_of_a_document_says_that_it_replaces_another_of_its_name(tmp_path):
    """C15, for two calls: two folders may have a file of one name."""
    async with running_edge(tmp_path) as edge:
        replies = [
            (await edge.http.post("/v1/documents", json={"name": "rules.md", "text": text})).json() for text in ("One.", "Two.", "Two.")
        ]
        assert [reply["replaces"] for reply in replies] == [False, True, False]


async def test_a_policy_that_cannot_be_read_shares_nothing_and_no_label_is_called_unnamed(tmp_path):
    async with running_edge(tmp_path) as edge:
        (tmp_path / "policy.toml").write_text("version = ")
        reply = (await edge.http.post("/v1/documents", json={"name": "a", "text": PUMPS, "labels": ["patients"]})).json()
        assert (reply["share"], reply["unnamed_labels"]) == ("never", [])


@pytest.mark.parametrize(("again", "kept"), [({}, ["patients"]), ({"labels": None}, ["patients"]), ({"labels": []}, [])])
async def test_a_document_that_is_sent_again_keeps_its_labels_unless_others_are_given(edge, again, kept):
    await edge.http.post("/v1/documents", json={"name": "a", "text": PUMPS, "labels": ["patients"]})
    assert (await edge.http.post("/v1/documents", json={"name": "a", "text": PUMPS, **again})).json()["labels"] == kept


@pytest.mark.parametrize(("again", "kept"), [({}, ["patients", "night"]), ({"labels": ""}, [])])
async def test_a_form_that_comes_again_keeps_the_labels_unless_others_are_given(edge, again, kept):
    for data in ({"labels": "patients, night"}, again):
        reply = await edge.http.post("/v1/documents", files={"file": ("a.md", PUMPS.encode())}, data=data)
    assert (reply.status_code, reply.json()["labels"]) == (202, kept)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("route", ["/v1/documents", "/v1/estimate"])
@pytest.mark.parametrize(("chars", "status"), [(512, 2), (513, 4), (3000, 4)])
async def test_a_name_is_as_long_as_sites_exchange_it_in_a_form_as_in_json(edge, route, chars, status):
    name = "n" * chars
    as_form = await edge.http.post(route, files={"file": (name, PUMPS.encode())})
    as_json = await edge.http.post(route, json={"name": name, "text": PUMPS})
    assert [reply.status_code // 100 for reply in (as_form, as_json)] == [status] * 2
    for refused in (as_form, as_json) if status == 4 else ():
        assert refused.status_code == 422
        assert refused.json()["detail"] == "name: String should have at most 512 characters"


# ---------------------------------------------------------------- content types


async def test_a_body_of_no_content_type_or_a_wrong_one_learns_which_is_expected(edge):
    headers = [{}, {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}]
    for path, expected in {"/v1/query": ("application/json",), "/v1/documents": ("application/json", "multipart/form-data")}.items():
        for header in headers:
            refused = await edge.http.post(path, content=b"{question: 'Why?'}", headers=header)
            assert refused.status_code == 422
            for kind in expected:
                assert f"`Content-Type: {kind}`" in refused.json()["next_step"], (path, header)
    told = await edge.http.post("/v1/chat/completions", content=b'{"messages": []}')
    assert "Content-Type: application/json" in told.json()["error"]["message"]
    of_json = await edge.http.post("/v1/query", json={})
    assert of_json.json()["next_step"] == "send the body that /docs describes"


# ---------------------------------------------------------------- questions


@pytest.mark.parametrize("question", [" ", "\t\n", "\x00\x1f", "\u200b\u00a0\u3000"])
async def test_a_question_of_which_nothing_can_be_seen_is_refused(edge, question):
    for path in ("/v1/query", "/v1/retrieve"):
        refused = await edge.http.post(path, json={"question": question})
        assert refused.status_code == 422, path
        assert "the question is blank" in refused.json()["detail"]
    refused = await edge.http.post("/v1/chat/completions", json={"model": "dgrag", "messages": [{"role": "user", "content": question}]})
    assert (refused.status_code, "the question is blank" in refused.json()["error"]["message"]) == (422, True)


# ---------------------------------------------------------------- from another edge


async def test_of_versions_of_one_name_that_are_imported_at_once_one_is_added_and_the_others_are_told_of_it(edge):
    about = '{"name": "a.txt", "reader": "a.txt", "created_at": 1}'
    sent = [{"file": ("file", f"Pump P-{number} failed.".encode())} for number in range(12)]
    replies = await asyncio.gather(*(edge.http.post("/v1/import", files=one, data={"about": about}) for one in sent))
    assert sorted(reply.json()["outcome"] for reply in replies) == ["added"] + ["kept"] * 11
