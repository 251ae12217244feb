"""Damaged rows are named, and what is derived is made again (R10)."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from edge_node.database.check import by_table, examine
from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore, insert_chunks
from edge_node.graph.store import GraphStore
from edge_node.maintenance import open_store
from shared.errors import StoreDamaged
from shared.ports import SystemClock
from tests.support.releases import store_of_release


@pytest.fixture
def path(tmp_path):
    made = store_of_release("v1", tmp_path)
    Database(made).close()
    return made


def damage(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def write_schema(path, sql):
    damage(path, "PRAGMA writable_schema=ON", sql)


def found(path):
    database = Database(path)
    try:
        with database.write() as tx:
            return examine(tx)
    finally:
        database.close()


def mended(path):
    return open_store(path, SystemClock())


def documents(database):
    return {row["name"]: (row["status"], row["code"]) for row in database.rows("SELECT name, status, code FROM documents")}


def test_a_sound_store_has_no_damage(path):
    assert found(path) == ()


def test_places_of_a_chunk_are_part_of_it(path):
    with closing(Database(path)) as database:
        store = DocumentStore(database, SystemClock())
        chunk = replace(next(store.all_chunks()), places=((0, "row 2"),))
        with database.write() as tx:
            insert_chunks(tx, [chunk])
    assert found(path) == ()
    for damaged in ("'[[0,\"row 3\"]]'", "''", "x'fffe'"):
        damage(path, f"UPDATE chunks SET places = {damaged} WHERE chunk_id = '{chunk.chunk_id}'")
        assert [(one.table, one.key, one.remedy) for one in found(path)] == [("chunks", chunk.chunk_id, "index again")]


@pytest.mark.parametrize(
    ("table", "statement", "remedy"),
    [
        ("documents", "UPDATE documents SET raw = x'00' WHERE name = 'pumps.md'", "park"),
        ("documents", "UPDATE documents SET title = 'x' WHERE name = 'pumps.md'", "park"),
        ("chunks", "UPDATE chunks SET start = start + 1 WHERE ordinal = 0", "index again"),
        ("chunks", "UPDATE chunks SET text = CAST(x'fffe' AS TEXT) WHERE ordinal = 0", "index again"),
        ("chunks", "UPDATE chunks SET text = CAST(text AS BLOB) WHERE ordinal = 0", "index again"),
        ("entity_mentions", "UPDATE entity_mentions SET name = 'x'", "index again"),
        ("relation_mentions", "UPDATE relation_mentions SET strength = 7", "index again"),
        ("vectors", "UPDATE vectors SET vector = zeroblob(8) WHERE kind = 'chunk'", "index again"),
        ("vectors", "INSERT INTO vectors VALUES ('entity', 'a', 'h', zeroblob(8), 0)", "settle again"),
        ("subgraphs", "UPDATE subgraphs SET entities = '[]'", "settle again"),
        ("summaries", "UPDATE summaries SET text = 'forged'", "settle again"),
        ("summaries", "UPDATE summaries SET removed = 1", "settle again"),
        ("aliases", "INSERT INTO aliases VALUES ('a', 'b', 'acronym', 1.0, 0)", "settle again"),
        ("descriptions", "INSERT INTO descriptions VALUES ('a', 'h', 'forged', 0)", "settle again"),
        ("changes", "INSERT INTO changes (source, target, removed) VALUES (CAST(x'ff' AS TEXT), '', 0)", "settle again"),
        ("definitions", "UPDATE definitions SET short = CAST(x'ff' AS TEXT)", "index again"),
        ("receipts", "INSERT INTO receipts VALUES (CAST(x'ff' AS TEXT), 'd', 0, 0, 0, 0, 0)", "forget"),
        ("jobs", "UPDATE jobs SET job_id = CAST(x'ff' AS TEXT) WHERE rowid = 1", "forget"),
        ("report_uppers", "INSERT INTO report_uppers VALUES ('p', 'r', 'm', 0)", "forget"),
        ("report_chunks", "INSERT INTO report_chunks SELECT 'unknown', chunk_id FROM chunks", "forget"),
        ("reports", "INSERT INTO reports VALUES ('a', 1, 'c', '[]', 't', 's', 5, 'r', '[]', 1, 0, 0)", "forget"),
        ("claims", "INSERT INTO claims SELECT chunk_id, 'a', '', 'k', 'TRUE', 'd', 0, 9, '', '', 0 FROM chunks", "forget"),
        ("claim_readings", "INSERT INTO claim_readings VALUES (CAST(x'ff' AS TEXT), 'm')", "forget"),
        (
            "facts",
            "INSERT INTO facts SELECT chunk_id, 0, 0, 9, 'a', 'place', 'was', 'be', '', 'b', 'date', 0, 0 FROM chunks",
            "index again",
        ),
        ("memory_readings", "INSERT INTO memory_readings VALUES (CAST(x'ff' AS TEXT), 0)", "forget"),
        ("memory_readings", "INSERT INTO memory_readings SELECT chunk_id, 'x' FROM chunks", "forget"),
        ("memories", "INSERT INTO memories VALUES ('a', 'model', 'q', 'a', '[]', '', 0, x'', 0, 0)", "forget"),
        ("memory_chunks", "INSERT INTO memory_chunks SELECT 'unknown', chunk_id, 0, 9, 0 FROM chunks", "forget"),
        ("ratings", "INSERT INTO ratings VALUES ('unknown', 1, 0, 0, 0)", "forget"),
        ("incidence", "INSERT INTO incidence SELECT chunk_id, 'sentence', 'h', 0, 0, x'', x'', 0 FROM chunks", "forget"),
        ("shared_memories", "INSERT INTO shared_memories VALUES ('s', 'm', 'q', 'a', 1, 1, 0, 0)", "forget"),
        ("shared_memories", "INSERT INTO shared_memories VALUES ('s', '', 'q', '', 0, 1, 1, 0)", "forget"),
        ("released_names", "INSERT INTO released_names VALUES ('k', 'person', 'Ann', 2.0, 1.0, 0)", "forget"),
        ("llm_results", "INSERT INTO llm_results VALUES ('h', 'm', '[]', 0, 0)", "forget"),
    ],
)
def test_damage_is_named_with_what_will_be_done_and_is_gone_after_a_start(path, table, statement, remedy):
    damage(path, statement)
    damages = found(path)
    assert {(one.table, one.remedy) for one in damages} == {(table, remedy)}
    mended(path).close()
    assert {one.remedy for one in found(path)} <= {"park"}


def test_a_damaged_document_is_parked_and_its_good_chunks_are_still_served(path):
    damage(path, "UPDATE documents SET raw = x'00' WHERE name = 'pumps.md'", "UPDATE chunks SET text = 'x' WHERE ordinal = 1")
    database = mended(path)
    assert documents(database) == {"pumps.md": ("parked", "damaged"), "plant.md": ("queued", ""), "recall.md": ("queued", "")}
    chunk_ids = [row["chunk_id"] for row in database.rows("SELECT chunk_id FROM chunks")]
    served = DocumentStore(database, SystemClock()).chunks(chunk_ids)
    assert {chunk.text for chunk, name, _ in served.values() if name == "pumps.md"} == {
        "Juniper Ward reported the failure of four infusion pumps in March."
    }
    database.close()


def test_a_document_that_lost_a_row_is_queued_with_a_new_job_and_the_others_are_not(path):
    damage(path, "UPDATE entity_mentions SET name = 'x' WHERE chunk_id LIKE '1e9d%'")
    database = mended(path)
    assert documents(database) == {"pumps.md": ("queued", ""), "plant.md": ("indexed", ""), "recall.md": ("indexed", "")}
    assert database.row("SELECT count(*) FROM jobs")[0] == 4
    database.close()


def test_a_mention_that_does_not_know_its_chunk_has_all_documents_indexed_again(path):
    damage(path, "PRAGMA foreign_keys=OFF", "UPDATE entity_mentions SET chunk_id = 'gone' WHERE rowid = 1")
    database = mended(path)
    assert {status for status, _ in documents(database).values()} == {"queued"}
    database.close()


def test_lost_graph_parts_let_the_next_settle_look_at_everything(path):
    damage(path, "DELETE FROM changes", "INSERT INTO vectors VALUES ('relation', 'a', 'h', zeroblob(8), 0)")
    database = mended(path)
    keys = database.row("SELECT count(DISTINCT key) FROM entity_mentions")[0]
    assert database.row("SELECT count(*) FROM changes WHERE target = ''")[0] == keys
    database.close()


def test_a_key_that_is_no_text_any_more_reaches_no_settle(path):
    damage(path, "DELETE FROM changes", "UPDATE entity_mentions SET key = CAST(x'70ff' AS TEXT) WHERE key = 'maria okafor'")
    database = mended(path)
    assert not database.rows("SELECT 1 FROM changes WHERE instr(CAST(source AS BLOB), x'ff')")
    changes = GraphStore(database).mentions.changes()
    assert changes.entities["maria okafor"]  # its part still has it as a member
    database.close()


def test_a_change_that_is_damaged_while_the_edge_runs_is_left_out_and_struck_off(path):
    database = Database(path)
    with database.write() as tx:
        tx.execute("INSERT INTO changes (seq, source, target, removed) VALUES (900, CAST(x'ff' AS TEXT), '', 0), (901, 'pump', '', 1)")
    changes = GraphStore(database).mentions.changes()
    assert (changes.seq, changes.entities["pump"]) == (901, True)
    database.close()


def test_a_damaged_summary_gives_the_store_a_new_epoch_so_that_the_cloud_compares(path):
    database = Database(path)
    epoch = database.meta("epoch")
    database.close()
    damage(path, "UPDATE summaries SET text = 'forged'")
    database = mended(path)
    assert database.meta("epoch") != epoch
    database.close()


def test_a_damaged_index_is_built_anew(path):
    with closing(sqlite3.connect(path)) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunks_document'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    content = bytearray(path.read_bytes())
    content[content.index(b"1e9d2f46", (root - 1) * size)] = ord("0")
    path.write_bytes(content)
    assert set(by_table(found(path))) == {"indexes"}
    mended(path).close()
    assert found(path) == ()


def test_a_foreign_schema_is_beyond_mending(path):
    write_schema(path, "UPDATE sqlite_master SET sql = replace(sql, 'NEW.key', 'NEW.name') WHERE name = 'entity_mention_added'")
    with pytest.raises(StoreDamaged, match="schema"):
        mended(path)


def test_a_store_that_cannot_be_mended_is_left_as_it_is(path):
    strict, loose = "calls       INTEGER NOT NULL", "calls       INTEGER         "
    write_schema(path, f"UPDATE sqlite_master SET sql = replace(sql, '{strict}', '{loose}') WHERE name = 'jobs'")
    damage(path, "UPDATE chunks SET text = 'x' WHERE ordinal = 1", "UPDATE jobs SET calls = NULL")
    write_schema(path, f"UPDATE sqlite_master SET sql = replace(sql, '{loose}', '{strict}') WHERE name = 'jobs'")
    with pytest.raises(StoreDamaged, match=r"cannot be mended: \{'constraints': 3\}"):
        mended(path)
    assert by_table(found(path)) == {"constraints": 3, "chunks": 3}
