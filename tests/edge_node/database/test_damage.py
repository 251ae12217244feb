"""Random damage to a store's files: nothing wrong is ever served, and the start always ends in a store or in a named reason (R10)."""

import random
import shutil
from collections import Counter

import numpy as np
import pytest

from edge_node.database.schema import Database
from edge_node.graph.mentions import Changes
from edge_node.maintenance import open_store
from edge_node.memory.hypergraph import Rows
from edge_node.memory.store import ChunkRows, IncidenceStore, MemoryStore, Ratings
from shared.errors import StoreDamaged
from shared.models.fake import HashEmbedder
from shared.ports import SystemClock
from tests.support.memory_store import DIMENSIONS, a_fact, a_memory
from tests.support.releases import store_of_release
from tests.support.settling import Bench

TRIALS = 500
SETTLED_TRIALS = 150
SERVED = {
    "documents": "SELECT document_id, name, title, labels, reader, raw FROM documents WHERE code <> 'damaged'",
    "chunks": "SELECT chunk_id, document_id, ordinal, text, start, end FROM chunks",
    "vectors": "SELECT key, vector FROM vectors",
    "entities": "SELECT chunk_id, key, name, type, description FROM entity_mentions",
    "relations": "SELECT chunk_id, source, target, description, keywords, strength FROM relation_mentions",
    "aliases": "SELECT key, canonical FROM aliases",
    "subgraphs": "SELECT subgraph_id, entities FROM subgraphs",
    "summaries": "SELECT summary_id, text FROM summaries WHERE NOT removed",
    "facts": "SELECT * FROM facts",
    "memories": "SELECT * FROM memories",
    "memory_chunks": "SELECT * FROM memory_chunks",
    "ratings": "SELECT * FROM ratings",
    "incidence": "SELECT * FROM incidence",
}


def served(database):
    return {table: {tuple(row) for row in database.rows(query)} for table, query in SERVED.items()}


def remember(database):
    chunk_ids = [row["chunk_id"] for row in database.rows("SELECT chunk_id FROM chunks")]
    memories = MemoryStore(database, DIMENSIONS)
    memories.save_facts(chunk_ids, [a_fact(chunk_id, name) for chunk_id in chunk_ids for name in ("Juniper Ward", "Harbour Plant")])
    memories.commit([a_memory(chunk_id, chunk_ids[0], question=f"When was it built, as told in {chunk_id}?") for chunk_id in chunk_ids])
    ratings = Ratings(database)
    for one in memories.all():
        ratings.rate([one.memory], right=False)
    rows = Rows(np.arange(8).reshape(4, 2), np.full((4, 2), 0.5, dtype=np.float32))
    IncidenceStore(database).add([ChunkRows(chunk_id, "sentence", "hash", rows, later=False) for chunk_id in chunk_ids])


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Three copies of one store's files as a kill leaves them, of growing age, and what the newest serves."""
    folder = tmp_path_factory.mktemp("sound")
    path = store_of_release("v1", folder / "live")
    database = Database(path)
    remember(database)
    database.erase()
    copies = []
    for number in range(3):
        database.set_meta("note", str(number))
        copies.append(shutil.copytree(folder / "live", folder / f"copy{number}"))
    truth = served(database)
    database.close()
    return copies, truth


def flip(content, rng):
    used = np.flatnonzero(np.frombuffer(bytes(content), dtype=np.uint8))  # most of a small store's pages is empty
    if len(used):
        content[int(rng.choice(used))] ^= 1 << rng.randrange(8)


def zero_page(content, rng):
    at = rng.randrange(max(1, len(content) // 4096)) * 4096
    content[at : at + 4096] = bytes(len(content[at : at + 4096]))


def cut(content, rng):
    del content[rng.randrange(len(content) + 1) :]


def corrupt(folder, older, rng):
    """Damage one file of a store in one way; returns the way's name."""
    name = rng.choice(["edge.db"] * 4 + ["edge.db-wal", "edge.seq"])
    way = rng.choice(["flip"] * 5 + ["zero", "cut", "swap", "missing"])
    file = folder / name
    if way == "swap":
        shutil.copy(older / name, file)
    elif way == "missing" and name != "edge.db":
        file.unlink()
    else:
        content = bytearray(file.read_bytes())
        {"flip": flip, "zero": zero_page}.get(way, cut)(content, rng)
        file.write_bytes(content)
    (folder / "edge.db-shm").unlink(missing_ok=True)
    return way


def outcome(folder, sound, seed):
    """Corrupt a copy of the store and start; what came of it. Any error but StoreDamaged is a crash, and fails the test."""
    copies, truth = sound
    rng = random.Random(seed)
    place = shutil.copytree(copies[-1], folder / str(seed))
    corrupt(place, copies[rng.randrange(2)], rng)
    try:
        database = open_store(place / "edge.db", SystemClock())
        try:
            now = served(database)
        finally:
            database.close()
    except StoreDamaged as error:
        return "damage named" if error.message and error.next_step else "damage without a word"
    finally:
        shutil.rmtree(place)
    if any(not now[table] <= truth[table] for table in SERVED):
        return "silently wrong"
    return "sound" if now == truth else "mended"


@pytest.mark.campaign
def test_nothing_wrong_is_served_after_random_damage_and_the_start_never_crashes(tmp_path, sound):
    outcomes = Counter(outcome(tmp_path, sound, seed) for seed in range(TRIALS))
    assert set(outcomes) == {"damage named", "mended", "sound"}, outcomes


async def settles(folder, sound, seed):
    """Corrupt a copy of the store and start; whether a settle then ends, twice. None: the damage was named."""
    copies, _ = sound
    rng = random.Random(seed)
    place = shutil.copytree(copies[-1], folder / str(seed))
    corrupt(place, copies[rng.randrange(2)], rng)
    try:
        open_store(place / "edge.db", SystemClock()).close()
        async with Bench.opened(place, embedder=HashEmbedder(64)) as bench:
            await bench.settle()
            return bench.graph.mentions.changes() == Changes(0, {}, {})
    except StoreDamaged:
        return None
    finally:
        shutil.rmtree(place)


@pytest.mark.campaign
async def test_after_any_damage_that_was_mended_a_settle_ends(tmp_path, sound):
    assert {await settles(tmp_path, sound, seed) for seed in range(SETTLED_TRIALS)} == {True, None}


def test_null_control_without_the_checksums_something_wrong_is_served(tmp_path, sound, monkeypatch):
    monkeypatch.setattr("edge_node.maintenance.examine", lambda tx: ())
    assert any(outcome(tmp_path, sound, seed) == "silently wrong" for seed in range(TRIALS))
