"""What comes another way between the look and the apply of a sync stays as it is."""

import asyncio

import pytest

from edge_node.documents.readers.pool import ReadsHere
from edge_node.folders import syncing
from edge_node.folders.inside import Inside
from edge_node.folders.memory import Memory
from edge_node.folders.records import Entry, Held, Survey, Wishes
from edge_node.folders.syncing import apply, identified, look
from edge_node.records import Offered, document_id
from tests.support.running_edge import running_edge


class Files:
    """Implements ``edge_node.folders.records.Source``: files in a dict."""

    def __init__(self, **files):
        self.files = files

    def survey(self):
        return Survey(tuple(Entry(name, name, len(text), "") for name, text in sorted(self.files.items())))

    def read(self, entry):
        return self.files[entry.name].encode()


OLD, NEW, FOREIGN = "The pump failed.", "The pump works.", "The ward was closed by Ann Lee."
WISHES = Wishes("s", ("public",), force=True)
MEANWHILE = {  # what the folder is, and is then; what became of the name meanwhile is the same in all
    "a new file": ({}, {"a": NEW}),
    "a changed file": ({"a": OLD}, {"a": NEW}),
    "a file that is gone": ({"a": OLD}, {}),
    "the new name of a file": ({"b": OLD}, {"a": OLD}),
    "the former name of a file": ({"a": OLD}, {"b": OLD}),
    "other labels": ({"a": OLD}, {"a": OLD}),
}


class HoldsForeign(ReadsHere):
    """The document that came meanwhile replaces no other before it may be read."""

    def __init__(self):
        self.may_read = asyncio.Event()

    async def read(self, name, raw):
        if raw == FOREIGN.encode():
            await self.may_read.wait()
        return await super().read(name, raw)


@pytest.mark.parametrize("case", MEANWHILE)
async def test_a_document_that_takes_a_name_between_look_and_apply_is_not_touched(case, tmp_path):
    before, after = MEANWHILE[case]
    reads = HoldsForeign()
    async with running_edge(tmp_path / "edge", strategy="naive", reads=reads) as edge:
        target, memory, files = Inside(edge.node), Memory(tmp_path / "memory"), Files(**before)

        async def run(meanwhile=None):
            found = await look(files, target, memory, wishes)
            if meanwhile is not None:
                await edge.node.accept(meanwhile)
            return found, await apply(found, files, target, memory, wishes)

        wishes = WISHES if case != "other labels" else Wishes("s", (), force=True)
        await run()
        await edge.settled()
        files.files, wishes = after, WISHES
        foreign = Offered(document_id("a", FOREIGN.encode()), "a", FOREIGN.encode(), "text.txt", labels=("secret",))
        found, done = await run(foreign)
        assert found.plan.steps == 1
        assert [problem.reason.split(",")[0] for problem in done.problems] == ["a document of this name came another way"]
        reads.may_read.set()
        await edge.settled()
        view = (await target.held())["a"]
        assert (view.document_id, view.source, view.labels) == (foreign.document_id, "", {"secret"})

        await edge.node.remove(foreign.document_id)  # what was refused then is made up for by the next run
        found, done = await run()
        assert done.problems == []
        await edge.settled()
        held = await target.held()
        assert {name: one.document_id for name, one in held.items()} == {n: document_id(n, text.encode()) for n, text in after.items()}
        assert all(one.labels == {"public"} for one in held.values())


async def test_what_the_sync_may_adopt_is_taken_over(tmp_path):
    async with running_edge(tmp_path / "edge", strategy="naive") as edge:
        await edge.add("a", FOREIGN)
        target, files, wishes = Inside(edge.node), Files(a=NEW), Wishes("s", adopt=True)
        found = await look(files, target, Memory(tmp_path / "memory"), wishes)
        assert (await apply(found, files, target, Memory(tmp_path / "memory"), wishes)).problems == []
        await edge.settled()
        assert (await target.held())["a"].source == "s"


async def test_a_request_with_a_source_changes_only_what_is_that_syncs(tmp_path):
    async with running_edge(tmp_path / "edge", strategy="naive") as edge:
        identity = (await edge.add("a", FOREIGN))["document_id"]
        mine, url = {"params": {"source": "s"}}, f"/v1/documents/{identity}"
        replies = [
            await edge.http.delete(url, **mine),
            await edge.http.put(f"{url}/name", json={"name": "b"}, **mine),
            await edge.http.put(f"{url}/labels", json={"labels": []}, **mine),
            await edge.http.post("/v1/documents", json={"name": "a", "text": NEW, "source": "s", "adopt": False}),
            await edge.http.post("/v1/documents", files={"file": ("a", NEW.encode())}, data={"source": "s", "adopt": "false"}),
        ]
        assert [reply.status_code for reply in replies] == [409] * 5
        assert (await edge.http.get(url)).json()["status"] == "indexed"
        assert (await edge.http.delete(url)).status_code == 200


def test_each_file_of_a_renamed_folder_is_tried_against_its_own_former_name_alone(tmp_path, monkeypatch):
    texts = {f"{number:03}.md": f"{number:03} pumps" for number in range(200)}  # all of one size
    gone = [Held(f"old/{name}", document_id(f"old/{name}", text.encode()), len(text), "s", frozenset()) for name, text in texts.items()]
    files = Files(**{f"new/{name}": text for name, text in texts.items()})
    hashed = []
    monkeypatch.setattr(syncing, "document_id", lambda name, raw: hashed.append(name) or document_id(name, raw))
    found, _ = identified(files, files.survey(), Memory(tmp_path / "memory"), gone)
    assert [file.was for file in found] == [f"old/{name}" for name in sorted(texts)]
    assert len(hashed) == 2 * len(texts)
