"""KET-RAG's graphs on a real store: any history equals one build, and the core is read by a model where that is asked for."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.base import silent
from shared.errors import ModelUnavailable
from tests.support.settling import Bench

KET = {"strategy": "ketrag", "ket_variant": "keyword"}
PLACES = ("ward", "gate", "mill", "bank", "port", "farm", "lake")
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


async def test_half_of_the_chunks_are_read_and_what_the_model_says_joins_the_graph(reading):
    prompts = []

    def said(prompt):
        prompts.append(prompt)
        return "Unit 3 | guards | Bank\nUnit 4 | guards | Port"

    reading.reply = said
    assert reading.strategy.stale == 3
    while reading.strategy.stale:
        await reading.strategy.refine(silent)
    assert len(prompts) == 3
    assert reading.database.row("SELECT count(*) FROM core_readings")[0] == 3


async def test_a_model_that_is_away_leaves_the_core_to_be_read(reading):
    def away(prompt):
        raise ModelUnavailable("away")

    reading.reply = away
    with pytest.raises(ModelUnavailable):
        await reading.strategy.refine(silent)
    assert reading.strategy.stale == 3


async def test_what_is_gone_is_not_read(reading):
    for number in range(6):
        await reading.remove(f"{number}.md")
    await reading.settle()
    assert reading.strategy.stale == 0
