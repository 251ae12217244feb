import threading

import pytest

from edge_node.settings import EdgeSettings
from edge_node.strategies.dgrag import view as view_module
from edge_node.strategies.dgrag.strategy import DGRAG
from shared.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from shared.index import open_index
from shared.models.fake import HashEmbedder
from tests.support.settling import Bench

WRITTEN = "The ward has pumps, and it is about wards."


class OneDirection(HashEmbedder):
    """All texts mean the same."""

    async def embed(self, texts):
        return await super().embed(["same"] * len(texts))


@pytest.fixture
async def bench(tmp_path):
    async with Bench.opened(tmp_path) as opened:
        yield opened


@pytest.fixture
async def writing(tmp_path):
    """A bench whose model writes summaries and long descriptions."""
    async with Bench.opened(tmp_path, summaries="model") as opened:
        opened.reply = lambda prompt: WRITTEN
        yield opened


def raising(error):
    def reply(prompt):
        raise error

    return reply


async def pairs(bench):
    """Three parts of two entities each."""
    for a, b in (("Ward", "Pump"), ("Gate", "River"), ("Bank", "Loan")):
        await bench.add(f"{a}.md", (a, b), related=[(a, b)])


async def test_two_spellings_of_one_name_become_one_entity_when_they_are_near_in_meaning(tmp_path):
    async with Bench.opened(tmp_path, embedder=OneDirection()) as bench:
        await bench.add("1.md", ("Brackwell Works",))
        await bench.add("2.md", ("Brackwell Works", "Brackwel Works"))
        await bench.settle()
        assert set(bench.graph_now().entities) == {"brackwell works"}


async def test_two_spellings_stay_apart_when_they_are_far_in_meaning(bench):
    await bench.add("1.md", ("Mesencephalon", "Metencephalon"))
    await bench.settle()
    assert set(bench.graph_now().entities) == {"mesencephalon", "metencephalon"}


async def test_an_alias_that_loses_its_other_name_is_an_entity_of_its_own_again(tmp_path):
    async with Bench.opened(tmp_path, embedder=OneDirection()) as bench:
        first = await bench.add("1.md", ("Brackwell Works", "Mill"), related=[("Brackwell Works", "Mill")])
        await bench.add("2.md", ("Brackwell Works",))
        await bench.add("3.md", ("Brackwel Works", "Mill"), related=[("Brackwel Works", "Mill")])
        await bench.settle()
        assert set(bench.graph_now().relations) == {("brackwell works", "mill")}
        await bench.remove("1.md")
        await bench.remove("2.md")
        await bench.settle()
        assert first
        assert set(bench.graph_now().entities) == {"brackwel works", "mill"}
        assert set(bench.graph_now().relations) == {("brackwel works", "mill")}


async def test_a_settle_writes_plain_summaries_without_the_model(writing):
    await pairs(writing)
    await writing.settle()
    assert (len(writing.texts()), WRITTEN in writing.texts(), writing.model.prompts, writing.strategy.stale) == (3, False, [], 3)


async def test_the_model_writes_what_is_stale(writing):
    await pairs(writing)
    await writing.settle()
    cost = await writing.refine()
    assert (writing.texts(), writing.strategy.stale, cost.calls) == ({WRITTEN}, 0, 3)


@pytest.mark.parametrize("error", [ModelUnavailable("away"), ModelTimeout(deadline_s=300)])
async def test_a_model_that_is_away_is_asked_once_and_leaves_the_plain_texts(writing, error):
    await pairs(writing)
    await writing.settle()
    writing.reply = raising(error)
    with pytest.raises(type(error)):
        await writing.refine()
    assert (len(writing.model.prompts), writing.strategy.stale, len(writing.texts())) == (1, 3, 3)


async def test_one_bad_reply_leaves_one_plain_text_and_the_others_are_written(writing):
    await pairs(writing)
    await writing.settle()
    writing.reply = lambda prompt: WRITTEN if len(writing.model.prompts) > 1 else raising(ModelReplyError("nonsense"))(prompt)
    await writing.refine()
    assert (len(writing.model.prompts), writing.strategy.stale, WRITTEN in writing.texts(), len(writing.texts())) == (3, 0, True, 2)


async def test_a_small_change_leaves_what_the_model_wrote_until_enough_is_different(tmp_path):
    async with Bench.opened(tmp_path, summaries="model", subgraph_entities=40, summary_staleness=0.5) as bench:
        bench.reply = lambda prompt: WRITTEN
        await bench.add("1.md", ("Ward", "Pump", "Bed"), related=[("Ward", "Pump"), ("Ward", "Bed")])
        await bench.settle()
        await bench.refine()
        await bench.add("2.md", ("Ward", "Lamp"), related=[("Ward", "Lamp")])
        await bench.settle()
        assert (bench.texts(), bench.strategy.stale) == ({WRITTEN}, 0)
        await bench.add("3.md", ("Ward", "Sink", "Door", "Desk"), related=[("Ward", "Sink"), ("Ward", "Door"), ("Ward", "Desk")])
        await bench.settle()
        assert (bench.texts(), bench.strategy.stale) == ({WRITTEN}, 1)


async def test_what_the_model_wrote_of_a_removed_document_is_gone_with_the_settle(tmp_path):
    async with Bench.opened(tmp_path, summaries="model", descriptions="model", description_chars=100, subgraph_entities=40) as bench:
        bench.reply = lambda prompt: "Zanzibar is told of here, and of no other place."
        await bench.add("1.md", ("Ward", "Zanzibar"), related=[("Ward", "Zanzibar")])
        await bench.add("2.md", ("Ward", "Pump"), related=[("Ward", "Pump")])
        await bench.settle()
        while bench.strategy.stale:
            await bench.refine()
        assert "Zanzibar" in bench.everything_stored()
        await bench.remove("1.md")
        await bench.settle()
        bench.database.erase()
        assert "zanzibar" not in bench.everything_stored().lower()
        assert b"zanzibar" not in bench.database.path.read_bytes().lower()


async def test_long_descriptions_are_shortened_by_the_model_and_shown(tmp_path):
    async with Bench.opened(tmp_path, descriptions="model", description_chars=100) as bench:
        bench.reply = lambda prompt: WRITTEN
        await bench.add("1.md", ("Ward",))
        await bench.add("2.md", ("Ward",))
        await bench.settle()
        assert bench.strategy.stale == 1
        await bench.refine()
        assert (bench.graph_now().entities["ward"].description, bench.strategy.stale) == (WRITTEN, 0)
        async with Bench.opened(bench.database.path.parent, descriptions="model", description_chars=100) as again:
            assert again.graph_now().entities["ward"].description == WRITTEN


async def test_a_settle_with_nothing_new_is_no_news_for_the_cloud(bench):
    await pairs(bench)
    await bench.settle()
    version = bench.graph.version()
    await bench.settle()
    await bench.add("again.md", ("Ward", "Pump"), related=[("Ward", "Pump")])
    await bench.remove("again.md")
    await bench.settle()
    assert bench.graph.version() == version


async def test_one_document_changes_only_the_summaries_that_it_touches(tmp_path):
    async with Bench.opened(tmp_path, subgraph_entities=4) as bench:
        for place in range(12):
            names = tuple(f"Thing {place} {letter}" for letter in "abcd")
            await bench.add(f"{place}.md", names, related=[(names[0], other) for other in names[1:]])
        await bench.settle()
        before = {summary.summary_id: summary.text for summary in bench.graph.summaries()}
        await bench.add("new.md", ("Thing 3 a", "Novelty"), related=[("Thing 3 a", "Novelty")])
        await bench.settle()
        after = {summary.summary_id: summary.text for summary in bench.graph.summaries()}
        assert len(before) == 12
        assert len(set(after.items()) - set(before.items())) <= 2
        assert set(before) <= set(after)


async def test_a_stop_between_add_and_settle_is_made_good_at_the_next_start(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        await bench.add("1.md", ("Ward", "Pump"), related=[("Ward", "Pump")])
    async with Bench.opened(tmp_path) as again:
        assert set(again.graph_now().relations) == {("pump", "ward")}
        assert len(again.texts()) == 1


async def test_what_is_lost_of_the_derived_rows_is_made_again_at_the_next_start(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        await pairs(bench)
        await bench.settle()
        before = bench.fingerprint()
        with bench.database.write() as tx:
            tx.execute("DELETE FROM vectors WHERE kind != 'chunk' AND key LIKE 'p%'")
            tx.execute("DELETE FROM subgraphs WHERE subgraph_id = (SELECT min(subgraph_id) FROM subgraphs)")
            tx.execute("DELETE FROM summaries WHERE summary_id = (SELECT max(summary_id) FROM summaries)")
    async with Bench.opened(tmp_path) as again:
        assert again.fingerprint() == before
        assert len(again.texts()) == 3


async def test_indexes_are_built_and_searched_beside_the_event_loop(bench, monkeypatch):
    threads = set()

    def opened(name, dimensions):
        index = open_index(name, dimensions)

        def watched(method):
            def call(*args, **kwargs):
                threads.add(threading.get_ident())
                return method(*args, **kwargs)

            return call

        for method in ("put", "top", "scores"):
            monkeypatch.setattr(index, method, watched(getattr(index, method)))
        return index

    monkeypatch.setattr(view_module, "open_index", opened)
    await bench.add("1.md", ("Ward", "Pump"), related=[("Ward", "Pump")])
    dgrag = DGRAG.from_settings(bench.tools, EdgeSettings(state_dir=bench.database.path.parent))
    await dgrag.open()
    assert (await dgrag.retrieve("Which pump?", budget_tokens=99, top_k=5)).evidence
    assert threads
    assert threading.get_ident() not in threads
