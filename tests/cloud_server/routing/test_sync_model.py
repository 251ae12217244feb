"""Reliability goal R4: whatever is repeated, lost or reordered on the line, the cloud ends with the edge's set."""

import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_server.database.opening import SqliteDatabase, open_shared
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing.summaries import SummaryStore
from shared.errors import ResyncNeeded, StaleEpoch
from shared.ports import SystemClock
from shared.records import Summary, SummaryDelta

STEPS = st.lists(st.sampled_from(["add", "change", "remove", "recreate", "send", "repeat", "old"]), max_size=25)
CHANCE = st.randoms(use_true_random=False)


class Edge:
    """A store with a version counter, and the log of deltas that it ever sent."""

    def __init__(self):
        self.numbers = count()
        self.sent = []
        self.recreate()

    def recreate(self):
        self.epoch, self.versions = f"e{next(self.numbers)}", [{}]

    def step(self, change):
        self.versions.append({**change(dict(self.versions[-1]))})

    def delta(self, epoch, version):
        base = version if epoch == self.epoch and version < len(self.versions) else 0
        then, now = (self.versions[base] if base else {}), self.versions[-1]
        upserts = tuple(Summary(key, text, 1, 1) for key, text in now.items() if then.get(key) != text)
        return SummaryDelta(self.epoch, base, len(self.versions) - 1, upserts, tuple(key for key in then if key not in now))


def send(store, delta):
    try:
        store.apply("ward", delta, np.ones((len(delta.upserts), 1), dtype=np.float32))
    except (ResyncNeeded, StaleEpoch):
        return False
    return True


@settings(max_examples=60, deadline=None)
@given(STEPS, CHANCE)
def test_the_cloud_ends_with_what_the_edge_has(steps, chance):
    play(steps, chance)


@pytest.mark.long
@settings(max_examples=1000, deadline=None)
@given(STEPS, CHANCE)
def test_the_cloud_ends_with_what_the_edge_has_in_a_thousand_histories(steps, chance):
    play(steps, chance)


@pytest.mark.process
def test_the_cloud_ends_with_what_the_edge_has_over_postgresql_too(postgres):
    database = open_shared(postgres.fresh())

    @settings(max_examples=25)
    @given(STEPS, CHANCE)
    def histories(steps, chance):
        with database.write() as tx:
            tx.execute("DELETE FROM edges")
        take_all(steps, chance, database)

    histories()
    database.close()


def play(steps, chance):
    """One history in a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        database = SqliteDatabase(Path(folder) / "cloud.db")
        take_all(steps, chance, database)
        database.close()


def take_all(steps, chance, database):
    """Take the steps, then send once more: both must be equal."""
    EdgeRegistry(database, SystemClock()).enrol("ward")
    store, edge = SummaryStore(database, SystemClock(), max_per_edge=1000), Edge()
    for number, step in enumerate(steps):
        take(step, number, store, edge, chance)
    ((epoch, version),) = database.rows("SELECT epoch, version FROM edges")
    assert send(store, edge.delta(epoch, version)) or send(store, edge.delta("", 0))
    assert {row.body.summary_id: row.body.text for row in store.load("ward")} == edge.versions[-1]


def take(step, number, store, edge, chance):
    if step == "recreate":
        edge.recreate()
    elif step in ("add", "change"):
        edge.step(lambda now: {**now, f"s{chance.randrange(4)}": f"text {number}"})
    elif step == "remove":
        edge.step(lambda now: {key: text for key, text in now.items() if key != f"s{chance.randrange(4)}"})
    elif step == "send" or not edge.sent:
        edge.sent.append(edge.delta(edge.epoch, chance.randrange(len(edge.versions))))
        send(store, edge.sent[-1])
    else:
        send(store, edge.sent[-1] if step == "repeat" else chance.choice(edge.sent))
