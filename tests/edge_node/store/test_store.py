"""The edge's SQLite store."""

import sqlite3

import numpy as np
import pytest

from edge_node.store.database import SCHEMA_VERSION, Database
from edge_node.store.documents import DocumentStore
from edge_node.store.graph import GraphStore, VectorRows
from edge_node.store.replies import RememberingGenerator
from shared.clock import SystemClock
from shared.errors import NotFound, StoreError
from shared.models.fake import ScriptedGenerator
from shared.ports import Message, Prompt
from shared.records import Chunk, EntityMention, RelationMention, Subgraph, Summary


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
    graph.save_chunks([chunk], [entity], [relation], rows_of(chunk.chunk_id))
    return chunk


# ---------------------------------------------------------------- documents


def test_the_same_content_under_the_same_name_is_a_no_op(documents):
    first = documents.accept("a.txt", b"pump", reader="a.txt")
    again = documents.accept("a.txt", b"pump", reader="a.txt")
    assert again.duplicate
    assert (again.document_id, again.job_id) == (first.document_id, first.job_id)
    assert documents.counts()["queued"] == 1


def test_new_content_under_a_known_name_replaces_the_old_with_all_its_traces(documents, graph):
    old = documents.accept("a.txt", b"pump", reader="a.txt")
    chunk = save(graph, old.document_id)
    new = documents.accept("a.txt", b"valve", reader="a.txt")
    assert new.removed == (chunk.chunk_id,)
    assert graph.entity_mentions() == graph.relation_mentions() == []
    assert len(graph.vectors("chunk", 4).keys) == 0
    with pytest.raises(NotFound):
        documents.get(old.document_id)


def test_equal_content_under_two_names_is_two_documents(documents):
    assert documents.accept("a.txt", b"pump", reader="a.txt").document_id != documents.accept("b.txt", b"pump", reader="b.txt").document_id


def test_documents_are_taken_in_the_order_in_which_they_came(documents):
    for name in ("b", "a", "c"):
        documents.accept(name, b"text", reader="text.txt")
    assert [documents.take_next().name for _ in range(3)] == ["b", "a", "c"]
    assert documents.take_next() is None


def test_what_was_running_at_a_stop_is_queued_again(documents):
    documents.accept("a", b"text", reader="text.txt")
    documents.take_next()
    assert documents.requeue_interrupted() == 1
    assert documents.take_next().name == "a"


def test_a_parked_document_says_why_and_what_to_do(documents):
    accepted = documents.accept("a", b"", reader="text.txt")
    documents.take_next()
    documents.park(accepted.document_id, code="empty", reason="a: there is nothing in it", next_step="check the file")
    view = documents.get(accepted.document_id)
    assert (view["status"], view["code"], view["next_step"]) == ("parked", "empty", "check the file")
    assert documents.job(accepted.job_id)["ended_at"] is not None


def test_a_parked_document_that_is_sent_again_is_tried_again(documents):
    first = documents.accept("a", b"text", reader="text.txt")
    documents.take_next()
    documents.park(first.document_id, code="model_unavailable", reason="no model", next_step="start it")
    again = documents.accept("a", b"text", reader="text.txt")
    assert again.duplicate
    assert again.job_id != first.job_id
    assert documents.take_next().document_id == first.document_id


def test_pages_follow_each_other_by_name(documents):
    for name in "abcde":
        documents.accept(name, b"text", reader="text.txt")
    first = documents.list(limit=2)
    second = documents.list(limit=2, after=first[-1]["name"])
    assert [d["name"] for d in first + second] == ["a", "b", "c", "d"]


def test_a_damaged_document_is_parked_and_the_next_one_taken(documents, database):
    damaged = documents.accept("a", b"text", reader="text.txt")
    documents.accept("b", b"text", reader="text.txt")
    with database.write() as tx:
        tx.execute("UPDATE documents SET raw = ? WHERE name = 'a'", (b"tExt",))
    assert documents.take_next().name == "b"
    view = documents.get(damaged.document_id)
    assert (view["status"], view["code"], view["next_step"]) == ("parked", "damaged", "send the document again")
    assert documents.job(damaged.job_id)["ended_at"] is not None


def test_sending_a_damaged_document_again_brings_its_bytes_back(documents, database):
    documents.accept("a", b"text", reader="text.txt")
    with database.write() as tx:
        tx.execute("UPDATE documents SET raw = ?", (b"tExt",))
    assert documents.take_next() is None
    documents.accept("a", b"text", reader="text.txt")
    assert documents.take_next().raw == b"text"


@pytest.mark.parametrize("status", ["indexed", "parked"])
def test_a_document_that_is_deleted_and_sent_again_meanwhile_still_waits(documents, status):
    first = documents.accept("a", b"text", reader="text.txt")
    documents.take_next()
    documents.remove(first.document_id)
    again = documents.accept("a", b"text", reader="text.txt")
    if status == "indexed":
        documents.mark_indexed([first.document_id])
    else:
        documents.park(first.document_id, code="empty", reason="", next_step="")
    assert documents.get(again.document_id)["status"] == "queued"
    assert documents.job(again.job_id)["ended_at"] is None


def test_only_a_document_under_way_is_queued_again(documents):
    accepted = documents.accept("a", b"text", reader="text.txt")
    documents.take_next()
    documents.requeue(accepted.document_id)
    assert documents.get(accepted.document_id)["status"] == "queued"
    documents.take_next()
    documents.mark_indexed([accepted.document_id])
    documents.requeue(accepted.document_id)
    assert documents.get(accepted.document_id)["status"] == "indexed"


# ---------------------------------------------------------------- chunks, mentions, vectors


def test_mentions_come_back_as_they_were_saved(documents, graph):
    chunk = save(graph, documents.accept("a", b"text", reader="text.txt").document_id)
    assert graph.entity_mentions() == [EntityMention("pump", "Pump", "concept", "It stopped.", chunk.chunk_id)]
    assert graph.relation_mentions()[0].keywords == ("raise",)


def test_saving_a_chunk_twice_equals_saving_it_once(documents, graph):
    document_id = documents.accept("a", b"text", reader="text.txt").document_id
    save(graph, document_id)
    save(graph, document_id)
    assert len(graph.entity_mentions()) == len(graph.relation_mentions()) == len(graph.vectors("chunk", 4).keys) == 1


def test_new_chunks_of_a_document_replace_all_its_former_ones(documents, graph):
    document_id = documents.accept("a", b"text", reader="text.txt").document_id
    other = save(graph, documents.accept("b", b"text", reader="text.txt").document_id)
    save(graph, document_id)
    longer = chunk_of(document_id, ordinal=7)
    graph.save_chunks([longer], [], [], rows_of(longer.chunk_id))
    assert set(graph.chunk_documents()) == set(graph.vectors("chunk", 4).keys) == {longer.chunk_id, other.chunk_id}
    assert [mention.chunk_id for mention in graph.entity_mentions()] == [other.chunk_id]


def test_chunks_of_a_document_that_was_deleted_meanwhile_are_not_saved(documents, graph):
    document_id = documents.accept("a", b"text", reader="text.txt").document_id
    documents.remove(document_id)
    with pytest.raises(NotFound):
        save(graph, document_id)
    assert len(graph.vectors("chunk", 4).keys) == 0


def test_a_flipped_bit_in_a_vector_or_a_chunk_is_noticed(documents, graph, database):
    chunk = save(graph, documents.accept("a", b"text", reader="text.txt").document_id)
    with database.write() as tx:
        tx.execute("UPDATE chunks SET text = 'The pump stepped.'")
        tx.execute("UPDATE vectors SET vector = zeroblob(16)")
    with pytest.raises(StoreError, match="damaged"):
        documents.chunks([chunk.chunk_id])
    with pytest.raises(StoreError, match="damaged"):
        graph.vectors("chunk", 4)


def test_vectors_of_another_dimension_are_refused(documents, graph):
    save(graph, documents.accept("a", b"text", reader="text.txt").document_id)
    with pytest.raises(StoreError, match="dimension"):
        graph.vectors("chunk", 8)


# ---------------------------------------------------------------- summaries and their delta


def test_the_delta_holds_what_changed_since_the_known_version(graph, database):
    parts = [Subgraph("s1", ("a",)), Subgraph("s2", ("b",))]
    hashes = {"s1": "1", "s2": "2"}
    graph.save_partition(parts, [Summary("s1", "one", 1, 0), Summary("s2", "two", 1, 0)], hashes, [])
    graph.save_partition(parts, [Summary("s2", "two!", 1, 0)], hashes, [])
    delta = graph.delta(epoch=database.meta("epoch"), version=1)
    assert (delta.base_version, delta.version) == (1, 2)
    assert [summary.text for summary in delta.upserts] == ["two!"]


def test_a_subgraph_that_is_gone_becomes_a_tombstone(graph, database):
    graph.save_partition([Subgraph("s1", ("a",))], [Summary("s1", "one", 1, 0)], {"s1": "1"}, [])
    graph.save_partition([], [], {}, [])
    delta = graph.delta(epoch=database.meta("epoch"), version=1)
    assert (delta.upserts, delta.removals, graph.summaries()) == ((), ("s1",), [])


def test_nothing_changed_means_no_new_version(graph):
    parts = [Subgraph("s1", ("a",))]
    graph.save_partition(parts, [Summary("s1", "one", 1, 0)], {"s1": "1"}, [])
    graph.save_partition(parts, [], {"s1": "1"}, [])
    assert graph.version() == 1


@pytest.mark.parametrize(("epoch", "version"), [("another", 1), (None, 99)])
def test_a_cloud_that_knows_another_epoch_or_a_later_version_gets_a_snapshot(graph, database, epoch, version):
    graph.save_partition([Subgraph("s1", ("a",))], [Summary("s1", "one", 1, 0)], {"s1": "1"}, [])
    delta = graph.delta(epoch=epoch or database.meta("epoch"), version=version)
    assert (delta.base_version, len(delta.upserts), delta.removals) == (0, 1, ())


# ---------------------------------------------------------------- the file itself


def test_a_store_of_a_newer_release_is_refused_in_words(tmp_path, database):
    with database.write() as tx:
        tx.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    with pytest.raises(StoreError, match="this release reads up to"):
        Database(tmp_path / "edge.db")


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path):
    (tmp_path / "edge.db").write_text("no database " * 1000)
    with pytest.raises(StoreError, match="not a usable store"):
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
    remembering = RememberingGenerator(model, database, SystemClock())
    prompt = Prompt((Message("user", "which ward?"),), max_tokens=5)
    first = await remembering.generate(prompt, deadline_s=1)
    again = await remembering.generate(prompt, deadline_s=1)
    assert first.texts == again.texts
    assert again.tokens_in == again.tokens_out == 0
    assert len(model.prompts) == 1


async def test_the_totals_count_every_reply_that_was_paid_and_none_that_was_remembered(database, documents):
    replies = iter(["Juniper Ward", " "])
    remembering = RememberingGenerator(ScriptedGenerator(lambda prompt: next(replies)), database, SystemClock())
    first = await remembering.generate(Prompt((Message("user", "which ward?"),), max_tokens=5), deadline_s=1)
    await remembering.generate(Prompt((Message("user", "which ward?"),), max_tokens=5), deadline_s=1)
    empty = await remembering.generate(Prompt((Message("user", "which pump?"),), max_tokens=5), deadline_s=1)
    totals = documents.totals()
    assert first.tokens_in > 0
    assert totals["model_calls"] == 2
    assert totals["tokens_in"] == first.tokens_in + empty.tokens_in
    assert totals["tokens_out"] == first.tokens_out + empty.tokens_out


async def test_an_empty_reply_is_never_kept(database):
    model = ScriptedGenerator(lambda prompt: " ")
    remembering = RememberingGenerator(model, database, SystemClock())
    prompt = Prompt((Message("user", "which ward?"),), max_tokens=5)
    for _ in range(2):
        await remembering.generate(prompt, deadline_s=1)
    assert len(model.prompts) == 2
