"""KET-RAG's graphs on a real store: any history equals one build, and the core is read by a model where that is asked for."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.records import silent
from edge_node.strategies.ketrag.knn import Neighbours
from shared.errors import ModelUnavailable
from shared.models.fake import HashEmbedder
from tests.support.settling import Bench

KET = {"strategy": "ketrag", "ket_variant": "keyword"}
PLACES = ("ward", "gate", "mill", "bank", "port", "farm", "lake")
SAID = "\n".join(f"Unit {number} | guards | {place.title()}" for number, place in enumerate(PLACES))
QUESTION = "Who walks from the mill to the gate?"


def text_of(number):
    near, far = PLACES[number % 7], PLACES[number // 2 % 7]
    return f"The {near} has a {far} and unit{number}. Nobody walks from the {far} to the {near}."


async def add(bench, number):
    names = (f"Unit {number}", PLACES[number % 7].title())
    await bench.add(f"{number}.md", names, related=[names], text=text_of(number))


def graphs_of(bench):
    [method] = bench.strategy.methods
    return method._graphs


async def state(bench):
    graphs = graphs_of(bench)
    question = (await bench.tools.embedder.embed([QUESTION]))[0]
    return list(graphs.bipartite.nearest(question)), graphs.ranked, graphs.neighbours, sorted(graphs.spans)


async def built(folder, numbers, **more):
    async with Bench.opened(folder, **KET | more) as bench:
        for number in sorted(numbers):
            await add(bench, number)
        await bench.settle()
        return await state(bench)


@pytest.mark.parametrize("splits", [0, 2])
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_any_history_equals_one_build(tmp_path_factory, splits, data):
    folder = tmp_path_factory.mktemp("history")
    steps = data.draw(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["add", "add", "remove", "settle", "restart"])), max_size=25))

    async def lived():
        known, left = {}, list(steps)
        while True:
            async with Bench.opened(folder / "lived", **KET, ket_splits=splits) as bench:
                bench.ids = {f"{number}.md": key for number, key in known.items()}
                while left:
                    number, step = left.pop(0)
                    if step == "add" and number not in known:
                        await add(bench, number)
                        known[number] = bench.ids[f"{number}.md"]
                    elif step == "remove" and number in known:
                        await bench.remove(f"{number}.md")
                        known.pop(number)
                    elif step == "settle":
                        await bench.settle()
                    elif step == "restart":
                        break
                else:
                    await bench.settle()
                    return known, await state(bench)

    known, lived_state = asyncio.run(lived())
    assert lived_state == asyncio.run(built(folder / "fresh", known, ket_splits=splits))


async def test_lost_sentence_vectors_are_made_again(tmp_path):
    async with Bench.opened(tmp_path, **KET) as bench:
        for number in range(5):
            await add(bench, number)
        await bench.settle()
        whole = await state(bench)
        with bench.database.write() as tx:
            tx.execute("DELETE FROM chunk_parts")
    async with Bench.opened(tmp_path, **KET) as bench:
        assert await state(bench) == whole
        assert bench.database.row("SELECT count(*) FROM chunk_parts")[0] == 5


async def test_other_pieces_are_cut_when_the_setting_changes(tmp_path):
    async with Bench.opened(tmp_path, **KET) as bench:
        await add(bench, 1)
        await bench.settle()
        assert graphs_of(bench).spans == {}
    async with Bench.opened(tmp_path, **KET, ket_splits=1) as bench:
        found = await bench.strategy.retrieve(QUESTION, budget_tokens=100, top_k=5)
        assert len(found.evidence) == 2
        assert "".join(item.text for item in sorted(found.evidence, key=lambda item: item.span)) == text_of(1)


async def test_pieces_of_one_chunk_have_ids_of_their_own(tmp_path):
    async with Bench.opened(tmp_path, **KET, ket_splits=1) as bench:
        await add(bench, 1)
        await bench.settle()
        ids = [item.chunk_id for item in (await bench.strategy.retrieve(QUESTION, budget_tokens=100, top_k=5)).evidence]
        assert sorted(ids) == [f"{bench.ids['1.md']}:0.{number}" for number in (0, 1)]


async def test_another_title_leaves_the_neighbours_as_they_were(tmp_path):
    async def filled(bench, title):
        for number in range(4):
            await add(bench, number)
        for one in ("", title):
            await bench.add("titled.md", ("Unit 9",), text="It stands alone.", title=one)
            await bench.settle()

    async with Bench.opened(tmp_path / "lived", **KET) as lived, Bench.opened(tmp_path / "fresh", **KET) as fresh:
        await filled(lived, "The mill and its farm")
        await fresh.add("titled.md", ("Unit 9",), text="It stands alone.", title="The mill and its farm")
        for number in range(4):
            await add(fresh, number)
        await fresh.settle()
        assert await state(lived) == await state(fresh)


# ------------------------------------------------------------ what comes and goes meanwhile


class Door:
    """A lock that tells when somebody comes."""

    def __init__(self):
        self.knocked, self._lock = threading.Event(), threading.Lock()

    def __enter__(self):
        self.knocked.set()
        self._lock.acquire()

    def __exit__(self, *error):
        self._lock.release()


async def test_a_settle_that_is_cancelled_while_neighbours_are_sought_leaves_the_next_one_a_whole_graph(tmp_path, monkeypatch):
    renewed, running, entered, free = Neighbours.renew, [], threading.Event(), threading.Event()

    def slow(knn, *changes):
        running.append(threading.get_ident())
        assert len(running) == 1
        entered.set()
        assert free.wait(20)
        running.pop()
        return renewed(knn, *changes)

    async with Bench.opened(tmp_path / "lived", **KET) as bench:
        for number in range(4):
            await add(bench, number)
        door = graphs_of(bench)._joining = Door()
        monkeypatch.setattr(Neighbours, "renew", slow)
        cut_off = asyncio.create_task(bench.settle())
        await asyncio.to_thread(entered.wait, 20)
        cut_off.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cut_off
        await add(bench, 4)
        door.knocked.clear()
        again = asyncio.create_task(bench.settle())
        assert await asyncio.to_thread(door.knocked.wait, 20)
        free.set()
        await again
        monkeypatch.undo()
        assert await state(bench) == await built(tmp_path / "fresh", range(5))


async def test_a_settle_that_fails_half_way_is_begun_anew(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path / "lived", **KET) as bench:
        for number in range(3):
            await add(bench, number)
        await bench.settle()
        await bench.remove("1.md")

        def full(knn, *rows):
            raise MemoryError

        monkeypatch.setattr(Neighbours, "_list", full)
        with pytest.raises(MemoryError):
            await bench.settle()
        monkeypatch.undo()
        await bench.settle()
        assert await state(bench) == await built(tmp_path / "fresh", [0, 2])


async def test_all_that_is_gone_after_a_settle_that_failed_is_in_no_graph(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path, **KET) as bench:
        await add(bench, 1)
        await bench.settle()
        await bench.remove("1.md")
        monkeypatch.setattr(Neighbours, "graph", lambda knn: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await bench.settle()
        monkeypatch.undo()
        await bench.settle()
        assert await state(bench) == ([], (), {}, [])


class Interrupting(HashEmbedder):
    """Lets something happen before it embeds a sentence of document 0."""

    meanwhile = None

    async def embed(self, texts):
        if self.meanwhile is not None and any("unit0" in text for text in texts):
            happens, self.meanwhile = self.meanwhile, None
            await happens()
        return await super().embed(texts)


@pytest.mark.parametrize("splits", [0, 1])
async def test_what_is_forgotten_while_its_sentences_are_made_up_stays_gone(tmp_path, splits):
    async with Bench.opened(tmp_path / "lived", strategy="naive") as bench:
        for number in range(3):
            await add(bench, number)
        ids = dict(bench.ids)
    embedder = Interrupting()
    bench = Bench(tmp_path / "lived", embedder, None, KET | {"ket_splits": splits})
    await bench.strategy.open()
    bench.ids = ids
    embedder.meanwhile = lambda: bench.remove("0.md")
    await bench.settle()
    lived = await state(bench)
    bench.database.close()
    assert embedder.meanwhile is None
    assert lived == await built(tmp_path / "fresh", [1, 2], ket_splits=splits)


async def test_what_is_added_while_a_settle_looks_at_the_store_stays(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path, **KET) as bench:
        await add(bench, 0)
        loop, vectors, came = asyncio.get_running_loop(), bench.tools.graph.vectors, []
        hashes = vectors.all_hashes

        def looked(kind):
            found = hashes(kind)
            if not came:
                came.append(1)
                asyncio.run_coroutine_threadsafe(add(bench, 1), loop).result(20)
            return found

        monkeypatch.setattr(vectors, "all_hashes", looked)
        await bench.settle()
        assert f"{bench.ids['1.md']}:0" in graphs_of(bench).bipartite


# ------------------------------------------------------------ the model reads the core


@pytest.fixture
async def reading(tmp_path):
    bench = Bench(tmp_path, None, None, KET | {"ket_variant": "ket-p", "ket_core_reader": "model", "ket_core_share": 0.5})
    await bench.strategy.open()
    for number in range(6):
        await add(bench, number)
    await bench.settle()
    yield bench
    bench.database.close()


def guards(bench):
    return [pair for pair, relation in bench.graph_now().relations.items() if "guards" in relation.keywords]


async def test_half_of_the_chunks_are_read_and_what_the_model_says_joins_the_graph(reading):
    prompts = []

    def said(prompt):
        prompts.append(prompt)
        return SAID

    reading.reply = said
    assert reading.strategy.stale == 3
    while reading.strategy.stale:
        await reading.strategy.refine(silent)
    assert len(prompts) == len(guards(reading)) == 3
    assert reading.database.row("SELECT count(*) FROM core_readings")[0] == 3


async def test_a_model_that_is_away_leaves_the_core_to_be_read(reading):
    def away(prompt):
        raise ModelUnavailable("away")

    reading.reply = away
    with pytest.raises(ModelUnavailable):
        await reading.strategy.refine(silent)
    assert reading.strategy.stale == 3


async def test_what_was_read_before_a_failure_is_kept_and_settled_and_not_asked_about_again(reading):
    asked = []

    def said(prompt):
        if len(asked) == 2:
            raise ModelUnavailable("away")
        asked.append(prompt)
        return SAID

    reading.reply = said
    with pytest.raises(ModelUnavailable):
        await reading.strategy.refine(silent)
    assert reading.strategy.stale == 1
    assert len(guards(reading)) == 2
    asked[:] = []
    while reading.strategy.stale:
        await reading.strategy.refine(silent)
    assert len(asked) == 1


async def test_a_core_chunk_that_a_settle_finds_meanwhile_is_left_to_be_read(reading):
    [method] = reading.strategy.methods
    reader = method._reader

    def said(prompt):
        if "new:0" not in reader.unread:
            reader.unread = ("new:0", *reader.unread)
        return ""

    reading.reply = said
    await reader.read(silent)
    assert reader.unread == ("new:0",)


async def test_what_is_gone_is_not_read(reading):
    for number in range(6):
        await reading.remove(f"{number}.md")
    await reading.settle()
    assert reading.strategy.stale == 0
