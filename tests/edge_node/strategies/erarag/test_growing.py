"""The tree on a real store: any history equals one build, what is removed stands nowhere, and a model's texts last as long as they hold."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.base import silent
from shared.errors import ModelReplyError, ModelUnavailable
from tests.support.settling import Bench

SMALL = {"strategy": "erarag", "tree_min": 2, "tree_max": 3, "tree_bits": 8}
PLACES = (
    "ward",
    "gate",
    "mill",
    "bank",
    "port",
    "farm",
    "lake",
    "road",
    "hill",
    "yard",
    "dock",
    "barn",
    "vault",
    "tower",
    "field",
    "house",
)


def text_of(number):
    """A text whose words place it beside some others; one word is its own."""
    near, far = PLACES[number % 16], PLACES[number // 2 % 16]
    return f"The {near} has a {far} and unit{number}. Nobody walks from the {far} to the {near}."


async def add(bench, number):
    await bench.add(f"{number}.md", (f"Unit {number}",), text=text_of(number))


def tree_of(bench):
    """What is stored, without vectors."""
    rows = bench.database.rows("SELECT node_id, level, members, made_of, by_model, text FROM tree_nodes ORDER BY node_id")
    return [tuple(row) for row in rows]


def shown(bench):
    """The same as the grower has it."""
    [method] = bench.strategy.methods
    nodes = method._grower.nodes.values()
    return sorted((one.node_id, one.level, json.dumps(one.members), json.dumps(one.made_of), int(one.by_model), one.text) for one in nodes)


def leaves_of(bench):
    return sorted(member for row in tree_of(bench) if row[1] == 1 for member in json.loads(row[2]))


async def built(folder, numbers, **more):
    async with Bench.opened(folder, **SMALL | more) as bench:
        for number in sorted(numbers):
            await add(bench, number)
        await bench.settle()
        return tree_of(bench)


async def test_every_passage_lies_under_one_segment_within_the_bounds(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(20):
            await add(bench, number)
        await bench.settle()
        sizes = [len(json.loads(row[2])) for row in tree_of(bench)]
        assert len(leaves_of(bench)) == len(set(leaves_of(bench))) == 20
        assert min(sizes) >= 2
        assert max(sizes) <= 3
        assert {row[1] for row in tree_of(bench)} >= {1, 2}


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_history_equals_one_build(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("history")
    steps = data.draw(st.lists(st.tuples(st.integers(0, 24), st.sampled_from(["add", "add", "remove", "settle", "restart"])), max_size=40))

    async def lived():
        present, steps_left = set(), list(steps)
        while True:
            async with Bench.opened(folder / "lived", **SMALL) as bench:
                bench.ids = {f"{number}.md": key for number, key in known.items()}
                while steps_left:
                    number, step = steps_left.pop(0)
                    if step == "add" and number not in present:
                        await add(bench, number)
                        present.add(number)
                        known[number] = bench.ids[f"{number}.md"]
                    elif step == "remove" and number in present:
                        await bench.remove(f"{number}.md")
                        present.discard(number)
                        known.pop(number)
                    elif step == "settle":
                        await bench.settle()
                    elif step == "restart":
                        break
                else:
                    await bench.settle()
                    assert shown(bench) == sorted(tree_of(bench))
                    return present, tree_of(bench)

    known = {}
    present, tree = asyncio.run(lived())
    assert tree == asyncio.run(built(folder / "fresh", present))


async def test_no_word_of_a_removed_passage_stays_in_any_node(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        assert any("unit7" in row[5] for row in tree_of(bench))
        await bench.remove("7.md")
        await bench.settle()
        bench.database.erase()
        assert "unit7" not in bench.everything_stored().lower()


async def test_an_insertion_embeds_and_writes_little(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(40):
            await add(bench, number)
        await bench.settle()
        before = tree_of(bench)
        await add(bench, 41)
        await bench.settle()
        new = set(tree_of(bench)) - set(before)
        assert sum(row[1] == 1 for row in new) <= 4
        assert len(new) < len(before) / 2


async def test_a_settle_without_a_change_writes_nothing(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        await bench.settle()
        before = bench.database.meta("commits")
        await bench.settle()
        assert bench.database.meta("commits") == before


# ------------------------------------------------------------ a model


def said(prompt):
    return "The passages tell of wards and gates. They name some units."


async def refined(bench):
    while bench.strategy.stale:
        await bench.strategy.refine(silent)


async def opened_by_model(folder, count=12, **more):
    bench = Bench(folder, None, None, SMALL | {"summaries": "model", "subgraph_entities": 40} | more)
    bench.reply = said
    await bench.strategy.open()
    for number in range(count):
        await add(bench, number)
    await bench.settle()
    return bench


@pytest.fixture
async def by_model(tmp_path):
    bench = await opened_by_model(tmp_path)
    yield bench
    bench.database.close()


async def test_plain_texts_stand_until_the_model_has_written(by_model):
    assert not any(row[4] for row in tree_of(by_model))
    assert by_model.strategy.stale >= len(tree_of(by_model))
    await refined(by_model)
    assert all(row[4] and row[5] == said("") for row in tree_of(by_model))


async def test_the_model_reads_the_passages_of_a_segment_and_above_that_the_summaries(by_model):
    prompts = []
    by_model.reply = lambda prompt: prompts.append(prompt.messages[-1].content) or said(prompt)
    await refined(by_model)
    asked = [text for text in prompts if "Passages:" in text]
    assert any("unit3" in text for text in asked)
    assert any(text.count(said("")) >= 2 for text in asked)


async def test_a_model_that_is_away_leaves_the_plain_texts(by_model):
    def away(prompt):
        raise ModelUnavailable("away")

    by_model.reply = away
    before = tree_of(by_model)
    with pytest.raises(ModelUnavailable):
        await refined(by_model)
    assert tree_of(by_model) == before


async def test_a_reply_that_is_of_no_use_is_not_asked_for_again(by_model):
    def useless(prompt):
        raise ModelReplyError("nonsense")

    by_model.reply = useless
    await refined(by_model)
    assert all(row[4] for row in tree_of(by_model))
    assert any("unit3" in row[5] for row in tree_of(by_model))


async def test_a_text_made_of_a_removed_passage_goes_at_once(by_model):
    by_model.reply = lambda prompt: f"It tells of {', '.join(re.findall('unit[0-9]+', prompt.messages[-1].content))}. It ends here."
    await refined(by_model)
    assert any("unit5" in row[5] for row in tree_of(by_model) if row[1] == 2)
    await by_model.remove("5.md")
    await by_model.settle()
    assert not any("unit5" in row[5] for row in tree_of(by_model))
    assert {row[4] for row in tree_of(by_model)} == {0, 1}, "what was not made of it stays as the model wrote it"


async def test_a_text_stays_while_its_segment_hardly_grows(tmp_path):
    wide = {"tree_min": 4, "tree_max": 16, "tree_bits": 8}
    kept = await opened_by_model(tmp_path / "kept", 9, **wide)
    anew = await opened_by_model(tmp_path / "anew", 9, **wide, tree_staleness=0.0)
    for bench in (kept, anew):
        await refined(bench)
        await add(bench, 20)
        await bench.settle()
    assert [row[4] for row in tree_of(kept)] == [1]
    assert [row[4] for row in tree_of(anew)] == [0]
    for bench in (kept, anew):
        bench.database.close()


# ------------------------------------------------------------ cuts


async def test_a_commit_whose_settle_was_cancelled_is_read_again(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        [method] = bench.strategy.methods
        loop, commit = asyncio.get_running_loop(), method._grower._store.commit

        def committing(nodes, gone):
            loop.call_soon_threadsafe(settle.cancel)
            commit(nodes, gone)

        monkeypatch.setattr(method._grower._store, "commit", committing)
        settle = asyncio.ensure_future(bench.settle())
        await asyncio.wait([settle])
        assert settle.cancelled()
        monkeypatch.setattr(method._grower._store, "commit", commit)
        await bench.remove("3.md")
        await bench.settle()
        assert shown(bench) == sorted(tree_of(bench))
        assert not any("unit3" in row[5] for row in tree_of(bench))


async def test_other_hyperplanes_begin_a_new_tree(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        await bench.settle()
    async with Bench.opened(tmp_path, **SMALL | {"tree_bits": 10}) as bench:
        assert tree_of(bench) == await built(tmp_path / "fresh", range(9), tree_bits=10)


async def test_a_damaged_node_is_made_again(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(9):
            await add(bench, number)
        await bench.settle()
        whole = tree_of(bench)
        with bench.database.write() as tx:
            tx.execute("UPDATE tree_nodes SET text = 'Nonsense.' WHERE node_id = ?", (whole[0][0],))
    async with Bench.opened(tmp_path, **SMALL) as bench:
        assert tree_of(bench) == whole


# ------------------------------------------------------------ search


async def test_a_node_brings_its_text_and_its_nearest_passage(tmp_path):
    async with Bench.opened(tmp_path, **SMALL, tree_search="summarised", tree_share=1.0) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        found = await bench.strategy.retrieve("Who walks from the mill?", budget_tokens=100, top_k=3)
        assert found.facts
        assert found.evidence
        assert {*found.facts} <= {row[5] for row in tree_of(bench)}


async def test_with_a_document_withheld_no_node_is_shown(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        withheld = frozenset({bench.ids["7.md"]})
        found = await bench.strategy.retrieve("Where is unit7?", budget_tokens=100, top_k=5, withheld=withheld)
        assert found.facts == ()
        assert "7.md" not in {item.document for item in found.evidence}
