"""A document's file is whole or gone, whatever happens while it is written, dropped, deleted or read again."""

import random
import sqlite3
import time
from contextlib import closing, suppress
from functools import partial

import pytest

from edge_node.database.schema import Database
from edge_node.documents.jobs import JobQueue
from edge_node.documents.originals import Rereading, Retention, drop_originals, original_of, queue_rereading
from edge_node.documents.receipts import ReceiptStore
from edge_node.documents.store import DocumentStore
from edge_node.records import document_id
from shared.errors import DiskFailed, DiskFull, OriginalDropped
from shared.ports import SystemClock
from tests.faults.forks import Child, Strace, run
from tests.faults.kills import WRITES, acked, writes_of
from tests.support.storing import serve

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("strace")]

SIZES = {"small.txt": 3_000, "middle.txt": 40_000, "large.txt": 200_000, "deleted.txt": 60_000}
FILES = {name: random.Random(name).randbytes(size) for name, size in SIZES.items()}
LARGEST = 100_000  # bytes of a file that stays
STEPS = (*[("accept", name) for name in FILES], ("remove", "deleted.txt"), ("drop", ""), ("reread", ""))


def identity_of(name):
    return document_id(name, FILES[name])


def do(database, step, name):
    """One thing that an edge does with files; doing it twice is doing it once."""
    documents, queue = DocumentStore(database, SystemClock()), JobQueue(database, SystemClock())
    match step:
        case "accept":
            documents.accept(name, FILES[name], reader=name)
            while job := queue.take_next():
                serve(database, job.document.document_id)
                queue.finish([job.job_id])
            queue.finish(queue.recover())
        case "remove":
            if database.row("SELECT 1 FROM documents WHERE name = ?", (name,)):
                documents.remove(identity_of(name))
            erase(database)
        case "drop":
            drop_originals(database, Retention(max_bytes=LARGEST), now=0.0)
            erase(database)
        case "reread":
            queue_rereading(database, Rereading(all=True), frozenset(), now=0.0)


def erase(database):
    """As a settle does; where the disk refuses, it is tried again."""
    receipts = ReceiptStore(database)
    unfinished = receipts.unfinished()
    if not receipts.erase(receipts.unerased()):
        raise DiskFull("the store")
    receipts.settled(unfinished, erased=True)


def live(folder, say):
    """All steps; one that the disk refuses is tried again."""
    folder.mkdir(exist_ok=True)
    database = persist(lambda: Database(folder / "edge.db"))
    for number, (step, name) in enumerate(STEPS):
        persist(partial(do, database, step, name), say)
        say(f"ack {number}")
    database.close()


def persist(work, say=lambda line: None):
    while True:
        with suppress(DiskFull, DiskFailed):
            return work()
        say("refused")
        time.sleep(0.005)


def check(folder, done):
    """What the first ``done`` steps promise."""
    database = Database(folder / "edge.db")
    stored = {row["name"]: row["document_id"] for row in database.rows("SELECT name, document_id FROM documents")}
    for number, (step, name) in enumerate(STEPS):
        if step == "accept" and number < done and name != "deleted.txt":
            assert stored[name] == identity_of(name)
    for name, identity in stored.items():
        try:
            assert original_of(database, identity).raw == FILES[name]
        except OriginalDropped:
            assert (name, done >= len(FILES)) == ("large.txt", True)
            assert database.row("SELECT 1 FROM chunks WHERE document_id = ?", (identity,))
    if done > STEPS.index(("drop", "")):
        with pytest.raises(OriginalDropped):
            original_of(database, stored["large.txt"])
    is_removed = done > STEPS.index(("remove", "deleted.txt"))
    if is_removed:
        assert "deleted.txt" not in stored
        assert all(receipt.erased for receipt in ReceiptStore(database).of_document(identity_of("deleted.txt")))
        assert ReceiptStore(database).of_document(identity_of("deleted.txt"))
    database.close()
    if is_removed:
        assert FILES["deleted.txt"][1_000:1_032] not in b"".join(path.read_bytes() for path in folder.glob("edge.db*"))
    with closing(sqlite3.connect(folder / "edge.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_edge_that_is_killed_at_any_write_has_each_file_whole_and_ends_as_any_other(tmp_path, kills):
    count = writes_of(partial(live, tmp_path / "counted"), tmp_path / "trace")
    check(tmp_path / "counted", len(STEPS))
    for point in range(kills):
        folder, at = tmp_path / str(point), 1 + count * point // kills
        child = Child(partial(live, folder))
        strace = Strace(child, "-e", WRITES, "-e", f"inject=pwrite64:signal=SIGKILL:when={at}")
        child.go()
        said = list(child.lines(limit_s=120))
        strace.wait()
        assert child.status() == -9
        if (folder / "edge.db").exists():
            check(folder, acked(said))
        assert run(partial(live, folder))[1] == 0
        check(folder, len(STEPS))


@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
def test_a_disk_that_fails_for_a_while_costs_no_file(tmp_path, fault):
    count = writes_of(partial(live, tmp_path / "counted"), tmp_path / "trace")
    refused = 0
    for point in range(1, 6):
        folder, at = tmp_path / str(point), count * point // 6
        child = Child(partial(live, folder))
        strace = Strace(child, "-e", WRITES, "-e", f"inject=pwrite64:error={fault}:when={at}..{at + 20}")
        child.go()
        said = list(child.lines(limit_s=120))
        strace.wait()
        assert child.status() == 0
        refused += "refused" in said
        check(folder, len(STEPS))
    assert refused
