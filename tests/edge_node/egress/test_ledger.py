"""The egress ledger on disk (goal P1)."""

import sqlite3
from contextlib import closing
from dataclasses import astuple, replace

import pytest

from edge_node.database.backup import back_up
from edge_node.database.schema import Database
from edge_node.egress.ledger import (
    COLUMNS,
    RECORDS,
    START,
    EgressRecord,
    Ledger,
    Spent,
    _evidence,
    entry_of,
    hash_of,
    ledger_of,
    read_entries,
    read_faults,
)
from edge_node.graph.store import GraphStore
from edge_node.maintenance import open_store, restore
from shared.errors import NotFound, StoreError
from shared.ports import SystemClock
from shared.wire import Countersigned, Head
from tests.support.partition import commit_texts
from tests.support.storing import SetClock

TEXTS = ("kind", "recipient", "requester", "purpose", "rule", "subject", "items", "sha256", "previous", "hash")


@pytest.fixture
def clock():
    return SetClock(1000)


@pytest.fixture
def store(tmp_path):
    database = Database(tmp_path / "edge.db")
    yield database
    database.close()


@pytest.fixture
def ledger(store, clock):
    return Ledger(store, clock)


def leave(ledger, n=1, **facts):
    facts = {"kind": "evidence", "requester": "bank", "items": ("d:0", "d:1"), **facts}
    return [ledger.record(EgressRecord(recipient="http://cloud", body=b"12345", **facts)) for _ in range(n)]


def tamper(path, sql):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)
        connection.commit()


def countersigned(epoch, entry):
    return Countersigned(head=Head(epoch=epoch, seq=entry.seq, hash=entry.hash), at=5.0, signature="s")


def test_a_record_is_on_disk_when_it_is_returned(ledger, store):
    [entry] = leave(ledger)
    with ledger_of(store.path) as other:
        assert list(read_entries(other)) == [entry]
    assert ledger.verify() == []


def test_records_are_numbered_without_a_gap_over_a_restart(ledger, store, clock):
    leave(ledger, 3)
    store.close()
    again = Database(store.path)
    leave(Ledger(again, clock), 2)
    assert [entry.seq for entry in Ledger(again, clock).entries()] == [1, 2, 3, 4, 5]
    assert Ledger(again, clock).verify() == []
    again.close()


def test_pages_follow_each_other(ledger):
    leave(ledger, 5)
    assert [entry.seq for entry in ledger.entries(limit=2)] == [1, 2]
    assert [entry.seq for entry in ledger.entries(after=2, limit=2)] == [3, 4]


def test_what_a_requester_was_sent_is_counted_by_time_and_only_evidence_counts(ledger, clock):
    leave(ledger, 2)
    leave(ledger, requester="ward")
    leave(ledger, kind="refusal")
    clock.time = 2000
    leave(ledger)
    assert ledger.spent("bank", since=0) == Spent(replies=3, passages=6, bytes=15)
    assert ledger.spent("bank", since=1500) == Spent(1, 2, 5)
    assert ledger.spent("nobody", since=0) == Spent(0, 0, 0)
    assert ledger.spent(None, since=0) == Spent(replies=4, passages=8, bytes=20)


@pytest.mark.parametrize("column", TEXTS)
@pytest.mark.parametrize("value", ["'x'", "x'ff00'", "''"])
def test_a_text_that_is_edited_in_the_file_is_found_whatever_it_becomes(ledger, store, column, value):
    leave(ledger, 3, purpose="audit", rule="r", subject="s")
    tamper(store.path, f"UPDATE egress SET {column} = {value} WHERE seq = 2")
    assert 2 in {fault.seq for fault in ledger.verify()}


@pytest.mark.parametrize("sql", ["at = at + 0.001", "bytes = 4", "at = 'x'", "bytes = x'00'", "seq = 9", "at = 1e999"])
def test_a_number_that_is_edited_in_the_file_is_found(ledger, store, sql):
    leave(ledger, 3)
    tamper(store.path, f"UPDATE egress SET {sql} WHERE seq = 2")
    assert ledger.verify()


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_a_deleted_record_is_found_the_last_one_by_what_the_cloud_has_seen(ledger, store, seq):
    entries = leave(ledger, 3)
    ledger.countersigned(countersigned(store.meta("epoch"), entries[-1]))
    tamper(store.path, f"DELETE FROM egress WHERE seq = {seq}")
    assert ledger.verify()


def test_a_cut_tail_whose_heads_are_deleted_too_is_found_with_what_the_cloud_itself_says(ledger, store):
    entries = leave(ledger, 4)
    ledger.countersigned(countersigned(store.meta("epoch"), entries[-1]))
    tamper(store.path, "DELETE FROM egress WHERE seq > 2")
    tamper(store.path, "DELETE FROM egress_heads")
    with ledger_of(store.path) as connection:
        assert read_faults(connection) == []
        assert read_faults(connection, [Head(epoch="e", seq=4, hash=entries[-1].hash)])
        assert read_faults(connection, [Head(epoch="e", seq=2, hash=entries[-1].hash)])


def rewritten(path, change, epoch=None):
    """Whoever owns the file writes a story of their own: chained anew, without a trace of what the cloud has countersigned."""
    with closing(Database(path)) as database, database.write() as tx:
        last, records = None, [entry_of(row) for row in tx.execute(f"{RECORDS} ORDER BY seq")]
        tx.execute("DELETE FROM egress")
        tx.execute("DELETE FROM egress_heads")
        for entry in change(records):
            entry = replace(entry, seq=last.seq + 1 if last else 1, previous=last.hash if last else START)
            last = replace(entry, hash=hash_of(entry))
            tx.execute(f"INSERT INTO egress ({COLUMNS}) VALUES ({', '.join('?' * 13)})", astuple(last))
        if epoch:
            tx.execute("UPDATE meta SET value = ? WHERE key = 'epoch'", (epoch,))


STORIES = {
    "an edited record": (lambda records: [replace(r, requester="nobody") if r.seq == 3 else r for r in records], None, 3),
    "records left out": (lambda records: [*records[:1], *records[5:], *records[-1:] * 4], None, 3),
    "a cut tail under a new epoch": (lambda records: records[:5], "feed", 6),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_story_that_was_written_anew_and_shown_to_the_cloud_again_is_found_by_the_heads_of_before(ledger, store, story):
    change, epoch, first = STORIES[story]
    seen = []
    for entry in [one for n in range(10) for one in leave(ledger, subject=f"r{n}")]:
        seen += [Head(epoch=store.meta("epoch"), seq=entry.seq, hash=entry.hash)] * (entry.seq % 3 == 0)
    rewritten(store.path, change, epoch)
    leave(ledger, 8)
    newest = ledger.unseen()
    heads = sorted([*seen, newest], key=lambda head: (head.epoch, head.seq))
    with ledger_of(store.path) as connection:
        assert read_faults(connection, [newest]) == []  # the control: the newest head alone proves nothing
        assert [fault.seq for fault in read_faults(connection, heads)] == [first]


def test_records_that_a_restore_has_lost_are_a_fault_of_their_own_and_none_that_it_has_kept(ledger, store, clock, tmp_path):
    kept, former = leave(ledger, 2), store.meta("epoch")
    back_up(tmp_path, tmp_path / "backup")
    lost = leave(ledger, 2)
    restore(tmp_path / "backup", tmp_path / "new")
    with closing(Database(tmp_path / "new" / "edge.db")) as again:
        leave(Ledger(again, clock), 3)
        newest = Ledger(again, clock).unseen()
    heads = [Head(epoch=former, seq=entry.seq, hash=entry.hash) for entry in (*kept, *lost)]
    with ledger_of(tmp_path / "new" / "edge.db") as connection:
        assert read_faults(connection, [*heads[:2], newest]) == []
        [fault] = read_faults(connection, [*heads, newest])
    assert (fault.seq, "lost when the store was restored" in fault.what) == (3, True)


def test_only_what_the_cloud_has_not_seen_is_shown_to_it(ledger, store):
    assert ledger.unseen() is None
    *_, last = leave(ledger, 2)
    head = ledger.unseen()
    assert (head.epoch, head.seq, head.hash) == (store.meta("epoch"), 2, last.hash)
    ledger.countersigned(countersigned(head.epoch, last))
    leave(ledger, kind="head")
    assert ledger.unseen() is None
    leave(ledger)
    assert ledger.unseen().seq == 4


def test_a_head_of_another_history_may_be_this_stores_one_of_its_own_must_be_in_it(ledger, store):
    [entry] = leave(ledger)
    epoch = store.meta("epoch")
    assert ledger.holds(Head(epoch=epoch, seq=1, hash=entry.hash))
    assert ledger.holds(Head(epoch="another", seq=9, hash="0" * 64))
    assert not ledger.holds(Head(epoch=epoch, seq=2, hash=entry.hash))
    assert not ledger.holds(Head(epoch=epoch, seq=1, hash="0" * 64))


def test_a_restored_store_goes_on_with_its_chain_in_a_new_history(ledger, store, clock, tmp_path):
    leave(ledger, 2)
    former = store.meta("epoch")
    back_up(tmp_path, tmp_path / "backup")
    leave(ledger, 3)
    restore(tmp_path / "backup", tmp_path / "new")
    again = Database(tmp_path / "new" / "edge.db")
    restored = Ledger(again, clock)
    assert [entry.kind for entry in restored.entries()] == ["evidence", "evidence", "restored"]
    assert (restored.verify(), restored.entries()[-1].bytes) == ([], 0)
    assert again.meta("epoch") != former
    assert restored.unseen().seq == 3
    again.close()


def test_mending_a_store_leaves_its_ledger_alone(ledger, store, clock):
    leave(ledger, 3)
    commit_texts(GraphStore(store), {"s1": "about a"})
    store.close()
    tamper(store.path, "UPDATE egress SET requester = 'x' WHERE seq = 2")
    tamper(store.path, "UPDATE summaries SET text = 'forged'")
    mended = open_store(store.path, SystemClock())
    assert len(Ledger(mended, clock).entries()) == 3
    assert [fault.seq for fault in Ledger(mended, clock).verify()] == [2]
    mended.close()


def test_erasing_what_was_deleted_keeps_the_numbers(ledger, store):
    leave(ledger, 3)
    assert store.erase()
    assert [entry.seq for entry in ledger.entries()] == [1, 2, 3]
    assert ledger.verify() == []


def test_a_file_that_is_no_store_is_named(tmp_path):
    with pytest.raises(NotFound), ledger_of(tmp_path / "none.db"):
        pass
    (tmp_path / "bad.db").write_bytes(b"not a store" * 100)
    with pytest.raises(StoreError, match=r"bad\.db"), ledger_of(tmp_path / "bad.db") as connection:
        list(read_entries(connection))


def test_what_one_name_had_is_found_without_a_look_at_the_others(store):
    where, values = _evidence("bank", 0.0)
    [plan] = store.rows(f"EXPLAIN QUERY PLAN SELECT count(*) FROM egress {where}", values)
    assert "SEARCH egress USING INDEX egress_requester (requester=? AND at>?)" in plan["detail"]
