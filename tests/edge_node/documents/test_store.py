"""The edge's SQLite store."""

import sqlite3

import numpy as np
import pytest

from edge_node.database.replies import ReplyCache
from edge_node.database.schema import Database
from edge_node.database.vectors import VectorRows
from edge_node.documents.store import DocumentStore
from edge_node.extraction.names import TITLE, Definition
from edge_node.graph.mentions import Changes
from edge_node.graph.store import GraphStore, Settlement, StoredSummary
from shared.errors import NotFound, StoreError
from shared.models.fake import ScriptedGenerator
from shared.ports import Message, Prompt, SystemClock
from shared.records import Chunk, EntityMention, RelationMention, Summary
from tests.support.partition import commit_texts


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "edge.db")
    yield opened
    opened.close()


@pytest.fixture
def documents(database):
    return DocumentStore(database, SystemClock())


@pytest.fixture
def graph(database):
    return GraphStore(database)


def chunk_of(document_id, ordinal=0, text="The pump stopped."):
    return Chunk(f"{document_id}:{ordinal}", document_id, ordinal, text, 0, len(text), 4)


def rows_of(*keys):
    return VectorRows(keys, tuple(f"hash of {key}" for key in keys), np.eye(4, dtype=np.float32)[: len(keys)])


def save(graph, document_id):
    chunk = chunk_of(document_id)
    entity = EntityMention("pump", "Pump", "concept", "It stopped.", chunk.chunk_id)
    relation = RelationMention("alarm", "pump", "The pump raised an alarm.", ("raise",), 1.0, chunk.chunk_id)
    definition = Definition(chunk.chunk_id, "maristow pump", "mp")
    graph.mentions.save_chunks([chunk], [entity], [relation], [definition], rows_of(chunk.chunk_id))
    return chunk


# ---------------------------------------------------------------- chunks, mentions, vectors


def test_mentions_come_back_as_they_were_saved(documents, graph):
    chunk = save(graph, documents.accept("a", b"text", reader="text.txt").document_id)
    assert list(graph.mentions.entities()) == [EntityMention("pump", "Pump", "concept", "It stopped.", chunk.chunk_id)]
    assert next(graph.mentions.relations()).keywords == ("raise",)


def test_a_thing_is_what_a_text_writes_in_lower_case_and_no_file_name_makes_it_one(documents, graph):
    chunk = chunk_of(documents.accept("smith.html", b"text", reader="text.txt").document_id)
    written = EntityMention("ward", "ward", "concept", "It has beds.", chunk.chunk_id)
    titled = EntityMention("smith", "smith", TITLE, "", chunk.chunk_id)
    graph.mentions.save_chunks([chunk], [written, titled], [], [], rows_of(chunk.chunk_id))
    assert graph.mentions.common_names(["smith", "ward"]) == {"ward"}


def test_saving_a_chunk_twice_equals_saving_it_once(documents, graph):
    document_id = documents.accept("a", b"text", reader="text.txt").document_id
    save(graph, document_id)
    save(graph, document_id)
    assert len(list(graph.mentions.entities())) == len(list(graph.mentions.relations())) == len(graph.vectors.load("chunk", 4).keys) == 1


def test_new_chunks_of_a_document_replace_all_its_former_ones(documents, graph):
    document_id = documents.accept("a", b"text", reader="text.txt").document_id
    other = save(graph, documents.accept("b", b"text", reader="text.txt").document_id)
    save(graph, document_id)
    longer = chunk_of(document_id, ordinal=7)
    graph.mentions.save_chunks([longer], [], [], [], rows_of(longer.chunk_id))
    present = {longer.chunk_id, other.chunk_id}
    assert set(graph.mentions.chunk_documents([*present, f"{document_id}:0"])) == set(graph.vectors.load("chunk", 4).keys) == present
    assert [mention.chunk_id for mention in list(graph.mentions.entities())] == [other.chunk_id]


def test_chunks_of_a_document_that_was_deleted_meanwhile_are_not_saved(documents, graph):
    document_id = documents.accept("a", b"text", reader="text.txt").document_id
    documents.remove(document_id)
    with pytest.raises(NotFound):
        save(graph, document_id)
    assert len(graph.vectors.load("chunk", 4).keys) == 0


def test_damaged_chunks_vectors_and_mentions_are_left_out(documents, graph, database):
    chunk = save(graph, documents.accept("a", b"text", reader="text.txt").document_id)
    with database.write() as tx:
        tx.execute("UPDATE chunks SET text = 'The pump stepped.'")
        tx.execute("UPDATE vectors SET vector = zeroblob(16)")
        tx.execute("UPDATE entity_mentions SET name = 'Pomp'")
        tx.execute("UPDATE relation_mentions SET strength = 2.0")
    assert documents.chunks([chunk.chunk_id]) == {}
    assert graph.vectors.load("chunk", 4).keys == ()
    assert (list(graph.mentions.entities()), list(graph.mentions.relations())) == ([], [])


def test_vectors_of_another_dimension_are_left_out(documents, graph):
    save(graph, documents.accept("a", b"text", reader="text.txt").document_id)
    assert graph.vectors.load("chunk", 8).vectors.shape == (0, 8)


def test_a_new_version_takes_the_place_of_the_former_one_when_its_chunks_are_saved(documents, graph):
    old = save(graph, documents.accept("a", b"text", reader="text.txt").document_id)
    new = documents.accept("a", b"other text", reader="text.txt").document_id
    assert [mention.chunk_id for mention in graph.mentions.entities()] == [old.chunk_id]
    chunk = save(graph, new)
    assert [mention.chunk_id for mention in graph.mentions.entities()] == [chunk.chunk_id]


def test_relations_of_some_pairs_come_in_either_direction(documents, graph):
    save(graph, documents.accept("a", b"text", reader="text.txt").document_id)
    assert [r.target for r in graph.mentions.relations([("pump", "alarm")])] == ["pump"]
    assert list(graph.mentions.relations([("alarm", "ward")])) == []
    assert graph.mentions.pairs_with(["pump"]) == {("alarm", "pump")}


def test_what_is_saved_and_what_is_removed_is_logged_until_a_settle_has_committed_it(documents, graph):
    document_id = documents.accept("a", b"text", reader="text.txt").document_id
    save(graph, document_id)
    changes = graph.mentions.changes()
    assert changes.entities == {"pump": False, "maristow pump": False, "mp": False}
    assert changes.relations == {("alarm", "pump"): False}
    graph.commit(Settlement(changes.seq, (), (), (), (), (), (), (), 0))
    assert graph.mentions.changes() == Changes(0, {}, {})
    documents.remove(document_id)
    assert graph.mentions.changes().entities == {"pump": True, "maristow pump": True, "mp": True}


def test_what_is_logged_during_a_settle_waits_for_the_next(documents, graph):
    save(graph, documents.accept("a", b"text", reader="text.txt").document_id)
    seen = graph.mentions.changes()
    graph.mentions.log_changes(["pump"], [])
    graph.commit(Settlement(seen.seq, (), (), (), (), (), (), (), 0))
    assert graph.mentions.changes().entities == {"pump": False}


# ---------------------------------------------------------------- summaries and their delta


def test_the_delta_holds_what_changed_since_the_known_version(graph, database):
    commit_texts(graph, {"s1": "one", "s2": "two"})
    commit_texts(graph, {"s1": "one", "s2": "two!"})
    delta = graph.delta(epoch=database.meta("epoch"), version=1)
    assert (delta.base_version, delta.version) == (1, 2)
    assert [summary.text for summary in delta.upserts] == ["two!"]


def test_a_subgraph_that_is_gone_becomes_a_tombstone(graph, database):
    commit_texts(graph, {"s1": "one"})
    commit_texts(graph, {})
    delta = graph.delta(epoch=database.meta("epoch"), version=1)
    assert (delta.upserts, delta.removals, graph.summaries()) == ((), ("s1",), [])


def test_nothing_changed_means_no_new_version(graph):
    commit_texts(graph, {"s1": "one"})
    commit_texts(graph, {"s1": "one"})
    assert graph.version() == 1


def test_what_the_model_wrote_of_another_state_of_its_part_is_not_kept(graph):
    commit_texts(graph, {"s1": "one"})
    better = StoredSummary(Summary("s1", "better", 1, 0), "hash of one", (7,), stale=False)
    assert not graph.save_summary(better, asked_for="hash of two")
    assert graph.save_summary(better, asked_for="hash of one")
    assert graph.stored_summaries(["s1"]) == {"s1": better}
    assert graph.version() == 2


@pytest.mark.parametrize(("epoch", "version"), [("another", 1), (None, 99)])
def test_a_cloud_that_knows_another_epoch_or_a_later_version_gets_a_snapshot(graph, database, epoch, version):
    commit_texts(graph, {"s1": "one"})
    delta = graph.delta(epoch=epoch or database.meta("epoch"), version=version)
    assert (delta.base_version, len(delta.upserts), delta.removals) == (0, 1, ())


# ---------------------------------------------------------------- the file itself


def test_a_store_of_a_newer_release_is_refused_in_words(tmp_path, database):
    with database.write() as tx:
        tx.execute("PRAGMA user_version=99")
    with pytest.raises(StoreError, match="this release reads up to"):
        Database(tmp_path / "edge.db")


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path):
    (tmp_path / "edge.db").write_text("no database " * 1000)
    with pytest.raises(StoreError, match="not a database"):
        Database(tmp_path / "edge.db")


def test_a_transaction_that_fails_leaves_nothing(database):
    def half(tx):
        tx.execute("INSERT INTO meta VALUES ('half', 'done')")
        tx.execute("no sql at all")

    with pytest.raises(sqlite3.OperationalError), database.write() as tx:
        half(tx)
    assert database.meta("half") == ""


def test_a_commit_that_fails_is_rolled_back_and_the_next_transaction_works(database):
    def orphan(tx):
        tx.execute("PRAGMA defer_foreign_keys=ON")
        tx.execute("INSERT INTO jobs (job_id, document_id, created_at) VALUES ('j', 'no document', 0)")

    with pytest.raises(sqlite3.IntegrityError), database.write() as tx:
        orphan(tx)
    database.set_meta("next", "works")
    assert database.meta("next") == "works"


def test_an_error_after_which_sqlite_has_rolled_back_by_itself_is_told_as_it_was(database):
    with pytest.raises(sqlite3.IntegrityError), database.write() as tx:
        tx.execute("INSERT OR ROLLBACK INTO meta VALUES ('epoch', 'twice')")
    database.set_meta("next", "works")


def test_commits_reach_the_disk(database):
    """synchronous = 2 is FULL."""
    with database.write() as tx:
        assert tx.execute("PRAGMA synchronous").fetchone()[0] == 2
        assert tx.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


# ---------------------------------------------------------------- replies


async def test_a_good_reply_is_paid_for_once(database):
    model = ScriptedGenerator(lambda prompt: "Juniper Ward")
    memories = ReplyCache(model, database, SystemClock())
    prompt = Prompt((Message("user", "which ward?"),), max_tokens=5)
    first = await memories.generate(prompt, deadline_s=1)
    again = await memories.generate(prompt, deadline_s=1)
    assert first.texts == again.texts
    assert again.tokens_in == again.tokens_out == 0
    assert len(model.prompts) == 1


async def test_the_totals_count_every_reply_that_was_paid_and_none_that_was_remembered(database, documents):
    replies = iter(["Juniper Ward", " "])
    memories = ReplyCache(ScriptedGenerator(lambda prompt: next(replies)), database, SystemClock())
    first = await memories.generate(Prompt((Message("user", "which ward?"),), max_tokens=5), deadline_s=1)
    await memories.generate(Prompt((Message("user", "which ward?"),), max_tokens=5), deadline_s=1)
    empty = await memories.generate(Prompt((Message("user", "which pump?"),), max_tokens=5), deadline_s=1)
    totals = documents.totals()
    assert first.tokens_in > 0
    assert totals["model_calls"] == 2
    assert totals["tokens_in"] == first.tokens_in + empty.tokens_in
    assert totals["tokens_out"] == first.tokens_out + empty.tokens_out


async def test_an_empty_reply_is_never_kept(database):
    model = ScriptedGenerator(lambda prompt: " ")
    memories = ReplyCache(model, database, SystemClock())
    prompt = Prompt((Message("user", "which ward?"),), max_tokens=5)
    for _ in range(2):
        await memories.generate(prompt, deadline_s=1)
    assert len(model.prompts) == 2
