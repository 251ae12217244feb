"""Clouds that share a store hold the same in memory, whoever wrote it and whenever they look."""

import asyncio
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_server.database.changes import changes
from cloud_server.database.opening import FILE, open_database
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing.memories import MemoryStore
from cloud_server.routing.memory_index import MemoryIndex
from cloud_server.routing.renewal import News, Renewal
from cloud_server.routing.summaries import SummaryStore
from cloud_server.routing.summary_index import SummaryIndex
from shared.errors import EmbedderChanged, Expelled, NotFound, ResyncNeeded, StaleEpoch
from shared.index import open_index
from shared.models.fake import HashEmbedder
from shared.ports import SystemClock
from shared.records import Summary, SummaryDelta
from shared.wire import MemoryBody, MemoryDelta
from tests.cloud_server.conftest import enrol, running
from tests.support.restoring import backup
from tests.support.waiting import until

EDGES = ("bank", "mill", "ward")
WORDS = ("pumps", "loans", "gears", "boats", "of", "and")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["tell", "tell", "tell", "remember", "remember", "expel", "join", "refute", "renew"]),
        st.integers(0, 1),  # at which cloud
        st.sampled_from(EDGES),
        st.integers(0, 5),  # which row
        st.integers(0, 3),  # its text
        st.booleans(),  # all again; directly
    ),
    max_size=30,
)
REFUSED = (NotFound, Expelled, ResyncNeeded, StaleEpoch)


class Loaded:
    """A store between whose reads others write."""

    def load(self, edge, *, after=-1):
        rows = super().load(edge, after=after)
        if getattr(self, "meanwhile", None):
            asyncio.run(self.meanwhile.pop()())
        return rows


class LoadedSummaries(Loaded, SummaryStore):
    pass


class LoadedMemories(Loaded, MemoryStore):
    pass


class Replica:
    """What one cloud has in memory of a store."""

    def __init__(self, database, clock=None, *, embedder=None):
        clock = clock or SystemClock()
        self.database, self.embedder = database, embedder or HashEmbedder(32)
        self.registry = EdgeRegistry(database, clock)
        self.stores = LoadedSummaries(database, clock, max_per_edge=100), LoadedMemories(database, clock, max_per_edge=100)
        self.indexes = [open_index("numpy", self.embedder.dimensions) for _ in range(3)]
        self.summaries = SummaryIndex(self.registry, self.stores[0], self.indexes[0], self.embedder)
        self.memories = MemoryIndex(self.registry, self.stores[1], *self.indexes[1:], self.embedder, is_on=True)

    async def open(self):
        await self.summaries.open()
        await self.memories.open()
        return self

    async def renew(self):
        await self.summaries.renew()
        await self.memories.renew()

    async def expel(self, edge):
        await self.summaries.expel(edge)
        await self.memories.renew()

    async def tell(self, edge, key, text, *, again=False, removals=()):
        """One summary, upon what is here; ``again``: as all that there is."""
        epoch, version = self.stores[0].known(edge)
        is_new = again or not epoch
        delta = SummaryDelta(
            f"e{version + 1}" if is_new else epoch, 0 if is_new else version, version + 1, (Summary(key, text, 1, 1),), removals
        )
        await self.summaries.accept(edge, delta)

    async def remember(self, edge, key, text, *, direct=True, removals=()):
        epoch, version = self.stores[1].known(edge)
        told = [MemoryBody(memory_id=key, question=f"Who has {text}?", answer="Ann", direct=direct)]
        delta = MemoryDelta(epoch=epoch or "e1", base_version=version, version=version + 1, upserts=told, removals=removals)
        await self.memories.accept(edge, delta)

    async def take(self, what, edge, row, text, flag):
        """One step; one that is refused changes nothing."""
        words, other = " ".join(WORDS[text : text + 3]), f"s{(row + 1) % 6}"
        with suppress(*REFUSED):
            if what == "tell":
                await self.tell(edge, f"s{row}", words, again=flag, removals=() if flag else (other,))
            elif what == "remember":
                await self.remember(edge, f"s{row}", words, direct=flag, removals=(other,))
            elif what == "expel":
                await self.expel(edge)
            elif what == "join":
                with suppress(NotFound):
                    self.registry.readmit(edge)
                self.registry.enrol(edge)
            elif what == "refute":
                await self.memories.refute(edge, f"s{row}")
            else:
                await self.renew()

    def held(self):
        """All that it would find, by key."""
        rows = [{key: index._matrix[row].tobytes() for key, row in index._rows.items()} for index in self.indexes]
        words = [sorted(key for key, _ in self.summaries._lexicon.top(word)) for word in WORDS[:4]]
        return rows, words, [index._samples._rows for index in (self.summaries, self.memories)]


async def play(database, steps, *, is_sound=True):
    """Two clouds take the steps; in every third the other one looks while the first writes. Then both are what a new one is."""
    with database.write() as tx:
        for table in ("edges", "expelled"):
            tx.execute(f"DELETE FROM {table}")
    clouds = [await Replica(database).open() for _ in range(2)]
    for edge in EDGES:
        clouds[0].registry.enrol(edge)
    for number, (what, at, *step) in enumerate(steps):
        if number % 3 == 2:
            for store in clouds[1 - at].stores:
                store.meanwhile = [lambda what=what, at=at, step=step: clouds[at].take(what, *step)]
            await clouds[1 - at].renew()
            for store in clouds[1 - at].stores:
                store.meanwhile = []
        else:
            await clouds[at].take(what, *step)
    for cloud in clouds:
        await cloud.renew()
    new = await Replica(database).open()
    assert ([cloud.held() for cloud in clouds] == [new.held()] * 2) == is_sound


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_two_clouds_hold_what_a_new_one_does_whoever_of_them_wrote_what(steps):
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(Path(folder), "")
        asyncio.run(play(database, steps))
        database.close()


@pytest.mark.process
def test_two_clouds_hold_what_a_new_one_does_over_postgresql_too(postgres, tmp_path):
    database = open_database(tmp_path, postgres.fresh())

    @settings(max_examples=25, deadline=None)
    @given(STEPS)
    def histories(steps):
        asyncio.run(play(database, steps))

    histories()
    database.close()


GONE = [
    ("tell", 0, "ward", 1, 0, False),
    ("renew", 1, "ward", 0, 0, False),
    ("renew", 1, "ward", 0, 0, False),
    ("expel", 0, "ward", 0, 0, False),
]


async def test_where_an_expulsion_is_not_noted_another_cloud_goes_on_matching(database, monkeypatch):
    await play(database, GONE)
    monkeypatch.setattr("cloud_server.registry.edges.note_change", lambda *_: 0)
    await play(database, GONE, is_sound=False)


async def test_a_renewal_that_breaks_off_is_made_again(database, monkeypatch):
    one, two = [await Replica(database).open() for _ in range(2)]
    for edge in EDGES:
        one.registry.enrol(edge)
        await one.tell(edge, "s1", "pumps")
    await two.renew()
    for edge in EDGES:
        await one.tell(edge, "s2", "loans", removals=["s1"])
    whole, broken = News._renewed, iter(EDGES[:2])

    def breaking(news, edge, *, after):
        if next(broken, None) is None:
            raise ConnectionError
        return whole(news, edge, after=after)

    with monkeypatch.context() as patch:
        patch.setattr(News, "_renewed", breaking)
        with pytest.raises(ConnectionError):
            await two.renew()
    await two.renew()
    assert two.held() == one.held()


@pytest.fixture
def backup_of(request, database_url, tmp_path):
    """Takes a backup of the store at once; what is yielded restores it."""
    postgres = request.getfixturevalue("postgres") if database_url else None
    return partial(backup, postgres=postgres, file=tmp_path / FILE)


async def restored(database, backup_of, *, told_again):
    """Two clouds tell; then the store goes back, and a third one tells as often as ``told_again``. Returns what one and a new one hold."""
    one, two = [await Replica(database).open() for _ in range(2)]
    for edge in ("bank", "ward"):
        one.registry.enrol(edge)
        await one.tell(edge, "s1", "pumps")
    with backup_of(database) as restore:
        await one.tell("bank", "s2", "loans")
        await one.tell("ward", "s2", "loans")
        await two.renew()
        restore()
        three = await Replica(database).open()
        for number in range(told_again):
            await three.tell("ward", f"s{3 + number}", "gears")
        await two.renew()
        return two.held(), (await Replica(database).open()).held()


@pytest.mark.parametrize("told_again", [0, 1, 2, 3])
async def test_a_store_that_was_restored_is_read_anew_even_where_its_numbers_are_used_again(database, backup_of, caplog, told_again):
    held, new = await restored(database, backup_of, told_again=told_again)
    assert held == new
    assert "bank/s2" not in new[0][0]
    assert "went back" in caplog.text


async def test_where_only_numbers_are_compared_a_restored_store_is_not_noticed(database, backup_of, monkeypatch):
    def by_number(database, kind, *, after):
        found = changes(database, kind, after=after)
        return replace(found, is_known=0 <= after.seq <= found.last.seq)

    monkeypatch.setattr("cloud_server.routing.replica.changes", by_number)
    held, new = await restored(database, backup_of, told_again=2)
    assert "bank/s2" in held[0][0].keys() - new[0][0].keys()


async def test_what_is_told_at_one_cloud_is_found_at_another_that_had_no_notice(database):
    one, two = [await Replica(database).open() for _ in range(2)]
    one.registry.enrol("ward")
    renewal = asyncio.create_task(Renewal([two.summaries, two.memories], None, every_s=0.01).run())
    await one.tell("ward", "s1", "infusion pumps")
    await until(lambda: len(two.indexes[0]) == 1)
    await one.expel("ward")
    await until(lambda: len(two.indexes[0]) == 0)
    renewal.cancel()


@pytest.mark.process
async def test_the_store_tells_every_cloud_of_a_change_at_once(postgres, tmp_path):
    from cloud_server.database.notices import Notices

    url = postgres.fresh()
    databases = [open_database(tmp_path, url) for _ in range(2)]
    one, two = [await Replica(database).open() for database in databases]
    one.registry.enrol("ward")
    notices = Notices(url, "two")
    renewal = Renewal([two.summaries, two.memories], notices, every_s=3600)
    tasks = [asyncio.create_task(one.run()) for one in (renewal, notices)]
    await notices.listening.wait()
    await one.tell("ward", "s1", "infusion pumps")
    await until(lambda: len(two.indexes[0]) == 1)
    await one.remember("ward", "m1", "infusion pumps")
    await until(lambda: len(two.indexes[1]) == 1)
    await one.expel("ward")
    await until(lambda: not any(map(len, two.indexes)))
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for database in databases:
        database.close()


class Other(HashEmbedder):
    """Another model; what it embeds waits until it may."""

    fingerprint = "other"

    def __init__(self):
        super().__init__(32)
        self.begun, self.may = asyncio.Event(), asyncio.Event()

    async def embed(self, texts):
        self.begun.set()
        await self.may.wait()
        return -await super().embed(texts)


async def test_a_cloud_of_another_embedder_takes_over_and_the_former_ones_take_no_deltas(database):
    former, embedder = await Replica(database).open(), Other()
    for edge in ("bank", "ward"):
        former.registry.enrol(edge)
        await former.tell(edge, "s1", "infusion pumps")
        await former.remember(edge, "m1", "infusion pumps")
    held = former.held()
    new = Replica(database, embedder=embedder)
    opening = asyncio.create_task(new.open())
    await embedder.begun.wait()
    with pytest.raises(EmbedderChanged):
        await former.tell("ward", "s2", "loans")
    await former.memories.refute("ward", "m1")
    await former.expel("bank")
    embedder.may.set()
    await opening
    await former.renew()
    assert former.held()[0] == [{"ward/s1": held[0][0]["ward/s1"]}, {}, {}]
    assert list(new.held()[0][0]) == ["ward/s1"]
    assert np.dot(new.stores[0].load("ward")[0].vector, (await HashEmbedder(32).embed(["infusion pumps"]))[0]) < -0.99
    assert [row.held_back for row in new.stores[1].load("ward")] == ["unconfirmed"]


@pytest.mark.process
async def test_a_question_at_one_cloud_finds_what_was_told_at_another(postgres, tmp_path):
    url = postgres.fresh()
    async with running(tmp_path, database_url=url) as here, running(tmp_path, database_url=url) as there:
        await enrol(here.http, "ward", "infusion pumps of Juniper Ward")
        await until(lambda: len(there.cloud.summary_index) == 1)
        vectors = await there.cloud.models.embedder.embed(["infusion pumps"])
        found = await there.cloud.summary_index.match("infusion pumps", vectors, m=1, min_cosine=0.3, slots=1, lead=0.0)
        assert [(one.edge, one.summary_id) for one in found] == [("ward", "s0")]
        await there.cloud.expel("ward")
        await until(lambda: len(here.cloud.summary_index) == 0)


@pytest.mark.process
async def test_clouds_that_write_and_look_at_once_hold_the_same_in_the_end(postgres, tmp_path):
    url = postgres.fresh()
    databases = [open_database(tmp_path, url) for _ in range(3)]
    clouds = [await Replica(database).open() for database in databases]
    for edge in EDGES:
        clouds[0].registry.enrol(edge)

    async def busy(cloud, edge):
        for number in range(12):
            row = f"s{number % 5}"
            await cloud.tell(edge, row, f"{edge} {WORDS[number % 4]} {number}", removals=[f"s{(number + 2) % 5}"])
            await cloud.remember(edge, row, f"{edge} {number}", direct=number % 3 > 0, removals=[f"s{(number + 3) % 5}"])
            await cloud.memories.refute(edge, f"s{(number + 1) % 5}")

    await asyncio.gather(*map(busy, clouds, EDGES))
    for cloud in clouds:
        await cloud.renew()
    new = await Replica(databases[0]).open()
    assert [cloud.held() for cloud in clouds] == [new.held()] * 3
    assert len(new.indexes[0]) > 3
    for database in databases:
        database.close()
