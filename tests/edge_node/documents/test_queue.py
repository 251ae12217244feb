"""The queue: who may work on what, and how it ends."""

import json

import pytest

from edge_node.database.schema import Database
from edge_node.documents.jobs import LEASE_S, LONGEST_WAIT_S, JobQueue
from edge_node.documents.store import DocumentStore
from edge_node.records import Cost, Reason, Shortfall
from shared.errors import Conflict, NotFound
from tests.support.storing import SetClock, serve

EMPTY = Reason("empty", "there is nothing in it", "check the file", "d:3")


class Bench:
    """A queue with a clock that is set by hand."""

    def __init__(self, folder):
        self.clock = SetClock()
        self.database = Database(folder / "edge.db")
        self.documents = DocumentStore(self.database, self.clock)
        self.queue = JobQueue(self.database, self.clock)

    def accept(self, name="a"):
        return self.documents.accept(name, b"text", reader="text.txt")

    def status(self, accepted):
        return self.documents.get(accepted.document_id)["status"]


@pytest.fixture
def bench(tmp_path):
    opened = Bench(tmp_path)
    yield opened
    opened.database.close()


def test_documents_are_taken_in_the_order_in_which_they_came(bench):
    for name in ("b", "a", "c"):
        bench.accept(name)
        bench.clock.time -= 60  # whatever the clock says
    assert [bench.queue.take_next().document.name for _ in range(3)] == ["b", "a", "c"]
    assert bench.queue.take_next() is None


def test_a_job_is_taken_again_only_when_its_lease_has_run_out(bench):
    bench.accept()
    first = bench.queue.take_next()
    bench.clock.time += LEASE_S - 1
    assert bench.queue.take_next() is None
    bench.clock.time += 1
    again = bench.queue.take_next()
    assert (again.job_id, again.attempts) == (first.job_id, 2)


def test_a_job_that_is_held_is_not_taken_whatever_the_clock_says(bench):
    job = bench.accept().job_id
    bench.queue.take_next()
    bench.clock.time += 600
    assert bench.queue.take_next(held=[job]) is None


def test_a_lease_that_is_renewed_lasts(bench):
    job = bench.accept().job_id
    bench.queue.take_next()
    bench.clock.time += LEASE_S - 1
    bench.queue.renew([job])
    bench.clock.time += LEASE_S - 1
    assert bench.queue.take_next() is None


def test_a_job_that_was_put_back_waits_and_then_goes_first(bench):
    first = bench.accept("a")
    bench.accept("b")
    bench.queue.take_next()
    bench.queue.requeue(first.job_id, wait_s=30.0, code="model_unavailable", reason="it is away")
    view = bench.documents.get(first.document_id)
    assert (view["status"], view["code"], view["attempts"]) == ("queued", "model_unavailable", 1)
    assert bench.queue.take_next().document.name == "b"
    assert (bench.queue.take_next(), bench.queue.due_in_s()) == (None, 30.0)
    bench.clock.time += 30.0
    assert bench.queue.take_next().document.name == "a"


def test_a_clock_that_is_set_back_does_not_keep_a_job_waiting(bench):
    job = bench.accept().job_id
    bench.queue.take_next()
    bench.queue.requeue(job, wait_s=30.0, code="", reason="")
    bench.clock.time -= 2 * LONGEST_WAIT_S
    assert bench.queue.take_next().job_id == job


def test_only_a_job_under_way_is_put_back(bench):
    accepted = bench.accept()
    bench.queue.take_next()
    bench.queue.finish([accepted.job_id])
    bench.queue.requeue(accepted.job_id, wait_s=0.0, code="x", reason="")
    assert bench.status(accepted) == "indexed"


def test_what_was_under_way_at_a_stop_waits_again_and_counts_as_no_attempt(bench):
    bench.accept()
    bench.queue.take_next()
    bench.queue.release()
    assert bench.queue.recover() == ()
    again = bench.queue.take_next()
    assert (again.attempts, again.crashes) == (1, 0)


def test_what_was_under_way_at_a_crash_waits_again_and_is_parked_after_the_third(bench):
    accepted = bench.accept()
    for crashes in range(3):
        job = bench.queue.take_next(least_crashes=crashes)
        assert (job.attempts, job.crashes) == (crashes + 1, crashes)
        assert bench.queue.take_next() is None
        bench.queue.recover()
    assert bench.status(accepted) == "parked"
    assert bench.queue.get(accepted.job_id)["code"] == "crashed"
    bench.queue.retry(accepted.job_id)
    assert bench.queue.take_next().crashes == 0


def test_a_job_whose_chunks_are_committed_is_never_held_to_have_crashed(bench):
    accepted = bench.accept()
    bench.queue.take_next()
    serve(bench.database, accepted.document_id)
    for _ in range(5):
        bench.queue.release()
        assert bench.queue.recover() == (accepted.job_id,)
    assert bench.status(accepted) == "running"


def test_what_only_missed_a_settle_at_a_stop_is_not_done_again(bench):
    accepted = bench.accept()
    bench.queue.take_next()
    serve(bench.database, accepted.document_id)
    assert bench.queue.recover() == (accepted.job_id,)
    assert bench.queue.take_next() is None
    bench.queue.finish([accepted.job_id])
    assert bench.status(accepted) == "indexed"


def test_a_queued_document_without_a_job_gets_one(bench):
    accepted = bench.accept()
    bench.queue.take_next()
    bench.queue.finish([accepted.job_id])
    with bench.database.write() as tx:
        tx.execute("UPDATE documents SET status = 'queued'")
    bench.queue.recover()
    assert bench.queue.take_next().document.document_id == accepted.document_id


def test_a_parked_document_says_why_where_and_what_to_do(bench):
    accepted = bench.accept()
    bench.queue.take_next()
    bench.queue.park(accepted.job_id, EMPTY)
    view = bench.documents.get(accepted.document_id)
    assert (view["status"], view["code"], view["next_step"], view["failed_chunk"]) == ("parked", "empty", "check the file", "d:3")
    assert bench.queue.get(accepted.job_id)["ended_at"] is not None


@pytest.mark.parametrize("column", ["raw", "name"])
def test_a_damaged_document_is_parked_and_the_next_one_taken(bench, column):
    damaged = bench.accept("a")
    bench.accept("b")
    with bench.database.write() as tx:
        tx.execute(f"UPDATE documents SET {column} = 'tExt' WHERE name = 'a'")
    assert bench.queue.take_next().document.name == "b"
    view = bench.documents.get(damaged.document_id)
    assert (view["status"], view["code"], view["next_step"]) == ("parked", "damaged", "send the document again")


@pytest.mark.parametrize("end", ["finish", "park"])
def test_the_end_of_a_job_leaves_a_document_alone_that_was_deleted_and_sent_again(bench, end):
    first = bench.accept()
    bench.queue.take_next()
    bench.documents.remove(first.document_id)
    again = bench.accept()
    bench.queue.finish([first.job_id]) if end == "finish" else bench.queue.park(first.job_id, EMPTY)
    assert bench.status(again) == "queued"
    assert bench.queue.get(again.job_id)["ended_at"] is None


# ---------------------------------------------------------------- cancel and retry


@pytest.mark.parametrize("taken", [False, True])
def test_a_job_that_waits_or_runs_can_be_cancelled_and_nothing_of_it_is_written_after_that(bench, taken):
    accepted = bench.accept()
    if taken:
        bench.queue.take_next()
    bench.queue.cancel(accepted.job_id)
    view = bench.documents.get(accepted.document_id)
    assert (view["status"], view["code"]) == ("parked", "cancelled")
    with pytest.raises(Conflict):
        serve(bench.database, accepted.document_id)
    assert bench.queue.take_next() is None


def test_a_job_whose_chunks_are_written_cannot_be_cancelled_any_more(bench):
    accepted = bench.accept()
    bench.queue.take_next()
    serve(bench.database, accepted.document_id)
    with pytest.raises(Conflict, match="has ended"):
        bench.queue.cancel(accepted.job_id)


def test_a_parked_document_is_retried_with_a_new_job_from_its_first_attempt(bench):
    accepted = bench.accept()
    bench.queue.take_next()
    bench.queue.park(accepted.job_id, EMPTY)
    new = bench.queue.retry(accepted.job_id)
    job = bench.queue.take_next()
    assert new == job.job_id != accepted.job_id
    assert job.attempts == 1
    assert bench.documents.get(accepted.document_id)["code"] == ""


def fall_short(bench, code):
    with bench.database.write() as tx:
        tx.execute("UPDATE documents SET shortfalls = ?", (json.dumps([{"code": code, "message": "", "chunk_id": ""}] * bool(code)),))


def test_a_document_that_is_indexed_is_retried_only_if_it_has_a_shortfall_that_another_try_may_mend(bench):
    accepted = bench.accept()
    bench.queue.take_next()
    bench.queue.record(accepted.job_id, Cost(2, 30, 10), ())
    bench.queue.finish([accepted.job_id])
    for code in ("", "comments_unread", "low_yield"):
        fall_short(bench, code)
        assert not bench.documents.get(accepted.document_id)["can_retry"]
        with pytest.raises(Conflict, match="would do no better"):
            bench.queue.retry(accepted.job_id)
    fall_short(bench, "model_timeout")
    assert bench.documents.get(accepted.document_id)["can_retry"]
    assert bench.queue.retry(accepted.job_id) != accepted.job_id


def test_a_document_that_waits_cannot_be_retried(bench):
    with pytest.raises(Conflict, match="already"):
        bench.queue.retry(bench.accept().job_id)


def test_what_a_job_used_and_where_it_fell_short_is_kept(bench):
    accepted = bench.accept()
    bench.queue.take_next()
    bench.queue.record(accepted.job_id, Cost(2, 30, 10), (Shortfall("model_reply_error", "no line", "d:1"),))
    job = bench.queue.get(accepted.job_id)
    assert (job["calls"], job["tokens_in"], job["tokens_out"]) == (2, 30, 10)
    assert bench.documents.get(accepted.document_id)["shortfalls"] == [
        {"code": "model_reply_error", "message": "no line", "chunk_id": "d:1"}
    ]


@pytest.mark.parametrize("act", ["cancel", "retry", "get"])
def test_an_unknown_job_is_not_found(bench, act):
    with pytest.raises(NotFound):
        getattr(bench.queue, act)("unknown")


def test_the_tokens_of_all_chunks_are_summed_without_reading_their_text(bench):
    (plan,) = bench.database.rows("EXPLAIN QUERY PLAN SELECT count(*), sum(tokens) FROM chunks")
    assert "COVERING INDEX" in plan["detail"]
