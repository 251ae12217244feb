"""The method on a real store: a model's texts last as long as they hold, and searches find what may be shown."""

import asyncio
import json
import re

import pytest

from edge_node.graph.view import Visibility
from edge_node.records import silent
from edge_node.strategies.method import MethodQuery
from shared.errors import ModelReplyError, ModelUnavailable, StoreError
from tests.support.settling import Bench
from tests.support.trees import SMALL, add, opened_by_model, refined, said, shown, tree_of


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


async def test_what_the_model_has_written_stays_though_a_later_call_fails(by_model):
    calls = []

    def dying(prompt):
        if "Passages:" in prompt.messages[-1].content:
            calls.append(prompt)
            if len(calls) == 3:
                raise ModelUnavailable("away")
        return said(prompt)

    by_model.reply = dying
    with pytest.raises(ModelUnavailable):
        await refined(by_model)
    assert sum(row[4] for row in tree_of(by_model)) == 2
    await refined(by_model)
    asked = [re.findall("unit[0-9]+", prompt.messages[-1].content) for prompt in calls]
    assert asked.count(asked[0]) == asked.count(asked[1]) == 1


async def test_no_link_of_a_reply_is_kept(by_model):
    by_model.reply = lambda prompt: "The gates are in [the plan](http://out.example/a). They are shut."
    await refined(by_model)
    assert {row[5] for row in tree_of(by_model)} == {"The gates are in the plan. They are shut."}


async def test_a_reply_that_repeats_the_frame_is_of_no_use(by_model):
    by_model.reply = lambda prompt: f"It is framed by {prompt.messages[-1].content.partition('<<')[2][:8]}."
    await refined(by_model)
    assert not any("framed" in row[5] for row in tree_of(by_model))


async def test_a_model_is_not_asked_about_a_segment_whose_passages_are_gone(by_model):
    for document_id in by_model.ids.values():
        by_model.documents.remove(document_id)
    [method] = by_model.strategy.methods
    by_model.model.prompts.clear()
    await method.improve(silent)
    assert not by_model.model.prompts


async def test_a_restart_before_the_settle_costs_no_text_of_the_model(tmp_path):
    wide = SMALL | {"summaries": "model", "subgraph_entities": 40, "tree_min": 4, "tree_max": 16}
    kept = []
    for name, restart in (("through", False), ("restarted", True)):
        bench = await opened_by_model(tmp_path / name, 40, tree_min=4, tree_max=16)
        await refined(bench)
        await add(bench, 40)
        if restart:
            bench.database.close()
            bench = Bench(tmp_path / name, None, None, wide)
            await bench.strategy.open()
        await bench.settle()
        kept.append(tree_of(bench))
        bench.database.close()
    assert any(row[4] and len(json.loads(row[3])) < len(json.loads(row[2])) for row in kept[0]), "a text stays beside one passage more"
    assert kept[1] == kept[0]


async def test_texts_of_the_model_are_committed_though_a_commit_failed(by_model, monkeypatch):
    [method] = by_model.strategy.methods

    def fail(nodes, gone):
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(method._grower._store, "commit", fail)
        with pytest.raises(StoreError):
            await method.improve(silent)
    assert not any(row[4] for row in tree_of(by_model))
    await method.improve(silent)
    assert sum(row[4] for row in tree_of(by_model)) > 0
    await refined(by_model)
    assert all(row[4] for row in tree_of(by_model))
    assert shown(by_model) == sorted(tree_of(by_model))


async def test_texts_of_the_model_that_were_committed_while_they_were_cancelled_are_seen(by_model, monkeypatch):
    [method] = by_model.strategy.methods
    loop, commit = asyncio.get_running_loop(), method._grower._store.commit

    def committing(nodes, gone):
        loop.call_soon_threadsafe(improving.cancel)
        commit(nodes, gone)

    with monkeypatch.context() as patch:
        patch.setattr(method._grower._store, "commit", committing)
        improving = asyncio.ensure_future(method.improve(silent))
        await asyncio.wait([improving])
    assert improving.cancelled()
    await refined(by_model)
    assert all(row[4] for row in tree_of(by_model))
    assert shown(by_model) == sorted(tree_of(by_model))


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


# ------------------------------------------------------------ search


async def test_a_node_brings_its_text_and_its_nearest_passage(tmp_path):
    async with Bench.opened(tmp_path, **SMALL, tree_search="summarised", tree_share=1.0) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        found = await bench.strategy.retrieve("Who walks from the mill?", budget_tokens=100, top_k=3)
        assert found.evidence
        assert told(found)
        assert told(found) <= {row[5] for row in tree_of(bench)}
        for summary in found.summaries:
            names = {passage.document for passage in summary.passages}
            assert names
            assert all(summary.text in nodes_above(bench, int(name.removesuffix(".md"))) for name in names)


async def test_with_a_document_withheld_the_nodes_above_it_are_not_there_and_the_others_are(tmp_path):
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        withheld = frozenset({bench.ids["7.md"]})
        found = await bench.strategy.retrieve("Where is unit7?", budget_tokens=200, top_k=12, withheld=withheld)
        assert "7.md" not in {item.document for item in found.evidence}
        assert told(found)
        assert not told(found) & nodes_above(bench, 7)
        assert "7.md" not in {passage.document for passage in found.citable}


async def test_between_a_removal_and_the_settle_no_node_tells_of_it(tmp_path):
    async with Bench.opened(tmp_path, **SMALL, tree_search="summarised", tree_share=1.0) as bench:
        for number in range(12):
            await add(bench, number)
        await bench.settle()
        asked = {"question": "Where is unit7?", "budget_tokens": 500, "top_k": 20}
        telling = nodes_above(bench, 7)
        assert telling & told(await bench.strategy.retrieve(**asked))
        await bench.remove("7.md")
        found = await bench.strategy.retrieve(**asked)
        assert told(found)
        assert not telling & told(found)


def told(found):
    """The texts of the summaries."""
    return {summary.text for summary in found.summaries}


def nodes_above(bench, number):
    """The texts of the nodes above a passage."""
    rows = {row[0]: (json.loads(row[2]), row[5]) for row in tree_of(bench)}
    below = {member for members, _ in rows.values() for member in members if member.startswith(f"{bench.ids[f'{number}.md']}:")}
    texts = set()
    while above := {key for key, (members, _) in rows.items() if below & {*members}}:
        texts |= {rows[key][1] for key in above}
        below = above
    return texts


async def test_a_question_looks_at_the_members_of_one_node_a_level(tmp_path, monkeypatch):
    """Where no passage below a node is among the nearest, the one that is cited is looked for from level to level."""
    async with Bench.opened(tmp_path, **SMALL) as bench:
        for number in range(40):
            await add(bench, number)
        await bench.settle()
        [method] = bench.strategy.methods
        passages, looked_at = bench.strategy.write_path.passages, []
        scores = passages.scores
        monkeypatch.setattr(passages, "scores", lambda vector, keys: looked_at.append(len(keys)) or scores(vector, keys))
        vector = (await bench.tools.embedder.embed(["A gate or a ward?"]))[0]
        cited = method._cited(MethodQuery("", vector, Visibility(frozenset()), 100, 100), [])
        assert len(cited) == len(looked_at) == len(tree_of(bench))
        assert max(looked_at) <= 3
        view = method._grower.view
        assert all(node.node_id in {key for key, _ in view.above([passage])} for node, _, passage in cited)
