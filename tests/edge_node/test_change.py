"""Another embedding model takes over behind the questions, and leaves what it would have made from the start."""

import asyncio
import shutil

import pytest

from edge_node.database.prepared import FILE, FOLDER
from shared.errors import ModelUnavailable, StoreError
from shared.models.fake import HashEmbedder
from tests.faults.on_disk import DERIVED, digest, opened
from tests.support.running_edge import running_edge
from tests.support.settling import ALL_CHANNELS
from tests.support.waiting import until

OF_VECTORS = {
    "parts": "SELECT chunk_id, text_hash, hex(vectors) FROM chunk_parts",
    "planes": "SELECT hex(planes) FROM tree_planes",
    "nodes": "SELECT node_id, level, members, text, hex(vector) FROM tree_nodes",
    "subgraphs": "SELECT entities FROM subgraphs",
    "incidence": "SELECT chunk_id, grain, text_hash FROM incidence",
    "model": "SELECT value FROM meta WHERE key = 'embedder'",
}
TEXTS = {
    "pump.md": "# Pumps\n\nJuniper Ward uses the Halden pump. The Halden pump is made by Corvid Medical in Bergen.",
    "staff.md": "# Staff\n\nAnn Lee leads Juniper Ward. Ann Lee reported the Halden pump to Corvid Medical.",
    "stock.md": "# Stock\n\nThe Halden pump stands in Cedar Store. Cedar Store belongs to Juniper Ward.",
    "audit.md": "# Audit\n\nCorvid Medical was inspected by Ole Berg. Ole Berg wrote to Ann Lee about Cedar Store.",
}
KNOBS = {
    "strategy": "mix",
    "mix": "dgrag=0.4,ketrag=0.2,erarag=0.2,fdrag=0.2",
    "retrieval": ALL_CHANNELS,
    "memory": "plain",
    "subgraph_entities": 4,
    "tree_min": 2,
    "tree_max": 3,
    "reports": "off",
}


class Held(HashEmbedder):
    """Another model, which embeds no text after the first ``free`` ones until it is let; counts them."""

    def __init__(self, *, free=1_000_000):
        super().__init__(dimensions=24)
        self.texts, self._free, self.let = [], free, asyncio.Event()

    async def embed(self, texts):
        if len(self.texts) >= self._free:
            await self.let.wait()
        self.texts += texts
        return await super().embed(texts)


def the_former(fingerprint, made_by):
    found = HashEmbedder()
    assert fingerprint == found.fingerprint
    return found


def gone(fingerprint, made_by):
    raise ModelUnavailable("nobody is there")


def left_in(folder):
    with opened(folder / "edge.db") as connection:
        return {name: digest(connection, sql) for name, sql in (DERIVED | OF_VECTORS).items()}


async def at_rest(edge):
    """All that needs no language model is made, and no change is under way."""
    await until(lambda: edge.node.renewal is None and edge.node.status()["settled"])
    await edge.node.strategy.whole(lambda *_: None)


async def made(folder, embedder=None, texts=TEXTS):
    async with running_edge(folder, embedder=embedder, **KNOBS) as edge:
        for name, text in texts.items():
            await edge.add(name, text)
        await at_rest(edge)


async def change_of(edge):
    return (await edge.http.get("/v1/status")).json()["embedding"]["change"]


async def found(edge, question):
    response = await edge.http.post("/v1/retrieve", json={"question": question})
    assert response.status_code == 200, response.text
    return [passage["text"] for passage in response.json()["evidence"]]


async def test_a_store_that_another_model_took_over_is_what_that_model_makes_from_the_start(tmp_path):
    await made(tmp_path / "fresh", Held())
    await made(tmp_path / "changed")
    before = left_in(tmp_path / "changed")
    async with running_edge(tmp_path / "changed", embedder=Held(), former=the_former, **KNOBS) as edge:
        await at_rest(edge)
        assert (await edge.http.get("/v1/status")).json()["embedding"] == {"model": Held().fingerprint, "off": [], "change": None}
    assert left_in(tmp_path / "changed") == left_in(tmp_path / "fresh")
    assert all(before[name] != left_in(tmp_path / "fresh")[name] for name in ("vectors", "memories", "parts", "nodes", "planes"))
    assert not (tmp_path / "changed" / FOLDER).exists()


async def test_the_former_index_answers_and_takes_documents_while_the_vectors_are_made(tmp_path):
    await made(tmp_path / "fresh", Held(), {name: TEXTS[name] for name in ("pump.md", "staff.md", "audit.md")})
    await made(tmp_path / "changed", texts={name: TEXTS[name] for name in ("pump.md", "staff.md", "stock.md")})
    new = Held(free=2)
    async with running_edge(tmp_path / "changed", embedder=new, former=the_former, **KNOBS) as edge:
        await until(lambda: edge.node.renewal.change.view.total)
        view = await change_of(edge)
        assert (view["former"], view["to"], view["words_only"]) == (HashEmbedder().fingerprint, new.fingerprint, False)
        assert "Halden pump" in (await found(edge, "Who makes the Halden pump?"))[0]
        await edge.add("audit.md", TEXTS["audit.md"])
        assert any("Ole Berg" in text for text in await found(edge, "Who inspected Corvid Medical?"))
        [stock] = [one for one in (await edge.http.get("/v1/documents")).json()["documents"] if one["name"] == "stock.md"]
        assert (await edge.http.delete(f"/v1/documents/{stock['document_id']}")).status_code == 200
        assert edge.node.models.embedder.dimensions == 64
        new.let.set()
        await at_rest(edge)
        assert edge.node.models.embedder.dimensions == 24
        assert any("Ole Berg" in text for text in await found(edge, "Who inspected Corvid Medical?"))
        assert not any("Cedar Store belongs" in text for text in await found(edge, "To whom belongs Cedar Store?"))
    changed, fresh = left_in(tmp_path / "changed"), left_in(tmp_path / "fresh")
    assert changed | {"subgraphs": ""} == fresh | {"subgraphs": ""}  # the partition depends on the order in which documents came


@pytest.mark.parametrize("free", [2, 9, 30])
async def test_a_stop_loses_no_more_than_a_batch(tmp_path, free):
    await made(tmp_path / "whole")
    whole = Held()
    async with running_edge(tmp_path / "whole", embedder=whole, former=the_former, **KNOBS) as edge:
        await at_rest(edge)
    await made(tmp_path / "stopped")
    first, second = Held(free=free), Held()
    async with running_edge(tmp_path / "stopped", embedder=first, former=the_former, **KNOBS):
        await until(lambda: len(first.texts) >= free)
    async with running_edge(tmp_path / "stopped", embedder=second, former=the_former, **KNOBS) as edge:
        await at_rest(edge)
    assert left_in(tmp_path / "stopped") == left_in(tmp_path / "whole")
    assert len(first.texts) + len(second.texts) <= len(whole.texts) + 8


async def test_the_former_model_set_again_before_the_change_is_done_drops_what_was_made(tmp_path):
    await made(tmp_path)
    before, new = left_in(tmp_path), Held(free=4)
    async with running_edge(tmp_path, embedder=new, former=the_former, **KNOBS):
        await until(lambda: len(new.texts) >= 4)
    assert (tmp_path / FOLDER / FILE).exists()
    async with running_edge(tmp_path, former=the_former, **KNOBS) as edge:
        await at_rest(edge)
        assert await change_of(edge) is None
    assert left_in(tmp_path) == before
    assert not (tmp_path / FOLDER).exists()


async def test_where_the_former_model_is_away_words_and_graph_find_passages_and_documents_wait(tmp_path):
    await made(tmp_path)
    new = Held(free=2)
    async with running_edge(tmp_path, embedder=new, former=gone, **KNOBS) as edge:
        await until(lambda: edge.node.renewal.change.view.total)
        assert (await change_of(edge))["words_only"]
        assert "Ole Berg" in (await found(edge, "Who was inspected by Ole Berg?"))[0]
        added = await edge.http.post("/v1/documents", json={"name": "new.md", "text": "# News\n\nRook Lane opened the Larch Clinic."})
        assert (added.status_code, edge.node.status()["documents"]["queued"]) == (202, 1)
        [named, *_] = edge.node.documents.list(limit=1)
        refused = await edge.http.put(f"/v1/documents/{named['document_id']}/name", json={"name": "other.md"})
        assert (refused.status_code, "takes over" in refused.text) == (409, True)  # it would be missing until then
        new.let.set()
        await at_rest(edge)
        assert "Rook Lane" in (await found(edge, "Who opened the Larch Clinic?"))[0]


async def test_without_a_way_to_the_former_model_the_store_is_refused(tmp_path):
    await made(tmp_path)
    with pytest.raises(StoreError, match="was made with the embedding model"):
        async with running_edge(tmp_path, embedder=Held(), **KNOBS):
            pass


async def test_a_disk_with_too_little_room_for_a_rehearsal_is_left_as_it_is_and_the_change_waits(tmp_path, monkeypatch):
    await made(tmp_path)
    monkeypatch.setattr("edge_node.documents.progress.FIRST_WAIT_S", 0.01)
    usage, free = shutil.disk_usage(tmp_path), [1_000_000]
    monkeypatch.setattr("edge_node.database.backup.shutil.disk_usage", lambda _: usage._replace(free=free[0]))
    async with running_edge(tmp_path, embedder=Held(), former=the_former, min_free_bytes=900_000, **KNOBS) as edge:
        seen = list[str]()  # the next try, a moment later, clears it
        await until(lambda: seen.append(edge.node.renewal.change.view.error) or seen[-1])
        assert "full" in seen[-1]
        assert not (tmp_path / FOLDER / "copy").exists()
        assert await found(edge, "Who leads Juniper Ward?")
        free[0] = usage.free
        await at_rest(edge)
