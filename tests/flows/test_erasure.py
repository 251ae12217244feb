"""What is deleted or replaced is gone to the last byte, here and in the cloud, and what others share stays (reliability goal R5)."""

import logging
import random

import pytest

from shared.sqlite import Database
from tests.support.federation import federation
from tests.support.running_edge import running_edge
from tests.support.waiting import until

CANARY = "Quixotrell"
SHARED = "Maristow Pump"
SECRET = f"{CANARY} Laboratory in {CANARY} Valley tested the {SHARED} in May. Doctor {CANARY} wrote the report about the {SHARED}."
OTHER = f"The {SHARED} uses a battery pack. Brackwell Works makes the {SHARED} for Juniper Ward."


def bytes_of(folder):
    return {path.name: path.read_bytes().lower() for path in folder.rglob("*") if path.is_file()}


def traces(folder):
    """The files of a folder that hold the canary."""
    return [name for name, content in bytes_of(folder).items() if CANARY.lower().encode() in content]


async def shown(edge):
    """Everything that a client can see of what was built."""
    pages = [
        (await edge.http.get(path)).text
        for path in ("/v1/graph?limit=1000", "/v1/subgraphs", "/v1/summaries", "/v1/documents", "/v1/status")
    ]
    found = await edge.http.post("/v1/retrieve", json={"question": f"What did {CANARY} test?", "budget_tokens": 400, "top_k": 10})
    return "\n".join([*pages, found.text])


async def with_secret(edges, name="secret.md"):
    edge = edges["ward"]
    added = await edge.add(name, SECRET)
    await edge.ask(f"What did {CANARY} Laboratory test?")
    assert CANARY in await shown(edge)
    await until(lambda: edge.node.link.in_sync)
    return added["document_id"]


MEMBERS = {"ward": (OTHER, "Insufficient information.")}


async def test_a_deleted_document_leaves_no_byte_here_or_in_the_cloud_and_the_shared_entity_stays(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, logger="dgrag")
    async with federation(tmp_path, cloud_answer="-", edge_answers=MEMBERS) as (edges, _, _):
        edge = edges["ward"]
        document_id = await with_secret(edges)
        assert traces(tmp_path / "ward")
        assert traces(tmp_path / "cloud")
        receipt = (await edge.http.delete(f"/v1/documents/{document_id}")).json()
        assert (receipt["erased"], receipt["document_id"]) == (True, document_id)
        assert traces(tmp_path / "ward") == []
        assert CANARY not in await shown(edge)
        await until(lambda: edge.node.receipt(receipt["receipt_id"])["cloud"] == "confirmed")
        await until(lambda: traces(tmp_path / "cloud") == [])
        assert SHARED in (await edge.http.get("/v1/entities")).text
        assert (await edge.http.get(f"/v1/receipts/{receipt['receipt_id']}")).json()["cloud"] == "confirmed"
    assert CANARY.lower() not in caplog.text.lower()


async def test_a_replaced_document_leaves_no_byte_once_its_new_version_is_indexed(tmp_path):
    async with federation(tmp_path, cloud_answer="-", edge_answers=MEMBERS) as (edges, _, _):
        await with_secret(edges)
        await edges["ward"].add("secret.md", f"Nothing is told of any laboratory. The {SHARED} is mended.")
        await until(lambda: edges["ward"].node.link.in_sync and not traces(tmp_path / "ward"))
        await until(lambda: not traces(tmp_path / "cloud"))
        assert CANARY not in await shown(edges["ward"])


async def test_with_the_cloud_away_the_receipt_says_pending_and_the_cloud_forgets_when_it_is_back(tmp_path):
    async with federation(tmp_path, cloud_answer="-", edge_answers=MEMBERS) as (edges, lines, _):
        edge = edges["ward"]
        document_id = await with_secret(edges)
        lines["ward"].cut = True
        receipt = (await edge.http.delete(f"/v1/documents/{document_id}")).json()
        assert (receipt["erased"], receipt["cloud"]) == (True, "pending")
        assert traces(tmp_path / "cloud")
        lines["ward"].cut = False
        await until(lambda: edge.node.receipt(receipt["receipt_id"])["cloud"] == "confirmed")
        await until(lambda: traces(tmp_path / "cloud") == [])


async def test_what_the_model_wrote_about_a_document_goes_with_it(tmp_path):
    members = {"ward": (OTHER, f"{CANARY} Laboratory tested the pump in May, and {CANARY} wrote about it.")}
    async with federation(tmp_path, cloud_answer="-", edge_answers=members, extraction_share=1.0, summaries="model") as (edges, _, _):
        document_id = await with_secret(edges)
        await until(lambda: edges["ward"].node.strategy.stale == 0)
        answered = {"ward": edges["ward"]}
        assert answered
        await edges["ward"].http.delete(f"/v1/documents/{document_id}")
        rows = edges["ward"].node.documents.database.rows("SELECT reply FROM llm_results")
        sources = edges["ward"].node.documents.database.rows("SELECT document_id FROM llm_sources")
        assert document_id not in {row["document_id"] for row in sources}
        assert len(rows) <= len(sources)


MANY, DELETED = 160, 60
PLACES = ("Juniper", "Harbour", "Corvid", "Malmo", "Aldern", "Wexley", "Zander", "Yarrow")


def small_document(number, rng):
    """A text that names one thing, which no other document names."""
    name = f"Quix{number:04}ell"
    return " ".join(
        f"{rng.choice(PLACES)} {name} {rng.choice(('Laboratory', 'Works', 'Bank', 'Ward'))} tested the {name} Pump near"
        f" {rng.choice('ABCDEFGHIJKLMNOPQRSTUVWXYZ')}{rng.randrange(999)} Street."
        for _ in range(rng.randrange(2, 9))
    )


async def left_of_many(folder, *, seed=1):
    """Which of the 60 documents deleted, out of 160 small ones, still have a byte in the files of a running edge."""
    rng = random.Random(seed)
    async with running_edge(folder, strategy="dgrag", min_free_bytes=0) as edge:
        sent = [
            await edge.http.post("/v1/documents", json={"name": f"Quix{number:04}ell.md", "text": small_document(number, rng)})
            for number in range(MANY)
        ]
        await edge.settled()
        deleted = rng.sample(range(MANY), DELETED)
        for number in deleted:
            receipt = (await edge.http.delete(f"/v1/documents/{sent[number].json()['document_id']}")).json()
            assert receipt["erased"]
        content = b"".join(bytes_of(folder).values())
        assert all(f"quix{number:04}ell".encode() in content for number in set(range(MANY)) - set(deleted))
        return [number for number in deleted if f"quix{number:04}ell".encode() in content]


@pytest.mark.campaign
async def test_of_many_small_documents_no_byte_of_a_deleted_one_is_left(tmp_path):
    assert await left_of_many(tmp_path) == []


@pytest.mark.campaign
async def test_null_control_without_a_new_file_bytes_of_some_are_left(tmp_path, monkeypatch):
    monkeypatch.setattr(Database, "_vacuum", lambda self: True)
    for seed in range(1, 10):  # which cells move depends on how the work was divided among settles
        if await left_of_many(tmp_path / str(seed), seed=seed):
            return
    pytest.fail("no byte was left in any of nine stores")


async def test_a_deletion_may_be_repeated_and_its_receipt_is_found_by_the_document(tmp_path):
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        document = f"/v1/documents/{(await edge.add('secret.md', SECRET))['document_id']}"
        receipt = (await edge.http.delete(document)).json()
        assert (await edge.http.delete(document)).json() == receipt
        assert (await edge.http.get("/v1/receipts", params={"document_id": receipt["document_id"]})).json() == {"receipts": [receipt]}
        assert receipt["cloud"] == "none"
        assert (await edge.http.delete("/v1/documents/unknown")).status_code == 404
        assert (await edge.http.get("/v1/receipts", params={"document_id": "unknown"})).json() == {"receipts": []}


async def test_an_edge_whose_cloud_is_configured_no_more_does_not_say_that_there_is_none(tmp_path):
    async with federation(tmp_path, cloud_answer="-", edge_answers=MEMBERS) as (edges, _, _):
        document_id = await with_secret(edges)
    async with running_edge(tmp_path / "ward", strategy="dgrag") as edge:
        assert (await edge.http.delete(f"/v1/documents/{document_id}")).json()["cloud"] == "pending"


@pytest.mark.parametrize("guard", ["erase", "secure_delete"])
async def test_null_control_without_the_guard_bytes_stay(tmp_path, monkeypatch, guard):
    if guard == "erase":
        monkeypatch.setattr(Database, "erase", lambda self: True)
    async with federation(tmp_path, cloud_answer="-", edge_answers=MEMBERS) as (edges, _, _):
        document_id = await with_secret(edges)
        if guard == "secure_delete":
            with edges["ward"].node.documents.database.write() as tx:
                tx.execute("PRAGMA secure_delete=OFF")
            monkeypatch.setattr(Database, "_vacuum", lambda self: True)  # each of the two would do here
        await edges["ward"].http.delete(f"/v1/documents/{document_id}")
        assert traces(tmp_path / "ward")
