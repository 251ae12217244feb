"""Documents: accepted once, replaced late, deleted with a receipt."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edge_node.database.schema import Database
from edge_node.documents.changing import relabel, rename
from edge_node.documents.jobs import JobQueue
from edge_node.documents.receipts import UNSETTLED, ReceiptStore
from edge_node.documents.store import DocumentStore
from shared.errors import Conflict, NotFound
from tests.support.storing import SetClock, serve


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "edge.db")
    yield opened
    opened.close()


@pytest.fixture
def documents(database):
    return DocumentStore(database, SetClock())


@pytest.fixture
def queue(database):
    return JobQueue(database, SetClock())


def accept(documents, raw=b"pump", **more):
    return documents.accept("a.txt", raw, **{"reader": "a.txt", **more})


def index(documents, queue, database, raw=b"pump", **more):
    """Accept, take, write and finish one version of a.txt."""
    accepted = accept(documents, raw, **more)
    queue.take_next()
    serve(database, accepted.document_id)
    queue.finish([accepted.job_id])
    return accepted


def damage(database, column, value):
    with database.write() as tx:
        tx.execute(f"UPDATE documents SET {column} = ?", (value,))


# ---------------------------------------------------------------- the same again


def test_the_same_content_under_the_same_name_is_a_no_op(documents):
    first, again = accept(documents), accept(documents)
    assert again.duplicate
    assert (again.document_id, again.job_id) == (first.document_id, first.job_id)
    assert documents.counts()["queued"] == 1


def test_equal_content_under_two_names_is_two_documents(documents):
    other = documents.accept("b.txt", b"pump", reader="b.txt")
    assert accept(documents).document_id != other.document_id


def test_other_labels_are_taken_over_at_once_and_nothing_is_indexed_again(documents, queue, database):
    first = index(documents, queue, database)
    again = accept(documents, labels=("ward", "night"))
    view = documents.get(first.document_id)
    assert (again.job_id, view["status"], view["labels"]) == (first.job_id, "indexed", ["ward", "night"])
    assert view["code"] == ""  # the row's checksum has followed


def test_another_title_is_indexed_again_as_it_is_part_of_the_text(documents, queue, database):
    first = index(documents, queue, database)
    again = accept(documents, title="The pumps")
    assert again.job_id != first.job_id
    assert queue.take_next().document.title == "The pumps"


def test_another_title_ends_the_job_that_is_under_way(documents, queue):
    first = accept(documents)
    queue.take_next()
    assert accept(documents, title="The pumps").ended_jobs == (first.job_id,)
    assert queue.get(first.job_id)["ended_at"] is not None


def test_a_parked_document_that_is_sent_again_is_tried_again(documents, queue):
    first = accept(documents)
    queue.cancel(first.job_id)
    again = accept(documents)
    assert again.duplicate
    assert again.job_id != first.job_id
    assert queue.take_next().document.document_id == first.document_id


@pytest.mark.parametrize(("column", "value"), [("raw", b"pUmp"), ("title", "tidle"), ("labels", "[no json"), ("name", "a.txt2")])
def test_sending_a_damaged_document_again_mends_it(documents, queue, database, column, value):
    first = index(documents, queue, database)
    damage(database, column, value)
    accept(documents, labels=())
    job = queue.take_next()
    assert (job.document.document_id, job.document.raw, job.document.name) == (first.document_id, b"pump", "a.txt")


# ---------------------------------------------------------------- labels that are not said


def test_without_labels_a_document_keeps_its_own_and_a_new_one_has_none(documents):
    assert accept(documents).labels == ()
    accept(documents, labels=("patients",))
    assert accept(documents).labels == ("patients",)
    assert accept(documents, title="The pumps").labels == ("patients",)
    assert documents.get(accept(documents).document_id)["labels"] == ["patients"]


def test_an_empty_list_takes_the_labels_off(documents):
    accept(documents, labels=("patients",))
    assert accept(documents, labels=()).labels == ()
    assert accept(documents).labels == ()


def test_a_new_version_without_labels_has_those_of_the_newest(documents, queue, database):
    index(documents, queue, database, labels=("patients",))
    accept(documents, b"second", labels=("night",))
    assert accept(documents, b"third").labels == ("night",)  # the second, never indexed, gave way to it
    assert accept(documents, b"pump").labels == ("patients",)


@pytest.mark.parametrize(("column", "value"), [("labels", "[]"), ("name", "b.txt"), ("title", "tidle")])
def test_labels_that_cannot_be_trusted_are_not_kept_but_asked_for(documents, database, column, value):
    first = accept(documents, labels=("patients",))
    damage(database, column, value)
    with pytest.raises(Conflict, match="send it with its labels"):
        accept(documents)
    assert accept(documents, labels=("patients",)).document_id == first.document_id
    assert accept(documents).labels == ("patients",)


# ---------------------------------------------------------------- another version


def test_a_new_version_waits_beside_the_served_one_and_names_it(documents, queue, database):
    old, new = index(documents, queue, database), accept(documents, b"valve")
    listed = documents.list(limit=10)
    assert [(row["document_id"], row["status"], row["replaces"]) for row in listed] == [
        (old.document_id, "indexed", None),
        (new.document_id, "queued", old.document_id),
    ]
    assert documents.get(new.document_id)["replaces"] == old.document_id


def test_the_old_version_goes_when_the_chunks_of_the_new_one_are_written(documents, queue, database):
    old, new = index(documents, queue, database), accept(documents, b"valve")
    queue.take_next()
    assert serve(database, new.document_id) == (f"{old.document_id}:0",)
    with pytest.raises(NotFound):
        documents.get(old.document_id)
    assert documents.get(new.document_id)["replaces"] is None


def test_a_version_that_is_parked_leaves_the_old_one_served(documents, queue, database):
    old, new = index(documents, queue, database), accept(documents, b"valve")
    queue.cancel(new.job_id)
    assert list(documents.chunks([f"{old.document_id}:0"])) == [f"{old.document_id}:0"]
    assert documents.counts() == {"queued": 0, "running": 0, "indexed": 1, "parked": 1}


def test_a_third_version_takes_the_place_of_a_second_that_was_never_indexed(documents, queue, database):
    old, second = index(documents, queue, database), accept(documents, b"valve")
    queue.take_next()
    third = accept(documents, b"gate")
    assert third.ended_jobs == (second.job_id,)
    assert {row["document_id"] for row in documents.list(limit=10)} == {old.document_id, third.document_id}
    with pytest.raises(NotFound):
        serve(database, second.document_id)


def test_sending_the_served_version_again_takes_the_waiting_one_back(documents, queue, database):
    old, new = index(documents, queue, database), accept(documents, b"valve")
    assert accept(documents).ended_jobs == (new.job_id,)
    assert [row["document_id"] for row in documents.list(limit=10)] == [old.document_id]


def test_an_old_version_that_is_indexed_again_does_not_remove_the_newer_one(documents, queue, database):
    old, new = index(documents, queue, database), accept(documents, b"valve")
    assert serve(database, old.document_id) == ()
    assert documents.get(new.document_id)["status"] == "queued"


def test_the_order_of_versions_does_not_hang_on_the_clock(documents, queue, database):
    old = index(documents, queue, database)
    documents.clock.time -= 600
    new = accept(documents, b"valve")
    assert serve(database, new.document_id) == (f"{old.document_id}:0",)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(["send 1", "send 2", "send 3", "work", "cancel"]), max_size=12))
def test_after_any_history_the_last_version_that_was_sent_is_there_and_at_most_one_beside_it(tmp_path_factory, steps):
    opened = Database(tmp_path_factory.mktemp("any") / "edge.db")
    try:
        documents, queue = DocumentStore(opened, SetClock()), JobQueue(opened, SetClock())
        last = None
        for step in steps:
            if step.startswith("send"):
                last = accept(documents, step.encode())
            elif step == "work" and (job := queue.take_next()):
                serve(opened, job.document.document_id)
                queue.finish([job.job_id])
            elif step == "cancel" and (job := queue.take_next()):
                queue.cancel(job.job_id)
        present = [row["document_id"] for row in documents.list(limit=10)]
        assert len(present) <= 2
        assert last is None or last.document_id in present
        while job := queue.take_next():
            serve(opened, job.document.document_id)
            queue.finish([job.job_id])
        left = documents.list(limit=10)
        assert all(row["status"] == "parked" or row["document_id"] == last.document_id or row["replaces"] is None for row in left)
        assert all(row["status"] in ("indexed", "parked") for row in left)
    finally:
        opened.close()


# ---------------------------------------------------------------- lists


def test_pages_follow_each_other_by_name(documents):
    for name in "abcde":
        documents.accept(name, b"text", reader="text.txt")
    first = documents.list(limit=2)
    second = documents.list(limit=2, after=first[-1]["name"])
    assert [d["name"] for d in first + second] == ["a", "b", "c", "d"]


def test_a_page_never_ends_between_two_versions(documents, queue, database):
    index(documents, queue, database)
    accept(documents, b"valve")
    assert [row["name"] for row in documents.list(limit=1)] == ["a.txt", "a.txt"]


def test_one_name_or_one_status_is_listed(documents, queue):
    first = accept(documents)
    documents.accept("b.txt", b"valve", reader="b.txt")
    queue.cancel(first.job_id)
    assert [row["name"] for row in documents.list(limit=10, name="b.txt")] == ["b.txt"]
    assert [row["name"] for row in documents.list(limit=10, status="parked")] == ["a.txt"]


@pytest.mark.parametrize("column", ["name", "labels", "shortfalls"])
def test_a_damaged_row_is_named_and_never_breaks_a_list(documents, database, column):
    accept(documents)
    damage(database, column, "[broken")
    view = documents.list(limit=10)[0]
    assert (view["labels"], view["shortfalls"]) == ([], [])
    assert view["code"] == ("" if column == "shortfalls" else "damaged")


def test_a_passage_of_a_damaged_document_is_not_served(documents, queue, database):
    accepted = index(documents, queue, database)
    damage(database, "name", "b.txt")
    assert documents.chunks([f"{accepted.document_id}:0"]) == {}


def test_what_is_here_and_not_parked_is_known(documents, queue):
    first = accept(documents)
    parked = documents.accept("b.txt", b"valve", reader="b.txt")
    queue.cancel(parked.job_id)
    assert documents.known([first.document_id, parked.document_id, "another"]) == {first.document_id}


# ---------------------------------------------------------------- receipts


def test_a_deletion_leaves_a_receipt_that_waits_for_a_settle(documents, queue, database):
    accepted = index(documents, queue, database)
    removed = documents.remove(accepted.document_id)
    receipts = ReceiptStore(database)
    receipt = receipts.get(removed.receipt_id)
    assert (receipt.document_id, receipt.chunks, receipt.version, receipt.erased) == (accepted.document_id, 1, UNSETTLED, False)
    assert receipts.unfinished() == (removed.receipt_id,)


def test_a_settled_receipt_keeps_the_version_of_the_first_settle(documents, database):
    receipts, removed = ReceiptStore(database), documents.remove(accept(documents).document_id)
    database.set_meta("version", "3")
    receipts.settled(receipts.unfinished(), erased=False)
    database.set_meta("version", "9")
    receipts.settled(receipts.unfinished(), erased=True)
    receipt = receipts.get(removed.receipt_id)
    assert (receipt.version, receipt.erased) == (3, True)
    assert receipts.unfinished() == ()


def test_what_is_not_there_cannot_be_removed_and_leaves_no_receipt(documents, database):
    with pytest.raises(NotFound):
        documents.remove("unknown")
    assert ReceiptStore(database).unfinished() == ()


# ---------------------------------------------------------------- another name


def test_a_renamed_document_keeps_labels_date_source_and_the_name_that_chooses_its_reader(documents, database):
    first = accept(documents, labels=("ward",), title="Pumps", source="folder", reader="text.txt")
    relabel(database, first.document_id, ["secret"])
    accepted, removed = rename(database, first.document_id, "b.txt", now=2000.0)
    [row] = database.rows("SELECT document_id, name, title, labels, created_at, source, reader FROM documents")
    assert tuple(row) == (accepted.document_id, "b.txt", "Pumps", '["secret"]', 1000.0, "folder", "text.txt")
    assert removed.ended_jobs == (first.job_id,)
    assert rename(database, accepted.document_id, "b.txt", now=2000.0) == (replace(accepted, duplicate=True), None)  # it has this name


@pytest.mark.parametrize(("column", "value"), [("raw", b"other"), ("title", "other"), ("labels", "[")])
def test_a_damaged_document_is_not_renamed_and_stays(documents, database, column, value):
    first = accept(documents)
    damage(database, column, value)
    with pytest.raises(Conflict, match="damaged"):
        rename(database, first.document_id, "b.txt", now=2000.0)
    assert [row["name"] for row in database.rows("SELECT name FROM documents")] == ["a.txt"]
