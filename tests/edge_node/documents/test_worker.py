"""The write path under errors: whatever happens to one document or one settle, the edge goes on."""

import asyncio
import contextlib
import logging

import pytest

from edge_node.database.schema import Database
from edge_node.documents import progress
from edge_node.documents import worker as module
from edge_node.documents.chunking import Cutter
from edge_node.documents.jobs import JobQueue
from edge_node.documents.readers.pool import ReadsHere
from edge_node.documents.receipts import ReceiptStore
from edge_node.documents.store import DocumentStore
from edge_node.documents.worker import Background, StoppingError, Worker
from edge_node.records import Added, Cost, Shortfall
from edge_node.settings import IndexingSettings
from shared.errors import DiskFull, ModelReplyError, ModelTimeout, ModelUnavailable, ReaderUnavailable, UnreadableDocument
from shared.limits import RetryBudget
from shared.models.fake import WordTokenizer
from shared.ports import SystemClock
from tests.support.storing import serve
from tests.support.waiting import until


class Strategy:
    """Records what is added; ``errors`` are raised in turn by documents whose text holds the key, or by "settle" or "refine"."""

    def __init__(self, database):
        self.database = database
        self.errors = {}
        self.outcome = Added()
        self.started = []
        self.added = []
        self.settled = 0
        self.refined = 0
        self.stale = 0
        self.progress = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.at_once = self.most_at_once = 0

    def fail(self, key):
        if self.errors.get(key):
            raise self.errors[key].pop(0)

    async def add(self, chunks, progress, turn):
        self.progress = progress
        self.started.append(chunks[0].text)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.gate.wait()
        finally:
            self.at_once -= 1
        for key in self.errors:
            if key in chunks[0].text:
                self.fail(key)
        await turn()
        await asyncio.to_thread(serve, self.database, chunks[0].document_id, chunks[0].text)
        self.added.append(chunks[0].text)
        return self.outcome

    async def settle(self, progress):
        self.fail("settle")
        self.settled += 1

    async def refine(self, progress):
        self.fail("refine")
        self.refined += 1
        self.stale -= 1
        return Cost(1, 10, 5)


class Bench:
    """A worker on a store, with a strategy that fails as told."""

    def __init__(self, folder, workers=1, reserve=10, reads=None):
        self.reads = reads or ReadsHere()
        self.database = Database(folder / "edge.db")
        self.documents = DocumentStore(self.database, SystemClock())
        self.queue = JobQueue(self.database, SystemClock())
        self.receipts = ReceiptStore(self.database)
        self.strategy = Strategy(self.database)
        self.told = self.withdrawn = 0
        self.workers, self.reserve = workers, reserve
        self.worker = self.new_worker()

    def new_worker(self):
        return Worker(
            self.queue,
            self.receipts,
            self.strategy,
            Cutter(self.reads, WordTokenizer(), 100, 10),
            IndexingSettings(workers=self.workers, settle_every=100),
            Background(),
            retries=RetryBudget(share=0.0, reserve=self.reserve),
            on_settled=self.on_settled,
        )

    async def on_settled(self, *, withdrawn):
        self.told += 1
        self.withdrawn += withdrawn

    def accept(self, text):
        return self.documents.accept(f"{text}.txt", text.encode(), reader="text.txt")

    def view(self, accepted):
        return self.documents.get(accepted.document_id)

    @contextlib.asynccontextmanager
    async def running(self):
        task = asyncio.create_task(self.worker.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def idle(self):
        await until(lambda: self.worker.idle and self.documents.counts()["queued"] == self.documents.counts()["running"] == 0)

    async def step(self, name):
        await until(lambda: self.worker.news.now.step == name)


@pytest.fixture
def make(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "FIRST_WAIT_S", 0.001)
    opened = []

    def made(**more):
        opened.append(Bench(tmp_path, **more))
        return opened[-1]

    yield made
    for each in opened:
        each.database.close()


@pytest.fixture
def bench(make):
    return make()


class FailingReads(ReadsHere):
    """Reads as others do, when the errors of a name are used up."""

    def __init__(self, **errors):
        self.errors = errors
        self.may_read = asyncio.Event()
        self.may_read.set()

    async def read(self, name, raw):
        if waiting := self.errors.get(raw.decode()):
            raise waiting.pop(0)
        await self.may_read.wait()
        return await super().read(name, raw)


# ---------------------------------------------------------------- errors


async def test_a_document_waits_for_its_reader_however_often_and_others_go_on(make):
    away = [ReaderUnavailable("PDF files cannot be read here now") for _ in range(12)]
    reads = FailingReads(pdf=away)
    bench = make(reads=reads)
    waiting, other = bench.accept("pdf"), bench.accept("other")
    async with bench.running():
        await until(lambda: bench.view(other)["status"] == "indexed")
        reads.may_read.clear()
        await until(lambda: away == [])
        view = bench.view(waiting)
        assert (view["code"], view["reason"]) == ("reader_unavailable", "PDF files cannot be read here now")
        assert view["status"] != "indexed"
        reads.may_read.set()
        await bench.idle()
    assert bench.view(waiting)["status"] == "indexed"
    assert bench.documents.waiting_for_reader() == 0


@pytest.mark.parametrize(("failures", "status"), [(1, "indexed"), (2, "indexed"), (3, "parked")])
async def test_a_document_whose_reader_breaks_down_is_read_three_times(make, monkeypatch, failures, status):
    monkeypatch.setattr(module, "READER_WAIT_S", 0.001)
    broken = [UnreadableDocument("pdf", "reader_failed", "the reader ended by signal 11") for _ in range(failures)]
    bench = make(reads=FailingReads(pdf=broken))
    accepted = bench.accept("pdf")
    async with bench.running():
        await bench.idle()
    assert bench.view(accepted)["status"] == status


async def test_a_parked_document_that_is_sent_again_is_indexed_once_it_can_be_read(make):
    bench = make(reads=FailingReads(pdf=[UnreadableDocument("pdf", "bad_pdf", "is damaged")]))
    accepted = bench.accept("pdf")
    async with bench.running():
        await bench.idle()
        assert bench.view(accepted)["status"] == "parked"
        again = bench.accept("pdf")
        bench.worker.wake()
        await until(lambda: bench.view(accepted)["status"] == "indexed")
    assert (again.document_id, again.duplicate) == (accepted.document_id, True)


async def test_an_unforeseen_error_parks_its_document_without_its_content_and_the_next_is_indexed(bench, caplog):
    bad, good = bench.accept("bad"), bench.accept("good")
    bench.strategy.errors["bad"] = [ValueError("bad is secret")]
    async with bench.running():
        await bench.idle()
    view = bench.view(bad)
    assert (view["status"], view["code"], view["reason"]) == ("parked", "internal", "an error inside the edge (ValueError)")
    assert "retry it" in view["next_step"]
    assert bench.view(good)["status"] == "indexed"
    assert "ValueError at test_worker.py:" in caplog.text
    assert "secret" not in caplog.text


async def test_the_log_names_documents_by_id_only(bench, caplog):
    caplog.set_level(logging.INFO)
    bench.accept("canary")
    bench.strategy.errors["canary"] = [ModelUnavailable("away"), ModelReplyError("not the format")]
    async with bench.running():
        await bench.idle()
    assert caplog.records
    assert "canary" not in caplog.text


async def test_a_settle_that_fails_is_tried_again_until_its_documents_are_indexed(bench):
    first = bench.accept("first")
    bench.strategy.errors["settle"] = [ValueError("once"), ValueError("twice")]
    async with bench.running():
        await bench.idle()
    assert bench.view(first)["status"] == "indexed"
    assert bench.told == bench.strategy.settled == 1


async def test_new_documents_are_added_while_a_failed_settle_waits(bench, monkeypatch):
    monkeypatch.setattr(progress, "FIRST_WAIT_S", 30.0)
    bench.accept("first")
    bench.strategy.errors["settle"] = [ValueError("once")]
    async with bench.running():
        await bench.step("waiting to settle again")
        bench.accept("second")
        bench.worker.wake()
        await until(lambda: bench.strategy.added == ["first", "second"])
        assert not bench.worker.idle


async def test_a_long_queue_is_settled_now_and_then(make):
    bench = make()
    bench.worker.settings = IndexingSettings(settle_every=2)
    for name in "abcde":
        bench.accept(name)
    async with bench.running():
        await bench.idle()
    assert bench.strategy.settled == 3


async def test_an_error_of_the_store_starts_the_work_anew_and_loses_nothing(bench, monkeypatch):
    first = bench.accept("first")
    errors = [OSError("gone")]
    take_next = bench.queue.take_next

    def take(held, **more):
        if bench.strategy.added and errors:
            raise errors.pop()
        return take_next(held, **more)

    monkeypatch.setattr(bench.queue, "take_next", take)
    async with bench.running():
        await bench.idle()
    assert not errors
    assert bench.view(first)["status"] == "indexed"
    assert bench.strategy.added == ["first"]  # its chunks were committed: only the settle was missing


@pytest.mark.parametrize("where", ["take_next", "record", "finish", "recover", "add"])
async def test_a_full_disk_is_waited_out_and_nothing_is_parked(bench, monkeypatch, where):
    first = bench.accept("first")
    full = [DiskFull("/state")] * 3
    if where == "add":
        bench.strategy.errors["first"] = list(full)
    else:
        does = getattr(bench.queue, where)

        def fails(*given, **more):
            if full:
                raise full.pop()
            return does(*given, **more)

        monkeypatch.setattr(bench.queue, where, fails)
    async with bench.running():
        await bench.idle()
    view = bench.view(first)
    assert (view["status"], view["attempts"]) == ("indexed", 1)


# ---------------------------------------------------------------- the model is away


async def test_a_document_waits_for_the_model_and_goes_first_again(bench):
    bench.accept("first")
    bench.accept("second")
    bench.strategy.errors["first"] = [ModelUnavailable("away"), ModelTimeout(deadline_s=1.0)]
    async with bench.running():
        await bench.idle()
    assert bench.strategy.added == ["first", "second"]
    assert bench.documents.counts()["indexed"] == 2


async def test_the_wait_for_the_model_shows_as_a_step_and_the_document_as_queued_with_the_reason(bench, monkeypatch):
    monkeypatch.setattr(progress, "FIRST_WAIT_S", 30.0)
    first = bench.accept("first")
    bench.strategy.errors["first"] = [ModelUnavailable("away")]
    async with bench.running():
        await bench.step("waiting for the model")
        await until(lambda: bench.strategy.settled)
        await bench.step("waiting for the model")
        assert (bench.view(first)["status"], bench.view(first)["code"]) == ("queued", "model_unavailable")


async def test_the_third_attempt_in_vain_parks_the_document_with_reason_and_attempts(bench):
    first = bench.accept("first")
    bench.accept("second")
    bench.strategy.errors["first"] = [ModelUnavailable("away")] * 3
    async with bench.running():
        await bench.idle()
    view = bench.view(first)
    assert (view["status"], view["code"], view["reason"], view["attempts"]) == ("parked", "model_unavailable", "away", 3)
    assert bench.strategy.added == ["second"]


async def test_without_budget_for_repeats_the_first_failure_parks(make):
    bench = make(reserve=0)
    first = bench.accept("first")
    bench.strategy.errors["first"] = [ModelUnavailable("away")]
    async with bench.running():
        await bench.idle()
    assert (bench.view(first)["status"], bench.view(first)["attempts"]) == ("parked", 1)


async def test_what_the_model_server_asks_to_wait_is_kept(bench):
    accepted = bench.accept("first")
    error = ModelUnavailable("busy")
    error.retry_after_s = 900.0
    bench.strategy.errors["first"] = [error]
    async with bench.running():
        await bench.step("waiting for the model")
    assert 880 < bench.queue.due_in_s() <= 900
    assert bench.strategy.started == ["first"]
    assert bench.view(accepted)["status"] == "queued"


async def test_the_chunk_that_could_not_be_done_is_named(bench):
    first = bench.accept("first")
    error = ModelReplyError("most passages could not be read", next_step="use another model")
    error.chunk_id = "d:7"
    bench.strategy.errors["first"] = [error]
    async with bench.running():
        await bench.idle()
    view = bench.view(first)
    assert (view["code"], view["failed_chunk"], view["attempts"]) == ("model_reply_error", "d:7", 1)


async def test_shortfalls_and_cost_are_kept_with_a_document_that_is_indexed(bench):
    first = bench.accept("first")
    bench.strategy.outcome = Added(Cost(3, 40, 20), (Shortfall("low_yield", "1 of 1 passages gave no entity"),))
    async with bench.running():
        await bench.idle()
    assert (bench.view(first)["status"], bench.view(first)["shortfalls"][0]["code"]) == ("indexed", "low_yield")
    assert bench.queue.get(first.job_id)["calls"] == 3
    assert bench.worker.rates.calls == 3.0


async def test_what_documents_took_is_remembered_for_the_next_start(bench):
    bench.accept("first")
    async with bench.running():
        await bench.idle()
    again = bench.new_worker()
    bench.worker = again
    async with bench.running():
        await bench.idle()
    assert again.rates.chunks == 1.0


# ---------------------------------------------------------------- several at once, stop, stopping


async def test_so_many_documents_are_worked_on_at_once_and_no_more(make):
    bench = make(workers=3)
    bench.strategy.gate.clear()
    for name in "abcdef":
        bench.accept(name)
    async with bench.running():
        await until(lambda: bench.strategy.at_once == 3)
        bench.strategy.gate.set()
        await bench.idle()
    assert bench.strategy.most_at_once == 3
    assert sorted(bench.strategy.added) == list("abcdef")
    assert bench.documents.counts()["indexed"] == 6


async def test_a_job_that_is_stopped_leaves_nothing_and_the_next_one_is_done(bench):
    first, second = bench.accept("first"), bench.accept("second")
    bench.strategy.gate.clear()
    async with bench.running():
        await until(lambda: bench.strategy.started == ["first"])
        bench.queue.cancel(first.job_id)
        bench.worker.stop((first.job_id,))
        bench.strategy.gate.set()
        await bench.idle()
    assert (bench.view(first)["code"], bench.view(first)["chunks"]) == ("cancelled", 0)
    assert bench.view(second)["status"] == "indexed"


async def test_leases_are_renewed_while_a_document_takes_its_time(bench, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.001)
    first = bench.accept("first")
    bench.strategy.gate.clear()
    renewed = []
    monkeypatch.setattr(bench.queue, "renew", renewed.append)
    async with bench.running():
        await until(lambda: renewed)
    assert renewed[0] == (first.job_id,)


async def test_a_cancelled_worker_stops_the_thread_that_reports_to_it(bench):
    bench.accept("first")
    async with bench.running():
        await bench.idle()
        bench.strategy.progress("extract", 1, 2)
    with pytest.raises(StoppingError):
        bench.strategy.progress("extract", 2, 2)


async def test_a_restart_goes_on_with_what_was_under_way(bench):
    first = bench.accept("first")
    bench.strategy.gate.clear()
    async with bench.running():
        await until(lambda: bench.strategy.started)
    bench.strategy.gate.set()
    bench.worker = bench.new_worker()
    async with bench.running():
        await bench.idle()
    assert (bench.view(first)["status"], bench.view(first)["attempts"]) == ("indexed", 1)


# ---------------------------------------------------------------- settle on demand, refine when quiet


async def test_a_settle_on_demand_says_what_went_wrong_and_is_made_up_for(bench):
    async with bench.running():
        await bench.idle()
        bench.strategy.errors["settle"] = [ValueError("once")]
        assert isinstance(await bench.worker.settle(), ValueError)
        await bench.idle()
    assert bench.strategy.settled == 2


async def test_settles_on_demand_that_wait_for_one_are_done_by_the_next(bench):
    assert await asyncio.gather(*(bench.worker.settle() for _ in range(8))) == [None] * 8
    assert bench.strategy.settled == 2


async def test_a_receipt_is_finished_by_the_settle_after_the_deletion(bench):
    removed = bench.documents.remove(bench.accept("first").document_id)
    assert await bench.worker.settle() is None
    assert bench.receipts.get(removed.receipt_id).erased
    assert (bench.told, bench.withdrawn) == (1, 1)
    await bench.worker.settle()
    assert (bench.told, bench.withdrawn) == (2, 1)


async def test_what_could_not_be_erased_is_tried_again(bench, monkeypatch):
    removed = bench.documents.remove(bench.accept("first").document_id)
    answers = [False, True]
    monkeypatch.setattr(bench.database, "erase", lambda: answers.pop(0) if answers else True)
    error = await bench.worker.settle()
    assert "could not be erased" in str(error)
    assert not bench.receipts.get(removed.receipt_id).erased
    async with bench.running():
        await bench.idle()
    assert bench.receipts.get(removed.receipt_id).erased


async def test_texts_are_refined_one_after_the_other_when_all_is_quiet(bench):
    bench.strategy.stale = 3
    bench.accept("first")
    async with bench.running():
        await until(lambda: bench.strategy.stale == 0)
    assert bench.strategy.refined == 3
    assert bench.told == 4  # after the settle, and after each refinement


async def test_documents_are_indexed_while_the_model_refines(bench):
    held = asyncio.Event()

    async def refine(progress):
        await held.wait()
        bench.strategy.stale = 0
        return Cost()

    bench.strategy.refine, bench.strategy.stale = refine, 1
    async with bench.running():
        await until(lambda: bench.worker.idle)
        first = bench.accept("first")
        bench.worker.wake()
        await bench.idle()
        assert bench.view(first)["status"] == "indexed"
        held.set()
        await until(lambda: bench.strategy.stale == 0)


async def test_a_refinement_that_fails_waits_and_the_edge_counts_as_settled(bench):
    bench.strategy.stale = 1
    bench.strategy.errors["refine"] = [ModelUnavailable("away")] * 2
    async with bench.running():
        await until(lambda: bench.strategy.refined == 1)
        await bench.idle()


async def stopped_thrice_while_it_is_added(bench):
    accepted = bench.accept("first")
    bench.strategy.gate.clear()
    for stops in range(3):
        async with bench.running():
            await until(lambda stops=stops: len(bench.strategy.started) == stops + 1)
        bench.worker = bench.new_worker()
    bench.strategy.gate.set()
    async with bench.running():
        await bench.idle()
    return bench.view(accepted)


async def test_a_document_that_is_stopped_in_an_orderly_way_however_often_is_not_held_to_have_crashed(bench):
    view = await stopped_thrice_while_it_is_added(bench)
    assert (view["status"], view["attempts"]) == ("indexed", 1)


async def test_without_the_release_at_a_stop_it_would_be(bench, monkeypatch):
    """The null control: stops that nobody notes look like crashes."""
    monkeypatch.setattr(bench.queue, "release", lambda: None)
    view = await stopped_thrice_while_it_is_added(bench)
    assert (view["status"], view["code"], view["attempts"]) == ("parked", "crashed", 3)


async def test_crashes_are_no_attempts_at_a_model_that_is_away(bench):
    first = bench.accept("first")
    for _ in range(2):
        bench.queue.take_next()
        bench.queue.recover()
    bench.strategy.errors["first"] = [ModelUnavailable("away")] * 2
    async with bench.running():
        await bench.idle()
    assert (bench.view(first)["status"], bench.view(first)["attempts"]) == ("indexed", 5)


async def test_what_was_under_way_when_the_process_died_is_tried_alone_and_first(make):
    bench = make(workers=3)
    for name in "abcd":
        bench.accept(name)
    for _ in range(2):
        bench.queue.take_next()
    bench.queue.recover()
    bench.strategy.gate.clear()
    async with bench.running():
        await until(lambda: bench.strategy.started == ["a"])
        bench.worker.wake()
        bench.strategy.gate.set()
        await bench.idle()
    assert bench.strategy.started[:2] == ["a", "b"]
    assert sorted(bench.strategy.started) == list("abcd")


async def test_no_log_line_of_the_write_path_quotes_an_error(bench, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    bench.accept("first")
    bench.strategy.stale = 1
    errors = [ValueError("a canary of a document")]
    bench.strategy.errors |= {"first": list(errors), "settle": list(errors), "refine": list(errors)}
    take_next = bench.queue.take_next

    def take(held, **more):
        if errors:
            raise errors.pop()
        return take_next(held, **more)

    monkeypatch.setattr(bench.queue, "take_next", take)
    async with bench.running():
        await until(lambda: bench.strategy.refined == 1)
    assert caplog.text.count("ValueError") >= 4
    assert "canary" not in caplog.text
