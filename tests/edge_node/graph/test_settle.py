import asyncio
import threading

import pytest

from edge_node.graph import view as view_module
from edge_node.records import silent
from edge_node.settings import EdgeSettings
from edge_node.strategies.index import open_strategy
from shared.errors import DiskFull, ModelReplyError, ModelTimeout, ModelUnavailable
from shared.index import open_index
from shared.models.fake import HashEmbedder
from tests.support.settling import ALL_CHANNELS, Bench

WRITTEN = "The ward has pumps, and it is about wards."


class OneDirection(HashEmbedder):
    """All texts mean the same."""

    async def embed(self, texts):
        return await super().embed(["same"] * len(texts))


@pytest.fixture
async def bench(tmp_path):
    async with Bench.opened(tmp_path, retrieval=ALL_CHANNELS) as opened:
        yield opened


@pytest.fixture
async def writing(tmp_path):
    """A bench whose model writes summaries and long descriptions."""
    async with Bench.opened(tmp_path, summaries="model") as opened:
        opened.reply = lambda prompt: WRITTEN
        yield opened


def raising(error):
    def reply(_):
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
    async with Bench.opened(tmp_path, retrieval=ALL_CHANNELS) as bench:
        await bench.add("1.md", ("Ward", "Pump"), related=[("Ward", "Pump")])
    async with Bench.opened(tmp_path, retrieval=ALL_CHANNELS) as again:
        assert set(again.graph_now().relations) == {("pump", "ward")}
        assert len(again.texts()) == 1


async def test_what_is_lost_of_the_derived_rows_is_made_again_at_the_next_start(tmp_path):
    async with Bench.opened(tmp_path, retrieval=ALL_CHANNELS) as bench:
        await pairs(bench)
        await bench.settle()
        before = bench.fingerprint()
        with bench.database.write() as tx:
            tx.execute("DELETE FROM vectors WHERE kind != 'chunk' AND key LIKE 'p%'")
            tx.execute("DELETE FROM subgraphs WHERE subgraph_id = (SELECT min(subgraph_id) FROM subgraphs)")
            tx.execute("DELETE FROM summaries WHERE summary_id = (SELECT max(summary_id) FROM summaries)")
    async with Bench.opened(tmp_path, retrieval=ALL_CHANNELS) as again:
        assert again.fingerprint() == before
        assert len(again.texts()) == 3


async def test_vectors_that_no_channel_reads_are_not_made_and_nothing_else_is_different(tmp_path, bench):
    (tmp_path / "lean").mkdir()
    async with Bench.opened(tmp_path / "lean", retrieval="dense,lexical,pagerank") as lean:
        for one in (bench, lean):
            await pairs(one)
            await one.settle()
        (entities, relations, rows), full = lean.fingerprint(), bench.fingerprint()
        assert (rows["entity"], rows["relation"], rows["chunk"]) == ([], [], full[2]["chunk"])
        assert (entities, relations, lean.texts(), lean.parts_now().members) == (*full[:2], bench.texts(), bench.parts_now().members)


async def test_a_channel_that_is_switched_on_gets_its_vectors_at_the_next_start_and_one_that_is_switched_off_loses_them(tmp_path):
    counts = []
    for channels in ("dense", "dense,entities", "dense,entities,relations", "dense,relations", "dense"):
        async with Bench.opened(tmp_path, retrieval=channels) as bench:
            if not counts:
                await pairs(bench)
                await bench.settle()
            rows = bench.fingerprint()[2]
            counts.append((len(rows["entity"]), len(rows["relation"])))
    assert counts == [(0, 0), (6, 0), (6, 3), (0, 3), (0, 0)]


async def test_after_a_commit_that_failed_the_next_settle_shows_everything(bench, monkeypatch):
    await pairs(bench)
    commit = bench.graph.commit
    monkeypatch.setattr(bench.graph, "commit", raising(DiskFull(bench.database.path)))
    with pytest.raises(DiskFull):
        await bench.settle()
    monkeypatch.setattr(bench.graph, "commit", commit)
    await bench.settle()
    assert len(bench.fingerprint()[2]["entity"]) == 6


async def test_a_settle_that_is_cancelled_while_it_commits_is_made_good_by_the_next(bench, monkeypatch):
    await pairs(bench)
    begun, may_end = threading.Event(), threading.Event()
    commit = bench.graph.commit

    def slow(settlement):
        begun.set()
        may_end.wait(10)
        commit(settlement)

    monkeypatch.setattr(bench.graph, "commit", slow)
    task = asyncio.create_task(bench.settle())
    await asyncio.to_thread(begun.wait)
    task.cancel()
    await asyncio.wait([task])
    monkeypatch.setattr(bench.graph, "commit", commit)
    again = asyncio.create_task(bench.settle())
    may_end.set()
    await again
    assert len(bench.fingerprint()[2]["entity"]) == 6


class NoNaN(HashEmbedder):
    """Cannot embed one name."""

    async def embed(self, texts):
        if any("Cursed" in text for text in texts):
            raise ModelReplyError("NaN")
        return await super().embed(texts)


async def test_a_name_that_cannot_be_embedded_costs_only_its_own_vector(tmp_path):
    async with Bench.opened(tmp_path, embedder=NoNaN(), retrieval=ALL_CHANNELS) as bench:
        await pairs(bench)
        await bench.add("bad.md", ("Cursed", "Ward"), related=[("Cursed", "Ward")], text="harmless")
        await bench.settle()
        assert "cursed" in bench.graph_now().entities
        assert len(bench.fingerprint()[2]["entity"]) == 6
    async with Bench.opened(tmp_path, embedder=NoNaN(), retrieval=ALL_CHANNELS) as again:
        assert "cursed" in again.graph_now().entities
        assert (again.graph.mentions.changes().seq, len(again.texts())) == (0, 4)


async def test_a_model_summary_of_a_part_that_an_entity_has_left_is_gone_with_its_document(tmp_path):
    async with Bench.opened(tmp_path, summaries="model", subgraph_entities=6) as bench:
        bench.reply = lambda prompt: "Zanzibar is told of here, and of no other place."
        await bench.add("1.md", ("Ward", "Zanzibar", "Pump", "Lamp"), related=[("Ward", "Zanzibar"), ("Ward", "Pump"), ("Ward", "Lamp")])
        await bench.settle()
        await bench.refine()
        for place in range(6):  # draws Zanzibar into another part
            names = ("Zanzibar", *(f"Island {place} {letter}" for letter in "abc"))
            await bench.add(f"island {place}.md", names, related=[("Zanzibar", name) for name in names[1:]])
        await bench.settle()
        kept = {summary.summary_id for summary in bench.graph.summaries() if "Zanzibar" in summary.text}
        assert kept
        for name in ("1.md", *(f"island {place}.md" for place in range(6))):
            await bench.remove(name)
        await bench.add("2.md", ("Ward", "Pump", "Lamp"), related=[("Ward", "Pump"), ("Ward", "Lamp")])
        await bench.settle()
        assert not any("zanzibar" in text.lower() for text in bench.texts())


async def test_a_description_is_not_filed_under_texts_that_it_was_not_made_of(tmp_path):
    async with Bench.opened(tmp_path, descriptions="model", description_chars=100) as bench:
        bench.reply = lambda prompt: f"Told of: {prompt.messages[-1].content}"
        await bench.add("1.md", ("Ward",))
        await bench.add("2.md", ("Ward",))
        await bench.settle()
        await bench.add("3.md", ("Ward",), text="Zanzibar")
        await bench.refine()
        await bench.remove("3.md")
        await bench.settle()
        await bench.refine()
        assert "zanzibar" not in bench.everything_stored().lower()


async def test_descriptions_of_the_model_are_gone_when_it_is_not_to_write_them_any_more(tmp_path):
    async with Bench.opened(tmp_path, descriptions="model", description_chars=100) as bench:
        bench.reply = lambda prompt: WRITTEN
        await bench.add("1.md", ("Ward",))
        await bench.add("2.md", ("Ward",))
        await bench.settle()
        await bench.refine()
    async with Bench.opened(tmp_path, descriptions="joined", description_chars=100) as again:
        assert again.database.rows("SELECT * FROM descriptions") == []
        assert again.graph_now().entities["ward"].description != WRITTEN


async def test_summaries_are_not_asked_for_when_they_are_not_the_models_work_any_more(tmp_path):
    async with Bench.opened(tmp_path, summaries="model") as bench:
        await pairs(bench)
        await bench.settle()
        assert bench.strategy.stale == 3
    async with Bench.opened(tmp_path, summaries="extractive") as again:
        await again.refine()
        assert (again.strategy.stale, again.model.prompts) == (0, [])
    async with Bench.opened(tmp_path, summaries="model") as back:
        assert back.strategy.stale == 3


async def test_a_plain_summary_of_former_settings_tells_nothing_of_an_entity_that_left_its_part(tmp_path):
    async with Bench.opened(tmp_path, subgraph_entities=6) as bench:
        await bench.add("1.md", ("Ward", "Zanzibar", "Pump", "Lamp"), related=[("Ward", "Zanzibar"), ("Ward", "Pump"), ("Ward", "Lamp")])
        await bench.settle()
    async with Bench.opened(tmp_path, summaries="model", subgraph_entities=6) as bench:
        bench.reply = raising(ModelUnavailable("away"))
        for place in range(6):  # draws Zanzibar into another part
            names = ("Zanzibar", *(f"Island {place} {letter}" for letter in "abc"))
            await bench.add(f"island {place}.md", names, related=[("Zanzibar", name) for name in names[1:]])
        await bench.settle()
        homes = bench.parts_now()
        assert homes.home["zanzibar"] != homes.home["ward"]
        assert not any("Zanzibar" in s.text for s in bench.graph.summaries() if s.summary_id == homes.home["ward"])


async def test_a_strategy_without_a_graph_forgets_that_of_another(tmp_path):
    async with Bench.opened(tmp_path, retrieval=ALL_CHANNELS) as bench:
        await bench.add("1.md", ("Ward", "Zanzibar"), related=[("Ward", "Zanzibar")])
        await bench.settle()
        version = bench.graph.version()
        naive = open_strategy(bench.tools, EdgeSettings(strategy="naive", state_dir=tmp_path))
        await naive.open()
        await naive.settle(silent)
        await bench.remove("1.md")
        await naive.settle(silent)
        assert (bench.graph.summaries(), bench.graph.version()) == ([], version + 1)
        bench.database.erase()
        assert "zanzibar" not in bench.everything_stored().lower()


async def test_a_relation_whose_end_another_document_names_later_is_shown_then(bench):
    await bench.add("1.md", ("Ward",), related=[("Ward", "Pump")])
    await bench.settle()
    assert bench.graph_now().relations == {}
    await bench.add("2.md", ("Pump",))
    await bench.settle()
    assert set(bench.graph_now().relations) == {("pump", "ward")}


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
    dgrag = open_strategy(bench.tools, EdgeSettings(state_dir=bench.database.path.parent))
    await dgrag.open()
    assert (await dgrag.retrieve("Which pump?", budget_tokens=99, top_k=5)).evidence
    assert threads
    assert threading.get_ident() not in threads
