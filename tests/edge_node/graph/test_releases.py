"""Stores of earlier releases open, are brought up to date, and a migration that is killed at any statement harms nothing (R16)."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from edge_node.communities.claim_reader import ClaimStore
from edge_node.communities.store import ReportStore
from edge_node.database.check import examine
from edge_node.database.chunk_parts import ChunkPartStore
from edge_node.database.schema import Database
from edge_node.egress.ledger import EgressRecord, Ledger
from edge_node.graph.store import GraphStore
from edge_node.maintenance import open_store
from edge_node.memory.records import Rating
from edge_node.memory.store import IncidenceStore, MemoryStore, Ratings
from shared.errors import StoreError
from shared.ports import SystemClock
from shared.sqlite import add_functions
from tests.edge_node.documents.test_originals import Counted
from tests.support.releases import store_of_release
from tests.support.running_edge import running_edge
from tests.support.waiting import until

KILL_AT_EACH_STATEMENT = """
import os, shutil, sqlite3, sys
from pathlib import Path
from edge_node.database.schema import Database
import shared.sqlite

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
plain, killed = shared.sqlite.connect, 0

def dying(at):
    def connect(path, **options):
        connection, seen = plain(path, **options), [0]
        def count(_):
            seen[0] += 1
            if seen[0] == at:
                os._exit(9)
        connection.set_trace_callback(count)
        return connection
    return connect

for at in range(1, 1000):
    place = folder / str(at)
    place.mkdir()
    shutil.copy(source, place / "edge.db")
    child = os.fork()
    if child == 0:
        shared.sqlite.connect = dying(at)
        Database(place / "edge.db").close()
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
print(at - 1)
"""


@pytest.fixture
def v1(tmp_path):
    return store_of_release("v1", tmp_path / "v1")


@pytest.fixture(params=["v1", "v2", "v6", "v7"])
def earlier(request, tmp_path):
    return store_of_release(request.param, tmp_path / request.param)


def test_a_store_of_an_earlier_release_opens_and_every_checksum_holds(earlier):
    database = Database(earlier)
    assert database.row("PRAGMA user_version")[0] == 15
    with database.write() as tx:
        assert examine(tx) == ()
    database.close()
    assert not list(earlier.parent.glob("*.bak"))


def test_a_store_of_an_earlier_release_has_an_empty_ledger_that_can_be_written(earlier):
    database = Database(earlier)
    ledger = Ledger(database, SystemClock())
    assert ledger.entries() == []
    ledger.record(EgressRecord("question", "http://cloud", b"{}"))
    assert ledger.verify() == []
    database.close()


def test_a_deletion_in_a_store_of_release_2_keeps_its_receipt(tmp_path):
    database = Database(store_of_release("v2", tmp_path))
    [receipt] = database.rows("SELECT receipt_id, erased FROM receipts")
    assert tuple(receipt) == ("e5f6bfb1ef2cea18", 1)
    database.close()


def test_what_was_derived_by_methods_in_a_store_of_release_6_is_kept_and_nothing_is_remembered_yet(tmp_path):
    database = Database(store_of_release("v6", tmp_path))
    assert len(ReportStore(database).texts()) == 6
    assert [claim.subject for claim in ClaimStore(database).all()] == ["juniper ward"]
    assert len(list(ChunkPartStore(database, 64).all())) == 3
    memories = MemoryStore(database, 64)
    assert (memories.all(), memories.readings(), IncidenceStore(database).all("paragraph")) == ((), {}, ())
    database.close()


def rated(path):
    """What was said of each question that is remembered, in a store that is opened."""
    database = open_store(path, SystemClock())
    ratings = Ratings(database)
    known = ratings.all()
    found = {one.memory.question: known.get(ratings.key_of(one.memory)) for one in MemoryStore(database, 64).all()}
    assert len(known) == sum(rating is not None for rating in found.values())
    database.close()
    return found


SAID = {
    "Who signed the recall of lot L-7713?": Rating(1, 1),
    "What did Maria Okafor sign?": Rating(2, 0),
    "What does the NDA oversee?": Rating(0, 1),
    "When did Maria Okafor sign the recall of lot L-7713?": None,
}


def test_what_people_said_in_a_store_of_release_7_is_kept(tmp_path):
    path = store_of_release("v7", tmp_path)
    assert rated(path) == rated(path) == SAID


def test_of_memories_of_release_7_that_said_the_same_the_most_that_was_said_is_kept(tmp_path):
    path = store_of_release("v7", tmp_path)
    damage(
        path,
        "UPDATE memories SET answer = 'NDA', question = 'who signed the recall of lot l 7713'"
        " WHERE memory_id IN ('47a68cfc969b810e', 'd0c36b4971e6e978')",
        "UPDATE memories SET crc = crc(memory_id, kind, question, answer, anchors, model, doubtful, vector, sources)",
    )
    assert rated(path)["who signed the recall of lot l 7713"] == Rating(2, 1)


@pytest.mark.parametrize("wrong", ["answer = 'forged'", "answer = CAST(x'ff' AS TEXT)", "question = CAST(question AS BLOB)"])
def test_what_was_said_of_a_memory_of_release_7_that_is_damaged_is_lost_and_the_rest_is_kept(tmp_path, wrong):
    path = store_of_release("v7", tmp_path)
    damage(path, f"UPDATE memories SET {wrong} WHERE memory_id = 'd0c36b4971e6e978'")
    assert rated(path) == {question: rating for question, rating in SAID.items() if "NDA" not in question}


def damage(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        add_functions(connection)
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_the_definitions_in_a_store_of_release_1_are_found(v1):
    database = Database(v1)
    graph = GraphStore(database)
    assert graph.mentions.definitions(["nda"]) == {("national device agency", "nda")}
    assert {"nda", "national device agency"} <= graph.mentions.changes().entities.keys()
    database.close()


def test_a_store_of_release_1_without_a_graph_gets_no_definitions(v1):
    with closing(sqlite3.connect(v1)) as connection:
        connection.execute("DELETE FROM entity_mentions")
        connection.commit()
    database = Database(v1)
    assert database.row("SELECT count(*) FROM definitions")[0] == 0
    database.close()


async def test_an_edge_answers_from_a_store_of_an_earlier_release(earlier):
    async with running_edge(earlier.parent, strategy="dgrag") as edge:
        await edge.settled()
        assert edge.node.status()["documents"]["indexed"] == 3
        answer = await edge.ask("Which ward reported the failure of four infusion pumps?")
        assert answer["citations"][0]["document"] == "pumps.md"


@pytest.mark.parametrize(
    ("table", "damage"),
    [
        ("chunks", "UPDATE chunks SET text = text || 'x' WHERE ordinal = 1"),
        ("vectors", "UPDATE vectors SET vector = zeroblob(length(vector)) WHERE kind = 'chunk'"),
        ("summaries", "UPDATE summaries SET text = 'forged'"),
    ],
)
def test_what_was_damaged_before_the_migration_is_still_seen_after_it(v1, table, damage):
    with closing(sqlite3.connect(v1)) as connection:
        connection.execute(damage)
        connection.commit()
    database = Database(v1)
    with database.write() as tx:
        assert {found.table for found in examine(tx)} == {table}
    database.close()


@pytest.mark.campaign
def test_a_migration_killed_at_any_statement_leaves_a_store_that_opens(earlier, tmp_path, root):
    trials = tmp_path / "trials"
    trials.mkdir()
    with closing(sqlite3.connect(earlier)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    command = [sys.executable, "-c", KILL_AT_EACH_STATEMENT, str(earlier), str(trials)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 8  # of one migration
    for place in trials.iterdir():
        database = open_store(place / "edge.db", SystemClock())
        assert database.row("SELECT count(*) FROM documents")[0] == 3
        with database.write() as tx:
            assert examine(tx) == ()
        database.close()
        shutil.rmtree(place)


def test_a_store_of_a_newer_release_is_refused_in_words(v1):
    with closing(sqlite3.connect(v1)) as connection:
        connection.execute("PRAGMA user_version=99")
    with pytest.raises(StoreError, match="schema 99, this release reads up to 15") as told:
        Database(v1)
    assert "newer release" in told.value.next_step


async def test_documents_of_release_13_are_read_again_from_their_files_and_what_reads_the_same_is_not_indexed(tmp_path):
    database = Database(store_of_release("v13", tmp_path))
    with database.write() as tx:
        assert examine(tx) == ()
    database.close()
    async with running_edge(tmp_path, strategy="dgrag", memory="plain") as edge:
        await until(lambda: edge.node._versions)
        views = {view["name"]: view for view in (await edge.http.get("/v1/documents")).json()["documents"]}
        assert {name: (view["parsers"], view["has_original"]) for name, view in views.items()} == {
            name: ([], True) for name in ("broken.pdf", "ward.md", "years.csv")
        }
        assert (await edge.http.get("/v1/status")).json()["outdated"] == 2
        file = await edge.http.get(f"/v1/documents/{views['years.csv']['document_id']}/original")
        assert file.content.startswith(b"Region,2021")
        counted = edge.node.worker._indexer = Counted(edge.node.strategy)
        assert (await edge.http.post("/v1/reread", json={"all": True})).json() == {"documents": 3, "without_original": 0}
        await edge.settled()
        assert not any("Juniper" in text for text in counted.texts)
        status = (await edge.http.get("/v1/status")).json()
        assert (status["outdated"], status["documents"]["indexed"], status["documents"]["parked"]) == (0, 2, 1)
