"""A document's name is what a person sees of it: two spellings of one name are one document (B10, C16)."""

import json
import unicodedata

import pytest

from edge_node.documents import changing, store
from edge_node.documents.filters import is_under
from edge_node.folders.files import Folder
from edge_node.folders.records import TWIN
from edge_node.records import document_id
from shared.ports import SystemClock
from tests.support.running_edge import running_edge
from tests.support.waiting import until

COMPOSED = "Kühlraum.txt"
APART = unicodedata.normalize("NFD", COMPOSED)
UNSEEN = {
    "plan\u202etxt.exe.txt": "plantxt.exe.txt",
    "pl\u200ban.txt": "plan.txt",
    "pl\U000e0041\ufe0f\u034fan.txt": "plan.txt",
    "a\nb: 10/10 ready.md": "a b: 10/10 ready.md",
    "a\u2028b\u2029c\x85d.md": "a b c d.md",
    "wards\xa07.md": "wards 7.md",
    " pumps.md ": "pumps.md",
    "\x1b[31mred.md": "[31mred.md",
    APART: COMPOSED,
}


def form(name):
    return {"data": {"name": name}, "files": {"file": ("a.txt", b"Room 21 is cool.")}}


def archived(name):
    about = {"name": name, "reader": "a.txt", "created_at": 1.0}
    return {"data": {"about": json.dumps(about)}, "files": {"file": ("a.txt", b"Room 21 is cool.")}}


def body(name):
    return {"json": {"name": name, "text": "Room 21 is cool."}}


DOORS = {
    "text": ("/v1/documents", body),
    "form": ("/v1/documents", form),
    "archive": ("/v1/import", archived),
}


@pytest.mark.parametrize("door", DOORS)
async def test_every_door_takes_a_name_as_it_is_seen(door, tmp_path):
    path, request = DOORS[door]
    async with running_edge(tmp_path) as edge:
        for sent, seen in UNSEEN.items():
            reply = await edge.http.post(path, **request(sent))
            assert reply.status_code in (200, 202), reply.text
            view = (await edge.http.get(f"/v1/documents/{reply.json()['document_id']}")).json()
            assert view["name"] == seen
        for nothing in ("\u200b", " \n ", "\u2800\u3164"):
            reply = await edge.http.post(path, **request(nothing))
            assert (reply.status_code, "can be seen" in reply.text) == (400, True)
        await edge.settled()


async def test_a_document_gets_its_new_name_as_it_is_seen(tmp_path):
    async with running_edge(tmp_path) as edge:
        added = await edge.add("old.txt", "Room 21 is cool.")
        reply = await edge.http.put(f"/v1/documents/{added['document_id']}/name", json={"name": APART})
        assert reply.status_code == 202, reply.text
        await edge.settled()
        assert [one["name"] for one in (await edge.http.get("/v1/documents")).json()["documents"]] == [COMPOSED]


async def test_two_spellings_of_a_name_are_two_versions_of_one_document(tmp_path):
    """Found by either spelling, in the listing and by a filter."""
    async with running_edge(tmp_path) as edge:
        await edge.add(COMPOSED, "The cool room is room 21.")
        await edge.add(APART, "The cool room is room 22.")
        for spelling in (COMPOSED, APART):
            found = (await edge.http.get("/v1/documents", params={"name": spelling})).json()["documents"]
            assert [one["name"] for one in found] == [COMPOSED]
            filtered = {"question": "Which room is cool?", "filters": {"path": spelling}}
            reply = (await edge.http.post("/v1/retrieve", json=filtered)).text
            assert ("room 22" in reply, "room 21" in reply) == (True, False)


@pytest.mark.parametrize(("name", "path"), [(COMPOSED, APART), (APART, COMPOSED), (f"ü/{APART}", "u\u0308/*"), ("a\u200b.md", "a.md")])
def test_a_filter_compares_names_as_they_are_seen(name, path):
    assert is_under(name, path)
    assert not is_under("Kuhlraum.txt", path)


def test_two_files_of_a_folder_whose_names_look_the_same_do_not_take_turns(tmp_path):
    (tmp_path / COMPOSED).write_text("21")
    (tmp_path / APART).write_text("22")
    survey = Folder(tmp_path, SystemClock(), most_bytes=1000).survey()
    assert [entry.name for entry in survey.entries] == [COMPOSED]
    assert [(problem.name, problem.reason) for problem in survey.problems] == [(COMPOSED, TWIN)]


def unchanged(name):
    return name


async def names_of(edge):
    return [one["name"] for one in (await edge.http.get("/v1/documents")).json()["documents"]]


@pytest.mark.parametrize("order", [(COMPOSED, APART), (APART, COMPOSED), (APART, COMPOSED, "Kühl\u200braum.txt")])
async def test_names_of_an_earlier_release_become_as_they_are_seen_and_the_latest_stays(order, tmp_path, monkeypatch):
    with monkeypatch.context() as former:
        former.setattr(store, "document_name", unchanged)
        former.setattr("edge_node.api.documents.as_seen", unchanged)
        async with running_edge(tmp_path) as edge:
            for room, name in enumerate(order, 21):
                await edge.add(name, f"The cool room is room {room}.")
            await edge.add("a\u202e.md", "Lamps are old.")
            assert sorted(await names_of(edge)) == sorted([*order, "a\u202e.md"])
    async with running_edge(tmp_path) as edge:
        await until(lambda: not changing.misnamed(edge.node.documents.database))
        await edge.settled()
        assert sorted(await names_of(edge)) == [COMPOSED, "a.md"]
        last = f"The cool room is room {20 + len(order)}."
        [found] = (await edge.http.get("/v1/documents", params={"name": COMPOSED})).json()["documents"]
        assert (found["document_id"], found["status"]) == (document_id(COMPOSED, last.encode()), "indexed")


async def test_a_name_that_is_damaged_on_disk_stays_and_the_others_are_seen_to(tmp_path, monkeypatch):
    with monkeypatch.context() as former:
        former.setattr(store, "document_name", unchanged)
        former.setattr("edge_node.api.documents.as_seen", unchanged)
        async with running_edge(tmp_path) as edge:
            damaged = (await edge.add("beds.md", "The ward has 28 beds."))["document_id"]
            await edge.add("a\u202e.md", "Lamps are old.")
            with edge.node.documents.database.write() as tx:
                tx.execute("UPDATE documents SET name = CAST(x'ff62' AS TEXT) WHERE document_id = ?", (damaged,))
    async with running_edge(tmp_path) as edge:
        await until(lambda: not changing.misnamed(edge.node.documents.database))
        later = (await edge.add("later.md", "Pumps are new."))["document_id"]
        assert (await edge.http.get(f"/v1/documents/{later}")).json()["status"] == "indexed"
