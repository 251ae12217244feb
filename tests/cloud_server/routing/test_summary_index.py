import asyncio

import pytest

from cloud_server.database.opening import SqliteDatabase
from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing.summaries import SummaryStore
from cloud_server.routing.summary_index import SummaryIndex
from shared.errors import NotFound, ResyncNeeded
from shared.index import open_index
from shared.models.fake import HashEmbedder
from shared.records import Summary, SummaryDelta


class CountingEmbedder(HashEmbedder):
    def __init__(self, dimensions=64):
        super().__init__(dimensions)
        self.texts = []

    async def embed(self, texts):
        self.texts.extend(texts)
        return await super().embed(texts)


async def opened(folder, clock, embedder):
    database = SqliteDatabase(folder / "cloud.db")
    registry = EdgeRegistry(database, clock)
    summary_index = SummaryIndex(
        registry, SummaryStore(database, clock, max_per_edge=100), open_index("nano", embedder.dimensions), embedder
    )
    registry.enrol("ward")
    await summary_index.open()
    return summary_index


def delta(base, version, *texts, removals=()):
    return SummaryDelta("e1", base, version, tuple(Summary(f"s-{text}", text, 1, 1) for text in texts), tuple(removals))


async def best(summary_index, embedder, question):
    vector = (await embedder.embed([question]))[0]
    return [one.summary_id for one in await summary_index.match("", vector[None], m=1, min_cosine=0.5, slots=1, lead=0.9)]


@pytest.fixture
def embedder():
    return CountingEmbedder()


async def test_an_accepted_summary_is_found_and_a_removed_one_is_not(tmp_path, clock, embedder):
    summary_index = await opened(tmp_path, clock, embedder)
    await summary_index.accept("ward", delta(0, 1, "infusion pumps", "loans"))
    assert await best(summary_index, embedder, "loans") == ["s-loans"]
    await summary_index.accept("ward", delta(1, 2, "bridges", removals=["s-loans"]))
    assert await best(summary_index, embedder, "loans") == []
    assert await best(summary_index, embedder, "bridges") == ["s-bridges"]


@pytest.mark.parametrize(
    ("question", "found"), [("Was hat das Gezeitenwerk geliefert?", ["s-Gezeitenwerk"]), ("What did the Gezeitenwerk deliver?", [])]
)
async def test_words_find_for_a_foreign_question_what_is_near_to_none(tmp_path, clock, embedder, question, found):
    summary_index = await opened(tmp_path, clock, embedder)
    await summary_index.accept("ward", delta(0, 1, "Gezeitenwerk", "bridges", "loans"))
    vector = (await embedder.embed(["something else"]))[0]
    matches = await summary_index.match(question, vector[None], m=1, min_cosine=9.0, slots=1, lead=0.9)  # to which nothing comes near
    assert [one.summary_id for one in matches] == found


class HeldEmbedder(CountingEmbedder):
    """Does not finish with one text until it may."""

    def __init__(self):
        super().__init__()
        self.begun, self.may = asyncio.Event(), asyncio.Event()

    async def embed(self, texts):
        if "slow" in texts:
            self.begun.set()
            await self.may.wait()
        return await super().embed(texts)


async def test_an_edge_whose_texts_are_embedded_holds_up_no_other_edges_sync(tmp_path, clock):
    embedder = HeldEmbedder()
    summary_index = await opened(tmp_path, clock, embedder)
    summary_index._registry.enrol("bank")
    slow = asyncio.create_task(summary_index.accept("ward", delta(0, 1, "slow")))
    await embedder.begun.wait()
    async with asyncio.timeout(10):
        await summary_index.accept("bank", delta(0, 1, "loans"))
    assert await best(summary_index, embedder, "loans") == ["s-loans"]
    embedder.may.set()
    await slow
    assert len(summary_index) == 2


async def test_deltas_of_one_edge_wait_for_each_other(tmp_path, clock):
    embedder = HeldEmbedder()
    summary_index = await opened(tmp_path, clock, embedder)
    first = asyncio.create_task(summary_index.accept("ward", delta(0, 1, "slow")))
    await embedder.begun.wait()
    second = asyncio.create_task(summary_index.accept("ward", delta(1, 2, "loans")))
    embedder.may.set()
    await asyncio.gather(first, second)
    assert len(summary_index) == 2


async def test_an_edge_that_is_expelled_while_its_texts_are_embedded_stays_out(tmp_path, clock):
    embedder = HeldEmbedder()
    summary_index = await opened(tmp_path, clock, embedder)
    sending = asyncio.create_task(summary_index.accept("ward", delta(0, 1, "slow")))
    await embedder.begun.wait()
    await summary_index.expel("ward")
    embedder.may.set()
    with pytest.raises(NotFound):
        await sending
    assert len(summary_index) == 0


async def test_a_repeated_or_unfitting_delta_costs_no_embedding(tmp_path, clock, embedder):
    summary_index = await opened(tmp_path, clock, embedder)
    await summary_index.accept("ward", delta(0, 1, "pumps"))
    embedder.texts.clear()
    await summary_index.accept("ward", delta(0, 1, "pumps"))
    with pytest.raises(ResyncNeeded):
        await summary_index.accept("ward", delta(4, 5, "loans"))
    assert embedder.texts == []
    assert len(summary_index) == 1


async def test_after_a_restart_everything_is_found_without_embedding(tmp_path, clock, embedder):
    await (await opened(tmp_path, clock, embedder)).accept("ward", delta(0, 1, "pumps", "loans"))
    embedder.texts.clear()
    again = await opened(tmp_path, clock, embedder)
    assert embedder.texts == []
    assert await best(again, embedder, "pumps") == ["s-pumps"]


async def test_another_embedder_embeds_all_texts_again_once(tmp_path, clock, embedder):
    await (await opened(tmp_path, clock, embedder)).accept("ward", delta(0, 1, "pumps", "loans"))
    other = CountingEmbedder(32)
    again = await opened(tmp_path, clock, other)
    assert sorted(other.texts) == ["loans", "pumps"]
    assert await best(again, other, "pumps") == ["s-pumps"]
    other.texts.clear()
    await opened(tmp_path, clock, other)
    assert other.texts == []


async def test_an_expelled_edge_is_no_longer_found(tmp_path, clock, embedder):
    summary_index = await opened(tmp_path, clock, embedder)
    await summary_index.accept("ward", delta(0, 1, "pumps"))
    assert await summary_index.expel("ward") == 1
    assert len(summary_index) == 0
    with pytest.raises(NotFound):
        await summary_index.accept("ward", delta(0, 2, "pumps"))


async def test_a_copy_is_stored_but_not_matched_until_what_it_copies_is_gone(tmp_path, clock, embedder):
    summary_index = await opened(tmp_path, clock, embedder)
    await summary_index.accept("ward", delta(0, 1, "infusion pumps", "pumps infusion"))
    assert len(summary_index) == 1
    assert await best(summary_index, embedder, "pumps infusion") == ["s-infusion pumps"]
    await summary_index.accept("ward", delta(1, 2, removals=["s-infusion pumps"]))
    assert await best(summary_index, embedder, "pumps infusion") == ["s-pumps infusion"]


async def test_a_matched_summary_that_becomes_a_copy_is_no_longer_matched(tmp_path, clock, embedder):
    summary_index = await opened(tmp_path, clock, embedder)
    await summary_index.accept("ward", delta(0, 1, "infusion pumps", "loans"))
    changed = SummaryDelta("e1", 1, 2, (Summary("s-loans", "pumps infusion", 1, 1),), ())
    await summary_index.accept("ward", changed)
    assert await best(summary_index, embedder, "loans") == []
    assert len(summary_index) == 1


async def test_what_is_held_back_stays_so_after_a_restart(tmp_path, clock, embedder):
    first = await opened(tmp_path, clock, embedder)
    await first.accept("ward", delta(0, 1, "infusion pumps", "pumps infusion"))
    second = await opened(tmp_path, clock, embedder)
    assert len(second) == 1
    await second.accept("ward", delta(1, 2, removals=["s-infusion pumps"]))
    assert len(second) == 1


async def test_the_same_text_at_two_edges_is_no_copy(tmp_path, clock, embedder):
    summary_index = await opened(tmp_path, clock, embedder)
    summary_index._registry.enrol("bank")
    for edge in ("ward", "bank"):
        await summary_index.accept(edge, delta(0, 1, "infusion pumps"))
    assert len(summary_index) == 2


async def test_a_quarantined_edge_matches_nothing_until_it_is_released(tmp_path, clock, embedder):
    summary_index = await opened(tmp_path, clock, embedder)
    await summary_index.accept("ward", delta(0, 1, "loans"))
    summary_index._registry.quarantine("ward", "forged summaries")
    assert await best(summary_index, embedder, "loans") == []
    await summary_index.accept("ward", delta(1, 2, "bridges"))  # it may sync
    assert await best(summary_index, embedder, "bridges") == []
    summary_index._registry.release("ward")
    assert await best(summary_index, embedder, "bridges") == ["s-bridges"]
