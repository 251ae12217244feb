"""One suite for every strategy (style: a new strategy is tested by adding one name)."""

import contextlib

import pytest

from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore
from edge_node.graph.store import GraphStore
from edge_node.graph.tools import Tools
from edge_node.settings import EdgeSettings
from edge_node.strategies.index import METHODS, open_strategy
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.ports import SystemClock
from shared.records import Chunk
from tests.support.sharing import sharing_of

VARIANTS = ("text", "knng", "keyword", "skeleton", "ket-u", "ket-p")
STRATEGIES = {
    "naive": {"strategy": "naive"},
    "dgrag": {"strategy": "dgrag"},
    **{f"ketrag {variant}": {"strategy": "ketrag", "ket_variant": variant} for variant in VARIANTS},
    "ketrag in pieces": {"strategy": "ketrag", "ket_splits": 2, "ket_keywords": "words", "ket_weights": "plain", "ket_order": "cosine"},
    "erarag": {"strategy": "erarag", "tree_min": 2, "tree_max": 3},
    "erarag summarised": {"strategy": "erarag", "tree_min": 2, "tree_max": 3, "tree_search": "summarised"},
    "graphrag": {"strategy": "graphrag"},
    "fdrag": {"strategy": "fdrag"},
    "mix of dgrag and naive": {"strategy": "mix", "mix": "dgrag=0.5,naive=0.5"},
    "mix of ketrag and erarag": {"strategy": "mix", "mix": "ketrag=0.6,erarag=0.4"},
    "mix of dgrag and fdrag": {"strategy": "mix", "mix": "dgrag=0.6,fdrag=0.4"},
    "mix of graphrag and dgrag": {"strategy": "mix", "mix": "graphrag=0.5,dgrag=0.5"},
}
WITHOUT_SUMMARIES = {"naive", "fdrag"}
TEXTS = {
    "ward.md": "Juniper Ward bought the Fenlow Ventilator in March. The Fenlow Ventilator has an air filter.",
    "pump.md": "The Maristow Pump uses the CX-40 battery pack. Brackwell Works makes the Maristow Pump.",
    "gate.md": "Thornby Builders built the Heron Gate Barrier in 1998. The Heron Gate Barrier protects Port Tessel.",
}


class Bench:
    """A strategy on a store in a folder."""

    def __init__(self, folder, name):
        self.database = Database(folder / "edge.db")
        self.documents = DocumentStore(self.database, SystemClock())
        self.graph = GraphStore(self.database)
        generator, sharing = ScriptedGenerator(lambda prompt: ""), sharing_of(self.documents, self.graph)
        tools = Tools("ward", self.documents, self.graph, HashEmbedder(), generator, sharing, WordTokenizer(), "numpy")
        self.strategy = open_strategy(tools, EdgeSettings(**STRATEGIES[name], state_dir=folder))

    async def add(self, name):
        text = TEXTS[name]
        accepted = self.documents.accept(name, text.encode(), reader=name)
        chunk = Chunk(f"{accepted.document_id}:0", accepted.document_id, 0, text, 0, len(text), WordTokenizer().count(text))
        await self.strategy.add([chunk], silent)
        return accepted.document_id

    async def remove(self, document_id):
        await self.strategy.forget(self.documents.remove(document_id).chunks)

    async def settle(self):
        await self.strategy.settle(silent)

    async def found(self, question="Which battery pack does the Maristow Pump use?"):
        return await self.strategy.retrieve(question, budget_tokens=200, top_k=10)

    def summaries(self):
        return sorted(summary.text for summary in self.graph.summaries())


def everything(bench):
    """Every text in every table."""
    tables = [row["name"] for row in bench.database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return " ".join(str(tuple(row)) for table in tables for row in bench.database.rows(f"SELECT * FROM {table}"))


def silent(step, done, total):
    """No progress is shown."""


async def idle(bench):
    """Idle time, until nothing waits any more."""
    await bench.settle()
    while before := bench.strategy.stale:
        await bench.strategy.refine(silent)
        assert bench.strategy.stale < before


async def remembered(bench):
    """All memories, and what is recalled for a question."""
    question = "What does the Heron Gate Barrier protect?"
    vector = (await HashEmbedder().embed([question]))[0]
    return await bench.strategy.memories.page(), await bench.strategy.memories.recalled(question, vector, k=20, floor=-1)


@contextlib.asynccontextmanager
async def bench(folder, name):
    opened = Bench(folder, name)
    await opened.strategy.open()
    try:
        yield opened
    finally:
        opened.database.close()


@pytest.fixture(params=STRATEGIES)
def name(request):
    return request.param


async def test_an_empty_strategy_finds_nothing(tmp_path, name):
    async with bench(tmp_path, name) as empty:
        assert (await empty.found()).evidence == ()
        await empty.settle()
        assert empty.strategy.counts() == {"entities": 0, "relations": 0, "subgraphs": 0, "summaries": 0}


async def test_the_passage_that_answers_is_first_and_knows_its_place(tmp_path, name):
    async with bench(tmp_path, name) as filled:
        for text in TEXTS:
            await filled.add(text)
        await filled.settle()
        best = (await filled.found()).evidence[0]
        assert (best.edge, best.document, best.text) == ("ward", "pump.md", TEXTS["pump.md"][slice(*best.span)])
        assert -1 <= best.score <= 1


async def test_passages_are_found_before_the_graph_is_settled(tmp_path, name):
    async with bench(tmp_path, name) as unsettled:
        await unsettled.add("pump.md")
        assert {item.document for item in (await unsettled.found()).evidence} == {"pump.md"}


async def test_adding_twice_equals_adding_once(tmp_path, name):
    async with bench(tmp_path / "once", name) as once, bench(tmp_path / "twice", name) as twice:
        await once.add("pump.md")
        await twice.add("pump.md")
        await twice.add("pump.md")
        for one in (once, twice):
            await one.settle()
        assert await once.found() == await twice.found()
        assert once.summaries() == twice.summaries()
        assert once.strategy.counts() == twice.strategy.counts()


async def reports(bench):
    """Every report of every level."""
    found = {one.community.community_id for level in range(4) for one in await bench.strategy.reports.communities(level, limit=1000)}
    return [await bench.strategy.reports.report(community_id) for community_id in sorted(found)]


async def test_reports_tell_of_the_documents_that_are_there_and_of_no_other(tmp_path, name):
    if name in WITHOUT_SUMMARIES:
        pytest.skip("builds no graph")
    async with bench(tmp_path, name) as filled:
        await filled.add("pump.md")
        gone = await filled.add("gate.md")
        await filled.settle()
        assert "Heron Gate Barrier" in str(await reports(filled))
        await filled.remove(gone)
        for _ in range(2):  # before the settle, and behind it
            assert "Maristow Pump" in str(await reports(filled))
            assert "Heron" not in str(await reports(filled))
            await filled.settle()


async def test_adding_and_removing_equals_never_having_added(tmp_path, name):
    async with bench(tmp_path / "never", name) as never, bench(tmp_path / "removed", name) as removed:
        await never.add("pump.md")
        gone = await removed.add("gate.md")
        await removed.settle()
        await removed.add("pump.md")
        await removed.remove(gone)
        for one in (never, removed):
            await one.settle()
        assert await never.found() == await removed.found()
        assert never.summaries() == removed.summaries()
        assert never.strategy.counts() == removed.strategy.counts()


async def test_the_order_of_adding_makes_no_difference(tmp_path, name):
    async with bench(tmp_path / "forth", name) as forth, bench(tmp_path / "back", name) as back:
        for text in sorted(TEXTS):
            await forth.add(text)
        for text in sorted(TEXTS, reverse=True):
            await back.add(text)
        for one in (forth, back):
            await one.settle()
        assert [item.document for item in (await forth.found()).evidence] == [item.document for item in (await back.found()).evidence]
        assert forth.summaries() == back.summaries()


async def test_a_restart_gives_the_same_answers(tmp_path, name):
    async with bench(tmp_path, name) as before:
        for text in TEXTS:
            await before.add(text)
        await before.settle()
        found, version = await before.found(), before.graph.version()
    async with bench(tmp_path, name) as after:
        assert await after.found() == found
        assert after.graph.version() == version


async def test_the_token_budget_is_kept_but_for_a_first_passage(tmp_path, name):
    async with bench(tmp_path, name) as filled:
        for text in TEXTS:
            await filled.add(text)
        await filled.settle()
        found = await filled.strategy.retrieve("Maristow Pump Heron Gate Juniper Ward", budget_tokens=35, top_k=10)
        assert sum(len(item.text.split()) for item in found.evidence) <= 35
        tiny = await filled.strategy.retrieve("Maristow Pump", budget_tokens=1, top_k=10)
        assert len(tiny.evidence) == 1


async def test_settling_without_news_changes_nothing_for_the_cloud(tmp_path, name):
    async with bench(tmp_path, name) as settled:
        await settled.add("pump.md")
        await settled.settle()
        version = settled.graph.version()
        await settled.settle()
        assert settled.graph.version() == version


def test_every_method_is_in_the_suite():
    named = {method for settings in STRATEGIES.values() for method in METHODS if method in {settings["strategy"], settings.get("mix")}}
    assert named == set(METHODS)


async def test_a_withheld_document_is_neither_shown_nor_told_of(tmp_path, name):
    async with bench(tmp_path, name) as filled:
        ids = {text: await filled.add(text) for text in TEXTS}
        await filled.settle()
        found = await filled.strategy.retrieve(
            "Which battery pack does the Maristow Pump use?", budget_tokens=200, top_k=10, withheld=frozenset({ids["pump.md"]})
        )
        assert "pump.md" not in {item.document for item in found.evidence}
        assert "Maristow" not in " ".join([*found.facts, *(one.text for one in found.summaries), *(item.text for item in found.citable)])


@pytest.mark.parametrize("budget_tokens", [1, 12, 30, 60])
async def test_passages_and_lines_stay_within_the_budget_but_for_a_first_passage(tmp_path, name, budget_tokens):
    async with bench(tmp_path, name) as filled:
        for text in TEXTS:
            await filled.add(text)
        await filled.settle()
        found = await filled.strategy.retrieve("Who makes the Maristow Pump?", budget_tokens=budget_tokens, top_k=10)
        count = WordTokenizer().count
        sizes = [count(item.text) for item in found.evidence]
        assert found.evidence
        lines = sum(map(count, [*found.facts, *(one.text for one in found.summaries)]))
        assert sum(sizes[1:]) + (sizes[0] if len(sizes) > 1 else 0) + lines <= budget_tokens or (len(sizes) == 1 and lines <= budget_tokens)


async def test_no_word_of_a_removed_document_stays_in_the_store(tmp_path, name):
    async with bench(tmp_path, name) as filled:
        ids = {text: await filled.add(text) for text in TEXTS}
        await filled.settle()
        await filled.remove(ids["gate.md"])
        await filled.settle()
        filled.database.erase()
        assert "Thornby" not in everything(filled)
        assert "Maristow" in everything(filled)


@pytest.mark.parametrize("name", sorted(STRATEGIES.keys() - {f"ketrag {variant}" for variant in VARIANTS[:-1]}))  # these read one index
async def test_memories_are_those_of_the_documents_that_are_there_in_any_order_and_after_a_start(tmp_path, name):
    async with bench(tmp_path / "once", name) as once:
        for text in ("gate.md", "pump.md"):
            await once.add(text)
        await idle(once)
        known = await remembered(once)
    assert "Port Tessel" in {one.memory.answer for one in known[0]}
    async with bench(tmp_path / "lived", name) as lived:
        await lived.add("pump.md")
        gone = await lived.add("ward.md")
        await idle(lived)
        await lived.remove(gone)
        assert "Juniper" not in str(await remembered(lived))
        await lived.add("gate.md")
        await idle(lived)
        assert await remembered(lived) == known
        lived.database.erase()
        assert "Juniper" not in everything(lived)
    async with bench(tmp_path / "lived", name) as again:
        assert (await remembered(again), again.strategy.stale) == (known, 0)


async def test_summaries_reach_the_cloud_by_the_ordinary_delta(tmp_path, name):
    async with bench(tmp_path, name) as filled:
        for text in TEXTS:
            await filled.add(text)
        await filled.settle()
        told = filled.graph.delta(epoch="", version=-1)
        assert bool(told.upserts) == (name not in WITHOUT_SUMMARIES)


async def test_what_a_strategy_kept_of_a_removed_document_goes_under_another_strategy_too(tmp_path, name):
    async with bench(tmp_path, name) as first:
        ids = {text: await first.add(text) for text in TEXTS}
        await first.settle()
    async with bench(tmp_path, "naive") as between:
        await between.remove(ids["gate.md"])
        await between.settle()
        between.database.erase()
        assert "Thornby" not in everything(between)


async def test_another_strategy_and_back_is_as_if_nothing_had_been(tmp_path, name):
    async with bench(tmp_path, name) as first:
        for text in TEXTS:
            await first.add(text)
        await first.settle()
        found = await first.found()
    async with bench(tmp_path, "naive") as between:
        await between.settle()
    async with bench(tmp_path, name) as again:
        await again.settle()
        assert (await again.found()).evidence == found.evidence
