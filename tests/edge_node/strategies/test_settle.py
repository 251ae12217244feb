import threading

import pytest

from edge_node.settings import EdgeSettings
from edge_node.store.database import Database
from edge_node.store.documents import DocumentStore
from edge_node.store.graph import GraphStore, VectorRows
from edge_node.strategies.base import Tools, silent
from edge_node.strategies.dgrag import strategy as strategy_module
from edge_node.strategies.dgrag.settle import SettleOptions, Settler
from edge_node.strategies.dgrag.strategy import DGRAG
from shared.clock import SystemClock
from shared.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from shared.index import open_index
from shared.models.fake import HashEmbedder, ScriptedGenerator
from shared.records import Chunk, EntityMention, RelationMention

WRITTEN = "The ward has pumps, and it is about wards."


class OneDirection(HashEmbedder):
    """All texts mean the same."""

    async def embed(self, texts):
        return await super().embed(["same"] * len(texts))


class Bench:
    """A settler on a store with the mentions that a test puts there."""

    def __init__(self, folder, embedder=None):
        self.database = Database(folder / "edge.db")
        self.documents = DocumentStore(self.database, SystemClock())
        self.graph = GraphStore(self.database)
        self.reply = lambda prompt: WRITTEN
        self.model = ScriptedGenerator(lambda prompt: self.reply(prompt))
        self.tools = Tools("ward", self.documents, self.graph, embedder or HashEmbedder(), self.model, "numpy")

    async def mention(self, *names, related=(), description="It is long and plain to see."):
        text = ", ".join(names)
        document_id = self.documents.accept(f"{text}.md", text.encode(), reader="a.md").document_id
        chunk = Chunk(f"{document_id}:0", document_id, 0, text, 0, len(text), 3)
        entities = [EntityMention(name.lower(), name, "concept", f"{name}: {description}", chunk.chunk_id) for name in names]
        relations = [RelationMention(a, b, "", ("has",), 1.0, chunk.chunk_id) for a, b in related]
        vectors = await self.tools.embedder.embed([text])
        self.graph.save_chunks([chunk], entities, relations, VectorRows((chunk.chunk_id,), ("",), vectors))

    async def settle(self, **options):
        knobs = {"descriptions": "joined", "description_chars": 20, "summaries": "model"} | options
        return await Settler(self.tools, SettleOptions(subgraph_entities=2, leiden="igraph", seed=0, **knobs)).settle(silent)

    def texts(self):
        return {summary.text for summary in self.graph.summaries()}


@pytest.fixture
def bench(tmp_path):
    opened = Bench(tmp_path)
    yield opened
    opened.database.close()


def raising(error):
    def reply(prompt):
        raise error

    return reply


async def test_two_spellings_of_one_name_become_one_entity_when_they_are_near_in_meaning(tmp_path):
    bench = Bench(tmp_path, OneDirection())
    await bench.mention("Brackwell Works")
    await bench.mention("Brackwell Works", "Brackwel Works")
    assert set((await bench.settle()).graph.entities) == {"brackwell works"}
    bench.database.close()


async def test_two_spellings_stay_apart_when_they_are_far_in_meaning(bench):
    await bench.mention("Mesencephalon", "Metencephalon")
    assert set((await bench.settle()).graph.entities) == {"mesencephalon", "metencephalon"}


async def pairs(bench):
    """Three parts of two entities each."""
    for a, b in (("Ward", "Pump"), ("Gate", "River"), ("Bank", "Loan")):
        await bench.mention(a, b, related=[(a.lower(), b.lower())])


@pytest.mark.parametrize("error", [ModelUnavailable("away"), ModelTimeout(deadline_s=300)])
async def test_a_model_that_is_away_is_asked_once_in_a_settle(bench, error):
    await pairs(bench)
    bench.reply = raising(error)
    settled = await bench.settle(descriptions="model", description_chars=5)
    assert (len(bench.model.prompts), settled.subgraphs, settled.unfinished) == (1, 3, True)
    assert len(bench.texts()) == 3
    assert WRITTEN not in bench.texts()


async def test_a_later_settle_lets_the_model_write_what_it_missed(bench):
    await pairs(bench)
    bench.reply = raising(ModelUnavailable("away"))
    await bench.settle()
    bench.reply = lambda prompt: WRITTEN
    settled = await bench.settle()
    assert (bench.texts(), settled.unfinished, settled.cost.calls) == ({WRITTEN}, False, 3)


async def test_plain_texts_that_stay_as_they_are_are_no_news_for_the_cloud(bench):
    await pairs(bench)
    bench.reply = raising(ModelUnavailable("away"))
    await bench.settle()
    version = bench.graph.version()
    assert (await bench.settle()).unfinished
    assert bench.graph.version() == version


async def test_one_bad_reply_does_not_stop_the_others(bench):
    await pairs(bench)
    bench.reply = lambda prompt: WRITTEN if len(bench.model.prompts) > 1 else raising(ModelReplyError("nonsense"))(prompt)
    settled = await bench.settle()
    assert (len(bench.model.prompts), settled.unfinished, WRITTEN in bench.texts()) == (3, False, True)


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

    monkeypatch.setattr(strategy_module, "open_index", opened)
    await bench.mention("Ward", "Pump", related=[("pump", "ward")])
    dgrag = DGRAG.from_settings(bench.tools, EdgeSettings(state_dir=bench.database.path.parent))
    await dgrag.open()
    assert (await dgrag.retrieve("Which pump?", budget_tokens=99, top_k=5)).evidence
    assert threads
    assert threading.get_ident() not in threads
