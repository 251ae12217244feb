"""Memories that a model writes of hyperedges: asked once, within the tokens that there are."""

from functools import partial

import pytest

from edge_node.memory import service, writer
from edge_node.memory.clustering import HypergraphBuilder
from edge_node.memory.hypergraph import Shape
from shared.errors import ModelReplyError, ModelUnavailable
from tests.support.idle import answers, remembered, remembering

MODEL = {"memory": "model", "strategy": "naive", "memory_tokens": 1000}
TEXTS = {
    "mill": "Orrin Mill was opened by Ann Lee. Ann Lee opened Orrin Mill.",
    "lock": "Fenlow Lock was closed by Bo Orr. Bo Orr closed Fenlow Lock.",
}
LINE, OTHER = "Who opened Orrin Mill?", "Who closed Fenlow Lock?"


@pytest.fixture(autouse=True)
def pairs(monkeypatch):
    """Two sentences to a hyperedge."""
    monkeypatch.setattr(service, "HypergraphBuilder", partial(HypergraphBuilder, shape=Shape(units=2)))


def written(prompt):
    return LINE if "Orrin Mill" in prompt.messages[-1].content else ""


async def add(bench, name, *, by="Ann Lee"):
    await bench.add(name, [], text=TEXTS[name].replace("Ann Lee", by))


async def fill(bench):
    for name in TEXTS:
        await add(bench, name)


async def idle(bench):
    await bench.settle()
    while before := bench.strategy.stale:
        await bench.refine()
        assert bench.strategy.stale < before


@pytest.fixture
async def bench(tmp_path):
    async with remembering(tmp_path, **MODEL) as opened:
        opened.reply = written
        yield opened


async def by_model(bench):
    return [(one.memory.question, one.memory.answer) for one in await remembered(bench) if one.memory.kind == "model"]


async def test_what_the_model_asks_can_be_asked(bench):
    await fill(bench)
    await idle(bench)
    assert await by_model(bench) == [("Who opened Orrin Mill?", "Ann Lee")]
    assert "Ann Lee" in await answers(bench, "Who opened Orrin Mill?")


async def test_a_memory_rests_on_its_sentence_without_the_blanks_around_it(bench):
    await fill(bench)
    await idle(bench)
    (memory,) = [one.memory for one in await remembered(bench) if one.memory.kind == "model"]
    texts = bench.documents.texts_of({place.chunk_id for place in memory.supports})
    for place in memory.supports:
        said = texts[place.chunk_id][place.start : place.end]
        assert "Ann Lee" in said
        assert said == said.strip()


async def test_a_hyperedge_is_asked_about_once_also_after_a_start(tmp_path):
    async with remembering(tmp_path, **MODEL) as before:
        before.reply = written
        await fill(before)
        await idle(before)
        asked = len(before.model.prompts)
        assert asked > 0
    async with remembering(tmp_path, **MODEL) as after:
        await idle(after)
        assert after.model.prompts == []
        assert await by_model(after) == [("Who opened Orrin Mill?", "Ann Lee")]


async def test_no_reply_is_kept_as_such(bench):
    await fill(bench)
    await idle(bench)
    assert bench.database.row("SELECT count(*) FROM llm_results")[0] == 0


async def test_once_the_tokens_are_spent_nothing_more_is_asked(tmp_path):
    async with remembering(tmp_path, **MODEL) as bench:  # two documents of three tokens
        bench.reply = lambda prompt: "word " * 50
        await fill(bench)
        await idle(bench)
        assert len(bench.model.prompts) == 1


async def test_without_tokens_the_model_is_not_asked(tmp_path):
    async with remembering(tmp_path, **(MODEL | {"memory_tokens": 0})) as bench:
        await fill(bench)
        await idle(bench)
        assert bench.model.prompts == []


@pytest.mark.parametrize("useless", ["", "I cannot help with that.", "Who owns it?"])
async def test_a_reply_of_no_use_is_not_asked_for_again(bench, useless):
    bench.reply = lambda prompt: useless
    await fill(bench)
    await idle(bench)
    assert (await by_model(bench), bench.strategy.stale) == ([], 0)


async def test_where_the_model_fails_at_one_hyperedge_the_next_one_is_asked_about(bench):
    def fails_once(prompt):
        if len(bench.model.prompts) == 1:
            raise ModelReplyError("no")
        return ""

    bench.reply = fails_once
    await fill(bench)
    await idle(bench)
    assert (len(bench.model.prompts) > 1, bench.strategy.stale) == (True, 0)


async def test_a_model_that_is_away_leaves_all_for_later(bench):
    def away(prompt):
        raise ModelUnavailable("http://model")

    bench.reply = away
    await fill(bench)
    await bench.settle()
    with pytest.raises(ModelUnavailable):
        await idle(bench)
    bench.reply = written
    await idle(bench)
    assert await by_model(bench) == [("Who opened Orrin Mill?", "Ann Lee")]


async def test_what_the_model_wrote_of_a_document_goes_with_it(bench):
    await fill(bench)
    await idle(bench)
    await bench.remove("mill")
    assert await by_model(bench) == []
    await idle(bench)
    assert "Orrin" not in bench.everything_stored().replace("orrin", "")


async def test_what_was_spent_and_cannot_be_read_counts_as_nothing(tmp_path):
    async with remembering(tmp_path, **MODEL) as before:
        before.reply = written
        await fill(before)
        await idle(before)
        with before.database.write() as tx:
            assert tx.execute("UPDATE meta SET value = 'not a list' WHERE key GLOB 'asked_of_*'").rowcount > 0
    async with remembering(tmp_path, **MODEL) as after:
        after.reply = written
        await idle(after)
        assert len(after.model.prompts) > 0
        assert await by_model(after) == [("Who opened Orrin Mill?", "Ann Lee")]


async def test_what_an_update_took_is_written_anew_though_all_tokens_were_spent(bench):
    await fill(bench)
    await idle(bench)
    bench.reply = written
    await add(bench, "mill", by="Bo Ray")
    await idle(bench)
    assert await by_model(bench) == [("Who opened Orrin Mill?", "Bo Ray")]


@pytest.mark.parametrize("settled", [False, True])
async def test_what_went_with_a_document_is_written_anew_when_the_same_comes_again(bench, settled):
    await fill(bench)
    await idle(bench)
    for _ in range(3):
        await bench.remove("mill")
        if settled:
            await idle(bench)
        assert await by_model(bench) == []
        await add(bench, "mill")
        await idle(bench)
        assert await by_model(bench) == [("Who opened Orrin Mill?", "Ann Lee")]


@pytest.mark.parametrize("back", [False, True])
async def test_a_start_in_between_changes_nothing_of_that(tmp_path, back):
    async with remembering(tmp_path, **MODEL) as before:
        before.reply = written
        await fill(before)
        await idle(before)
        await before.remove("mill")
        if back:
            await add(before, "mill")
    async with remembering(tmp_path, **MODEL) as after:
        after.reply = written
        if not back:
            await add(after, "mill")
        await idle(after)
        assert await by_model(after) == [("Who opened Orrin Mill?", "Ann Lee")]


async def test_however_often_documents_come_and_go_what_is_there_costs_no_more_than_the_budget(tmp_path):
    async with remembering(tmp_path, **(MODEL | {"memory_tokens": 500})) as bench:  # three tokens for two documents: one reply of more
        bench.reply = lambda prompt: LINE if "Orrin Mill" in prompt.messages[-1].content else OTHER
        await fill(bench)
        await idle(bench)
        assert len(await by_model(bench)) == 1
        for name in ("mill", "lock") * 3:
            await bench.remove(name)
            await idle(bench)
            assert len(await by_model(bench)) == 1
            await add(bench, name)
            await idle(bench)
            assert len(await by_model(bench)) == 1


async def test_what_was_cleared_is_written_anew(tmp_path):
    for memory in ("model", "off", "model"):
        async with remembering(tmp_path, **(MODEL | {"memory": memory})) as bench:
            bench.reply = written
            if not bench.documents.totals()["chunks"]:
                await fill(bench)
            await idle(bench)
            assert await by_model(bench) == ([] if memory == "off" else [("Who opened Orrin Mill?", "Ann Lee")])


async def test_replies_count_as_they_cost(bench):
    await fill(bench)
    await bench.settle()
    cost = 0
    while bench.strategy.stale:
        cost += (await bench.refine()).tokens_out
    assert cost == bench.documents.totals()["tokens_out"] > 0


async def test_a_question_that_does_not_find_its_own_sentence_is_not_kept(bench, monkeypatch):
    monkeypatch.setattr(writer, "NEAREST", 0)
    await fill(bench)
    await idle(bench)
    assert (await by_model(bench), len(bench.model.prompts) > 0) == ([], True)


async def test_a_hyperedge_without_a_fact_is_not_asked_about(bench):
    await bench.add("mind", [], text="Mind the gap! Mind the gap, please!")
    await idle(bench)
    assert (bench.model.prompts, bench.strategy.stale) == ([], 0)
