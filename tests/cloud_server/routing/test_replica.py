"""What holds of every replica: each delta once, in order, within bounds; and what is gone is gone."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing import replica
from cloud_server.routing.memories import MemoryStore
from cloud_server.routing.replica import packed, unpacked
from cloud_server.routing.summaries import SummaryStore
from shared.errors import NotFound, ResyncNeeded, StaleEpoch, TooLarge
from shared.records import Summary, SummaryDelta
from shared.vectors import unit
from shared.wire import MemoryBody, MemoryDelta

MOST = 3


def summaries(epoch, base, version, told, removals):
    upserts = tuple(Summary(key, text, 1, 2) for key, text in told.items())
    return SummaryDelta(epoch, base, version, upserts, tuple(removals))


def memories(epoch, base, version, told, removals):
    upserts = tuple(MemoryBody(memory_id=key, question=f"Who is {key}?", answer=text, direct=True) for key, text in told.items())
    return MemoryDelta(epoch=epoch, base_version=base, version=version, upserts=upserts, removals=tuple(removals))


@dataclass
class Kind:
    """A store of one kind, and how its rows are written and read."""

    store: Any
    make: Any
    table: str
    text: str
    removed: list

    def apply(self, base, version, *, epoch="e1", removals=(), edge="ward", verdicts=None, **told):
        vectors = np.eye(MOST + 1, dtype=np.float32)[: len(told)]
        return self.store.apply(edge, self.make(epoch, base, version, told, removals), vectors, verdicts)

    def rows(self):
        return [row for edge in self.store.edges() for row in self.store.load(edge)]

    def texts(self):
        return {self.store.key_of(row.body): getattr(row.body, self.text) for row in self.rows()}

    def verdicts(self):
        return {self.store.key_of(row.body): row.held_back for row in self.rows()}


@pytest.fixture
def database(database, clock):
    EdgeRegistry(database, clock).enrol("ward")
    EdgeRegistry(database, clock).enrol("bank")
    return database


@pytest.fixture(params=["summaries", "memories"])
def kind(request, database, clock):
    removed = []
    more = {"max_per_edge": MOST, "on_removed": lambda: removed.append(1)}
    if request.param == "summaries":
        return Kind(SummaryStore(database, clock, **more), summaries, "summaries", "text", removed)
    return Kind(MemoryStore(database, clock, **more), memories, "memories", "answer", removed)


def test_a_first_delta_is_a_snapshot_that_comes_back_as_it_was_told(kind):
    assert kind.apply(0, 1, a="Ann ø\n\u2028 Lee", b="Bo") == frozenset()
    rows = kind.rows()
    assert [(row.edge, getattr(row.body, kind.text), row.held_back) for row in rows] == [
        ("ward", "Ann ø\n\u2028 Lee", ""),
        ("ward", "Bo", ""),
    ]
    assert [row.vector.argmax() for row in rows] == [0, 1]
    assert (kind.store.known("ward"), kind.store.counts(), kind.removed) == (("e1", 1), {"ward": (2, 0)}, [])


def test_a_delta_changes_adds_and_removes(kind):
    kind.apply(0, 1, a="one", b="two")
    assert kind.apply(1, 2, a="new", c="three", removals=["b", "nobody"]) == {"b", "nobody"}
    assert (kind.texts(), kind.removed) == ({"a": "new", "c": "three"}, [1])


def test_what_is_both_removed_and_sent_stays(kind):
    kind.apply(0, 1, a="one")
    assert kind.apply(1, 2, a="new", removals=["a"]) == frozenset()
    assert kind.texts() == {"a": "new"}


def test_applying_twice_is_applying_once(kind):
    kind.apply(0, 1, a="one")
    assert [kind.apply(1, 2, b="two") for _ in range(2)] == [frozenset(), None]
    assert kind.texts() == {"a": "one", "b": "two"}


def test_an_older_version_never_overwrites_a_newer_one(kind):
    kind.apply(0, 5, a="new")
    assert [kind.apply(0, 3, a="old"), kind.apply(2, 5, a="old")] == [None, None]
    assert kind.texts() == {"a": "new"}


@pytest.mark.parametrize(("base", "version", "epoch"), [(2, 3, "e1"), (1, 9, "e2"), (7, 9, "e1")], ids=["gap", "epoch", "far"])
def test_a_delta_that_does_not_follow_asks_for_a_snapshot(kind, base, version, epoch):
    kind.apply(0, 1, a="one")
    with pytest.raises(ResyncNeeded) as caught:
        kind.apply(base, version, epoch=epoch, b="x")
    assert (caught.value.code, kind.texts()) == ("resync", {"a": "one"})


def test_a_snapshot_replaces_all_of_its_edge_and_of_no_other(kind):
    kind.apply(0, 1, edge="bank", z="loans")
    kind.apply(0, 1, a="one", b="two")
    assert kind.apply(0, 9, epoch="e2", b="new") == {"a"}
    assert kind.texts() == {"z": "loans", "b": "new"}
    assert kind.apply(0, 10, epoch="e2") == {"b"}
    assert kind.texts() == {"z": "loans"}


def test_a_late_delta_of_a_replaced_store_is_refused(kind):
    kind.apply(0, 8, a="old")
    kind.apply(0, 1, epoch="e2", a="new")
    for base in (8, 0):
        with pytest.raises(StaleEpoch):
            kind.apply(base, 9, a="late")
    assert kind.texts() == {"a": "new"}


def test_of_an_edges_former_stores_the_last_ones_are_known(kind, database, clock, monkeypatch):
    monkeypatch.setattr(replica, "RETIRED_KEPT", 3)
    for number in range(6):
        clock.seconds += 1
        kind.apply(0, 1, epoch=f"e{number}", a="one")
    assert [row["epoch"] for row in database.rows("SELECT epoch FROM retired_epochs ORDER BY epoch")] == ["e2", "e3", "e4"]
    with pytest.raises(StaleEpoch):
        kind.apply(0, 1, epoch="e4", a="one")


def test_more_than_the_quota_is_refused_as_a_whole(kind):
    kind.apply(0, 1, a="one", b="two")
    with pytest.raises(TooLarge):
        kind.apply(1, 2, c="three", d="four")
    assert set(kind.texts()) == {"a", "b"}
    kind.apply(1, 2, c="three", d="four", removals=["a"])
    assert set(kind.texts()) == {"b", "c", "d"}


def test_an_unknown_edge_tells_nothing(kind):
    with pytest.raises(NotFound):
        kind.apply(0, 1, edge="nobody")


def test_a_delta_whose_write_fails_leaves_no_trace(kind):
    kind.apply(0, 1, a="one")
    with pytest.raises(ValueError, match="zip"):
        kind.store.apply("ward", kind.make("e1", 1, 2, {"b": "two", "c": "three"}, ()), np.eye(1, dtype=np.float32))
    assert kind.texts() == {"a": "one"}
    assert kind.store.fits("ward", kind.make("e1", 1, 2, {}, ()))


@pytest.mark.parametrize("damage", ["{text} = 'forged'", "held_back = 'x'", "vector = ?", "crc = 77", "{number} = 7"])
def test_a_damaged_row_goes_and_its_edge_has_to_send_all(kind, database, damage, caplog):
    kind.apply(0, 1, a="one", b="two")
    told = damage.format(text=kind.text, number="entities" if kind.table == "summaries" else "direct")
    with database.write() as tx:
        tx.execute(f"UPDATE {kind.table} SET {told} WHERE {kind.store.columns.key} = 'a'", [b"\1\2\3\4"] * told.count("?"))
    kind.apply(0, 1, edge="bank", z="loans")
    assert [getattr(row.body, kind.text) for row in kind.store.load("ward")] == ["two"]
    assert "were damaged and are dropped" in caplog.text
    assert (len(kind.rows()), kind.store.known("ward"), kind.store.known("bank")) == (2, ("", 0), ("e1", 1))
    with pytest.raises(ResyncNeeded):
        kind.apply(1, 2, c="three")


def test_an_edge_that_is_expelled_leaves_nothing(kind, database, clock):
    kind.apply(0, 1, a="one", b="two")
    EdgeRegistry(database, clock).expel("ward")
    assert kind.rows() == []


def test_a_row_that_is_held_back_is_counted_and_judged_again(kind):
    kind.apply(0, 1, a="one", b="two", verdicts={"b": "near_duplicate"})
    assert (kind.store.counts(), kind.verdicts()) == ({"ward": (2, 1)}, {"a": "", "b": "near_duplicate"})
    kind.apply(1, 2, c="three", verdicts={"b": "", "a": "hub"})
    assert kind.verdicts() == {"a": "hub", "b": "", "c": ""}


def test_one_row_is_held_back_until_it_is_told_anew(kind):
    kind.apply(0, 1, a="one")
    kind.store.hold_back("ward", "a", "unconfirmed")
    kind.store.hold_back("ward", "unknown", "unconfirmed")
    assert kind.verdicts() == {"a": "unconfirmed"}
    kind.apply(1, 2, a="one")
    assert kind.verdicts() == {"a": ""}


def test_a_verdict_that_was_changed_on_the_disk_is_noticed(kind, database):
    kind.apply(0, 1, a="one", verdicts={"a": "hub"})
    with database.write() as tx:
        tx.execute(f"UPDATE {kind.table} SET held_back = ''")
    assert (kind.rows(), kind.store.known("ward")) == ([], ("", 0))


class East:
    """Embeds everything as one direction; fails when it is told to."""

    dimensions = 4

    def __init__(self, fingerprint, *, works=True):
        self.fingerprint = fingerprint
        self.works = works
        self.texts = []

    async def embed(self, texts):
        if not self.works:
            raise ConnectionError
        self.texts += texts
        return np.array([[0, 0, 0, 1]] * len(texts), dtype=np.float32)


async def test_another_embedders_vectors_take_the_place_of_the_stored_ones(kind):
    await kind.store.embed_by(East("former"))
    kind.apply(0, 1, a="one")
    another = East("another")
    for _ in range(2):
        await kind.store.embed_by(another)
    assert another.texts == ["one" if kind.table == "summaries" else "Who is a?"]
    assert ([row.vector.argmax() for row in kind.rows()], kind.store.fingerprint()) == ([3], "another")


async def test_vectors_that_were_half_replaced_when_the_power_went_are_all_made_anew(kind):
    await kind.store.embed_by(East("former"))
    kind.apply(0, 1, a="one")
    with pytest.raises(ConnectionError):
        await kind.store.embed_by(East("another", works=False))
    former = East("former")
    await kind.store.embed_by(former)
    assert (len(former.texts), kind.store.fingerprint()) == (1, "former")


def test_a_stored_vector_points_where_it_did():
    rows = unit(np.random.default_rng(3).standard_normal((50, 384)).astype(np.float32))
    kept = unpacked(b"".join(packed(rows)), len(rows))
    assert (np.einsum("ij,ij->i", rows, kept) > 0.9998).all()
    assert len(packed(rows[:1])[0]) == 384
    assert packed(kept) == packed(rows)


def test_a_cloud_whose_operator_switches_memories_off_forgets_them_all(database, clock):
    removed = []
    store = MemoryStore(database, clock, max_per_edge=MOST, on_removed=lambda: removed.append(1))
    store.clear()
    assert removed == []
    store.apply("ward", memories("e1", 0, 4, {"a": "one"}, ()), np.eye(1, dtype=np.float32))
    store.clear()
    assert (store.edges(), store.known("ward"), removed) == ([], ("", 0), [1])
