"""Descriptions that are too long together, and what the model makes of them."""

import pytest

from tests.support.settling import Bench

A, B = (f"{name} of the long and winding name that fills a line" for name in ("Ward", "Pump"))
PAIR = (B.lower(), A.lower())  # one description of it has more than 100 characters
KNOBS = {"descriptions": "model", "description_chars": 100, "subgraph_entities": 40}
WRITTEN = "It has pumps, and it is about wards."


def shortening(prompt):
    return "Ward keeps pump." if "the relation between" in prompt.messages[-1].content else WRITTEN


@pytest.fixture
async def bench(tmp_path):
    async with Bench.opened(tmp_path, **KNOBS) as opened:
        opened.reply = shortening
        yield opened


async def refined(bench):
    await bench.settle()
    while bench.strategy.stale:
        await bench.refine()
    return bench.graph_now().relations.get(PAIR)


def stored(bench):
    return {row["key"] for row in bench.database.rows("SELECT key FROM descriptions")}


async def test_the_model_shortens_the_description_of_a_relation_as_of_an_entity(bench):
    await bench.add("1.md", (A, B), related=[(A, B)])
    assert (await refined(bench)).description == "Ward keeps pump."
    assert bench.graph_now().entities[A.lower()].description == WRITTEN
    assert stored(bench) == {A.lower(), B.lower(), "\t".join(PAIR)}
    asked = [prompt.messages[-1].content for prompt in bench.model.prompts if "the relation between" in prompt.messages[-1].content]
    assert len(asked) == 1
    assert f"Notes about the relation between {B} and {A}:\n- {A} has {B}." in asked[0]


async def test_without_a_model_it_stays_joined(tmp_path):
    async with Bench.opened(tmp_path, **KNOBS | {"descriptions": "joined"}) as bench:
        await bench.add("1.md", (A, B), related=[(A, B)])
        assert (await refined(bench)).description == f"{A} has {B}."[:100]
        assert (bench.model.prompts, stored(bench)) == ([], set())


async def test_it_is_there_again_after_a_restart_and_nobody_is_asked(tmp_path):
    async with Bench.opened(tmp_path, **KNOBS) as bench:
        bench.reply = shortening
        await bench.add("1.md", (A, B), related=[(A, B)])
        await refined(bench)
    async with Bench.opened(tmp_path, **KNOBS) as again:
        assert (again.graph_now().relations[PAIR].description, again.strategy.stale) == ("Ward keeps pump.", 0)


async def test_it_is_gone_with_the_document_that_it_tells_of(bench):
    await bench.add("1.md", (A, B), related=[(A, B)])
    await bench.add("2.md", (A, B), related=[(B, A)])
    bench.reply = lambda prompt: "Zanzibar is told of here, and of no other place."
    await refined(bench)
    assert "Zanzibar" in bench.graph_now().relations[PAIR].description
    await bench.remove("2.md")
    await bench.settle()
    assert "\t".join(PAIR) not in stored(bench)
    assert bench.graph_now().relations[PAIR].description == f"{A} has {B}."[:100]
    bench.database.erase()
    assert b"zanzibar" not in bench.database.path.read_bytes().lower()


async def test_a_relation_without_one_of_its_ends_is_not_asked_for_until_that_comes(bench):
    await bench.add("1.md", (A,), related=[(A, B)])
    assert await refined(bench) is None
    assert "relation between" not in str(bench.model.prompts)
    await bench.add("2.md", (B,))
    assert (await refined(bench)).description == "Ward keeps pump."
    await bench.remove("2.md")
    await bench.settle()
    assert (bench.strategy.stale, "\t".join(PAIR) in stored(bench)) == (0, False)


async def test_descriptions_of_relations_are_forgotten_when_the_model_is_not_to_write_them_any_more(tmp_path):
    async with Bench.opened(tmp_path, **KNOBS) as bench:
        bench.reply = shortening
        await bench.add("1.md", (A, B), related=[(A, B)])
        await refined(bench)
    async with Bench.opened(tmp_path, **KNOBS | {"descriptions": "joined"}) as again:
        assert stored(again) == set()
        assert again.graph_now().relations[PAIR].description.startswith(A)
        assert again.graph.mentions.changes().relations == {}


async def test_after_a_start_a_string_that_many_rows_have_stands_in_memory_once(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        await bench.add("1.md", (A, B), related=[(A, B)])
        await bench.settle()
    async with Bench.opened(tmp_path) as again:
        graph = again.graph_now()
        relation = graph.relations[PAIR]
        ends = [graph.entities[key] for key in PAIR]
        assert all(end.chunk_ids[0] is relation.chunk_ids[0] for end in ends)
        assert (relation.source is ends[0].key, relation.target is ends[1].key) == (True, True)
