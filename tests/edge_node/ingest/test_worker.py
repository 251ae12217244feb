"""The write path under errors: whatever happens to one document or one settle, the edge goes on."""

import asyncio
import contextlib
import logging

import pytest

from edge_node.ingest import worker as module
from edge_node.ingest.worker import Chunking, Step, StoppingError, Worker, remaining_s
from edge_node.store.database import Database
from edge_node.store.documents import DocumentStore
from edge_node.strategies.base import Cost
from shared.clock import SystemClock
from shared.errors import ModelUnavailable
from shared.models.fake import WordTokenizer
from tests.support.waiting import until


class Strategy:
    """Records what is added; ``errors`` are raised in turn by documents whose text holds the key, or by "settle"."""

    def __init__(self):
        self.errors = {}
        self.added = []
        self.settled = 0
        self.unfinished = False
        self.progress = None

    def fail(self, key):
        if self.errors.get(key):
            raise self.errors[key].pop(0)

    async def add(self, chunks, progress):
        self.progress = progress
        for key in self.errors:
            if key in chunks[0].text:
                self.fail(key)
        self.added.append(chunks[0].text)
        return Cost()

    async def settle(self, progress):
        self.fail("settle")
        self.settled += 1
        return Cost()


class Bench:
    """A worker on a store, with a strategy that fails as told."""

    def __init__(self, folder):
        self.database = Database(folder / "edge.db")
        self.documents = DocumentStore(self.database, SystemClock())
        self.strategy = Strategy()
        self.told = 0
        self.worker = Worker(
            self.documents, self.strategy, WordTokenizer(), Chunking(100, 10), settle_every=100, on_settled=self.on_settled
        )

    async def on_settled(self):
        self.told += 1

    def accept(self, text):
        return self.documents.accept(f"{text}.txt", text.encode(), reader="text.txt").document_id

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


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FIRST_WAIT_S", 0.001)
    opened = Bench(tmp_path)
    yield opened
    opened.database.close()


async def test_an_unforeseen_error_parks_its_document_without_its_content_and_the_next_is_indexed(bench, caplog):
    bad, good = bench.accept("bad"), bench.accept("good")
    bench.strategy.errors["bad"] = [ValueError("bad is secret")]
    async with bench.running():
        await bench.idle()
    view = bench.documents.get(bad)
    assert (view["status"], view["code"], view["reason"]) == ("parked", "internal", "an error inside the edge (ValueError)")
    assert "send it again" in view["next_step"]
    assert bench.documents.get(good)["status"] == "indexed"
    assert any(record.exc_info for record in caplog.records if record.levelno == logging.ERROR)


async def test_a_settle_that_fails_is_tried_again_until_its_documents_are_indexed(bench):
    first = bench.accept("first")
    bench.strategy.errors["settle"] = [ValueError("once"), ValueError("twice")]
    async with bench.running():
        await bench.idle()
    assert bench.documents.get(first)["status"] == "indexed"
    assert (bench.strategy.settled, bench.told) == (1, 1)


async def test_new_documents_are_indexed_while_a_failed_settle_waits(bench, monkeypatch):
    monkeypatch.setattr(module, "FIRST_WAIT_S", 30.0)
    bench.accept("first")
    bench.strategy.errors["settle"] = [ValueError("once")]
    async with bench.running():
        await until(lambda: bench.worker.now.step == "waiting to settle again")
        bench.accept("second")
        bench.worker.wake()
        await until(lambda: bench.strategy.added == ["first", "second"])
        assert not bench.worker.idle


async def test_a_document_waits_for_the_model_and_goes_first_again(bench):
    bench.accept("first")
    bench.accept("second")
    bench.strategy.errors["first"] = [ModelUnavailable("away"), ModelUnavailable("away")]
    async with bench.running():
        await bench.idle()
    assert bench.strategy.added == ["first", "second"]
    assert bench.documents.counts()["indexed"] == 2


async def test_the_wait_for_the_model_shows_as_a_step_and_the_document_as_queued(bench, monkeypatch):
    monkeypatch.setattr(module, "FIRST_WAIT_S", 30.0)
    bench.accept("first")
    bench.strategy.errors["first"] = [ModelUnavailable("away")]
    async with bench.running():
        await until(lambda: bench.worker.now.step == "waiting for the model")
        assert bench.documents.counts()["queued"] == 1


async def test_the_third_attempt_in_vain_parks_the_document_with_the_reason(bench):
    first = bench.accept("first")
    bench.accept("second")
    bench.strategy.errors["first"] = [ModelUnavailable("away")] * 3
    async with bench.running():
        await bench.idle()
    view = bench.documents.get(first)
    assert (view["status"], view["code"], view["reason"]) == ("parked", "model_unavailable", "away")
    assert bench.strategy.added == ["second"]


async def test_an_error_of_the_store_starts_the_work_anew_and_loses_nothing(bench, monkeypatch):
    first = bench.accept("first")
    errors = [OSError("disk full")]
    take_next = bench.documents.take_next

    def take():
        if bench.strategy.added and errors:
            raise errors.pop()
        return take_next()

    monkeypatch.setattr(bench.documents, "take_next", take)
    async with bench.running():
        await bench.idle()
    assert not errors
    assert bench.documents.get(first)["status"] == "indexed"


async def test_a_cancelled_worker_stops_the_thread_that_reports_to_it(bench):
    bench.accept("first")
    async with bench.running():
        await bench.idle()
        bench.strategy.progress("extract", 1, 2)
    with pytest.raises(StoppingError):
        bench.strategy.progress("extract", 2, 2)


async def test_the_end_of_a_step_is_estimated_from_its_pace(bench):
    assert bench.worker.eta_s is None
    bench.worker.now = Step("extract", 1, 1)
    assert bench.worker.eta_s == 0.0
    assert remaining_s(8.0, 2, 3) == 4.0


async def test_a_settle_that_went_on_without_the_model_is_tried_again_while_the_edge_counts_as_settled(bench, monkeypatch):
    monkeypatch.setattr(module, "UNFINISHED_RETRY_S", 0.01)
    bench.strategy.unfinished = True
    async with bench.running():
        await until(lambda: bench.strategy.settled >= 3)
        bench.strategy.unfinished = False
        await until(lambda: bench.worker.idle)
