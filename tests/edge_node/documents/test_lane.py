"""However many documents are read at once, and whichever is read first: what is stored is the same."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.database.schema import Database
from edge_node.documents import progress
from edge_node.documents.chunking import Cutter
from edge_node.documents.jobs import JobQueue
from edge_node.documents.lane import Lane
from edge_node.documents.readers.pool import ReadsHere
from edge_node.documents.receipts import ReceiptStore
from edge_node.documents.store import DocumentStore
from edge_node.documents.worker import Background, Worker
from edge_node.extraction.nlp import MODEL, parser_of
from edge_node.graph.store import DRIFT
from edge_node.records import Added, Cost
from edge_node.settings import IndexingSettings
from shared.errors import ModelUnavailable
from shared.limits import RetryBudget
from shared.models.fake import WordTokenizer
from shared.ports import SystemClock
from tests.support.running_edge import running_edge
from tests.support.storing import serve
from tests.support.waiting import until

SETTLED = "settled"
ENDS = ("good", "good", "good", "bad")


class Journal:
    """Implements Indexer: notes in which order documents are written, and after which of them all is settled.

    ``told``: of each document, whether it is read later than the next one, and how that ends; one that is ``away`` does at the second time.
    """

    def __init__(self, database, told, *, workers):
        self.database, self.told, self.workers = database, told, workers
        self.read = [asyncio.Event() for _ in told]
        self.written, self.tried, self.stale = [], set(), 0

    async def add(self, chunks, progress, turn):
        number = int(chunks[0].text)
        is_late, end = self.told[number]
        is_again = number in self.tried
        self.tried.add(number)
        if is_late and self.workers > 1 and number + 1 < len(self.told) and not self.told[number + 1][0]:
            await self.read[number + 1].wait()
        self.read[number].set()
        if end == "bad":
            raise ValueError
        if end == "away" and not is_again:
            raise ModelUnavailable("away")
        await turn()
        await asyncio.to_thread(serve, self.database, chunks[0].document_id, chunks[0].text)
        self.written.append(number)
        return Added()

    async def settle(self, progress):
        if self.written and self.written[-1] != SETTLED:
            self.written.append(SETTLED)

    async def refine(self, progress):
        return Cost()


async def lived(told, *, workers):
    """The journal of an edge that finds these documents in its queue."""

    async def nothing(*, withdrawn):
        pass

    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "edge.db")
        documents, queue = DocumentStore(database, SystemClock()), JobQueue(database, SystemClock())
        for number in range(len(told)):
            documents.accept(f"{number}.txt", str(number).encode(), reader="text.txt")
        journal, chosen = Journal(database, told, workers=workers), IndexingSettings(workers=workers, settle_every=3)
        cutter, budget = Cutter(ReadsHere(), WordTokenizer(), 100, 10), RetryBudget(share=0.0, reserve=100)
        keep = ReceiptStore(database), journal, cutter, chosen, Background()
        worker = Worker(queue, *keep, retries=budget, on_settled=nothing)
        task = asyncio.create_task(worker.run())
        await until(lambda: worker.idle and documents.counts()["queued"] == documents.counts()["running"] == 0)
        task.cancel()
        await asyncio.wait([task])
        database.close()
        return journal.written


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(ENDS)), max_size=8), st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_documents_are_written_and_settled_as_by_one_worker_whichever_is_read_first(told, workers):
    assert asyncio.run(lived(told, workers=workers)) == asyncio.run(lived(told, workers=1))


@given(st.lists(st.tuples(st.booleans(), st.sampled_from((*ENDS, "away"))), max_size=8), st.integers(2, 4))
@settings(max_examples=15, deadline=None)
def test_a_document_that_waits_for_the_model_is_written_before_those_that_were_read_meanwhile(told, workers):
    with patch.object(progress, "FIRST_WAIT_S", 0.001):
        written = [one for one in asyncio.run(lived(told, workers=workers)) if one != SETTLED]
    assert written == [number for number, (_, end) in enumerate(told) if end != "bad"]


async def test_null_control_without_a_turn_what_is_read_first_is_written_first(monkeypatch):
    told = [(True, "good"), (False, "good")]
    assert await lived(told, workers=2) == [0, 1, SETTLED]
    begin = Lane.begin

    def without_turns(lane, job, work):
        begin(lane, job, work)
        lane._under_way[job.job_id].turn.set()

    monkeypatch.setattr(Lane, "begin", without_turns)
    monkeypatch.setattr(Journal, "add", reading_until_the_next_is_written(Journal.add))
    assert await lived(told, workers=2) == [1, 0, SETTLED]


def reading_until_the_next_is_written(add):
    async def slow(journal, chunks, progress, turn):
        if chunks[0].text == "0":
            await until(lambda: journal.written)
        return await add(journal, chunks, progress, turn)

    return slow


# ------------------------------------------------------------ real texts, parsed by real processes

OF_CHANCE = {"job_id", "created_at", "ended_at", "lease_until", "not_before"}  # columns that time and chance fill
KEPT_META = ("version", "memories_version", DRIFT)


def rows(folder):
    """All that a store holds, by table, in the order of its rows."""
    found = {}
    with contextlib.closing(sqlite3.connect(folder / "edge.db")) as store:
        for name, sql in store.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
            place = "" if "WITHOUT ROWID" in sql else "rowid AS place, "
            cursor = store.execute(f"SELECT {place}* FROM {name}")
            columns = [column for column, *_ in cursor.description]
            found[name] = [{key: value for key, value in zip(columns, row, strict=True) if key not in OF_CHANCE} for row in cursor]
    found["meta"] = [row for row in found["meta"] if row["key"] in KEPT_META]
    return found


async def stored(folder, texts, *, workers, meanwhile):
    """What an edge makes of some texts that it finds in its queue."""
    folder.mkdir()
    database = Database(folder / "edge.db")
    documents = DocumentStore(database, SystemClock())
    for path in texts:
        documents.accept(path.name, path.read_bytes(), reader=path.name)
    database.close()
    async with running_edge(folder, strategy="dgrag", workers=workers, settle_every=3) as edge:
        await meanwhile(edge)
        await edge.settled()
        await until(lambda: not edge.node.strategy.stale and not edge.node.worker.news.now.step)
    return rows(folder)


@pytest.mark.process
async def test_real_texts_are_stored_alike_by_one_process_and_by_two_that_are_killed(tmp_path, root):
    texts = sorted((root / "deploy" / "samples").glob("*/*.md"))[:9]
    killed = []

    async def killing(edge):
        parsers = parser_of(MODEL, 2)
        for least in (0, 4):  # documents that were taken: those that the first one hit have ended
            await until(lambda least=least: edge.node.documents.counts()["queued"] <= 9 - least and parsers.pids)
            os.kill(parsers.pids[-1], signal.SIGKILL)
            killed.append(least)

    async def nothing(edge):
        pass

    by_one = await stored(tmp_path / "one", texts, workers=1, meanwhile=nothing)
    by_two = await stored(tmp_path / "two", texts, workers=2, meanwhile=killing)
    assert len(killed) == 2
    assert len(by_one["documents"]) == 9
    for table, expected in by_one.items():
        assert by_two[table] == expected, table
