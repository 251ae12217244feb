"""The Cognizer over a real store, with the memories and hyperedges that idle time makes of it."""

import contextlib

import pytest
from pydantic import ValidationError

from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore
from edge_node.graph.store import GraphStore
from edge_node.graph.tools import Tools
from edge_node.records import silent
from edge_node.settings import EdgeSettings
from edge_node.strategies import fdrag
from edge_node.strategies.index import open_strategy
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.ports import SystemClock
from shared.records import Chunk
from tests.support.sharing import sharing_of

TEXTS = {
    "mill.md": "Orrin Mill was built by Ann Lee in 1881. The mill has forty looms.",
    "pump.md": "The Maristow Pump uses the CX-40 battery pack. Brackwell Works makes the Maristow Pump.",
    "gate.md": "Thornby Builders built the Heron Gate Barrier in 1998. The Heron Gate Barrier protects Port Tessel.",
}
QUESTION = "What does the Heron Gate Barrier protect?"


@contextlib.asynccontextmanager
async def opened(folder, *, facts_share=fdrag.FACTS_SHARE, **settings):
    folder.mkdir(exist_ok=True)
    database = Database(folder / "edge.db")
    documents, graph = DocumentStore(database, SystemClock()), GraphStore(database)
    generator, sharing = ScriptedGenerator(lambda prompt: ""), sharing_of(documents, graph)
    tools = Tools("ward", documents, graph, HashEmbedder(), generator, sharing, WordTokenizer(), "numpy")
    strategy = open_strategy(tools, EdgeSettings(**{"strategy": "fdrag", "state_dir": folder} | settings))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fdrag, "FACTS_SHARE", facts_share)
        try:
            await strategy.open()
            yield strategy, documents
        finally:
            database.close()


async def filled(strategy, documents, names=tuple(TEXTS)):
    """All documents, and everything made of them that idle time makes."""
    for name in names:
        accepted = documents.accept(name, TEXTS[name].encode(), reader=name)
        chunk = Chunk(f"{accepted.document_id}:0", accepted.document_id, 0, TEXTS[name], 0, len(TEXTS[name]), 20)
        await strategy.add([chunk], silent)
    await idle(strategy)


async def idle(strategy):
    await strategy.settle(silent)
    while strategy.stale:
        await strategy.refine(silent)


async def found(strategy, question=QUESTION, **fields):
    return await strategy.retrieve(question, **({"budget_tokens": 600, "top_k": 10} | fields))


async def test_a_memory_leads_to_its_passage_and_its_facts_are_told_beside(tmp_path):
    async with opened(tmp_path, facts_share=0.1) as (strategy, documents):
        await filled(strategy, documents)
        assert (await strategy.memories.counts())["template"] > 0
        retrieval = await found(strategy)
        assert retrieval.evidence[0].document == "gate.md"
        assert -1 <= retrieval.evidence[0].score <= 1
        assert retrieval.facts[0] == "the Heron Gate Barrier protects Port Tessel"


async def test_one_memory_is_enough_to_lead_and_of_facts_none_need_be_told(tmp_path):
    async with opened(tmp_path, memory_k=1, facts_share=0.0) as (strategy, documents):
        await filled(strategy, documents)
        retrieval = await found(strategy)
        assert (retrieval.evidence[0].document, retrieval.facts) == ("gate.md", ())


async def test_a_memory_may_lead_to_its_own_chunk_only(tmp_path):
    async with opened(tmp_path, memory_edges="chunks") as (strategy, documents):
        await filled(strategy, documents)
        assert (await found(strategy)).evidence[0].document == "gate.md"


async def test_what_came_after_the_last_idle_time_is_found_too(tmp_path):
    async with opened(tmp_path) as (strategy, documents):
        await filled(strategy, documents, ["mill.md", "pump.md"])
        accepted = documents.accept("gate.md", TEXTS["gate.md"].encode(), reader="gate.md")
        await strategy.add(
            [Chunk(f"{accepted.document_id}:0", accepted.document_id, 0, TEXTS["gate.md"], 0, len(TEXTS["gate.md"]), 20)], silent
        )
        assert "gate.md" in {item.document for item in (await found(strategy)).evidence}


async def test_what_is_removed_is_found_and_told_no_more_at_once_and_after_idle_time(tmp_path):
    async with opened(tmp_path, facts_share=0.1) as (strategy, documents):
        await filled(strategy, documents)
        gone = next(item.document_id for item in (await found(strategy)).evidence if item.document == "gate.md")
        await strategy.forget(documents.remove(gone).chunks)
        for _ in range(2):
            retrieval = await found(strategy)
            assert {item.document for item in retrieval.evidence} == {"mill.md", "pump.md"}
            assert not any("Heron" in line for line in retrieval.facts)
            await idle(strategy)


async def test_who_may_not_see_all_gets_what_is_nearest_and_no_fact(tmp_path):
    async with opened(tmp_path, facts_share=0.1) as (strategy, documents):
        await filled(strategy, documents)
        mill = next(item.document_id for item in (await found(strategy)).evidence if item.document == "mill.md")
        retrieval = await found(strategy, withheld=frozenset({mill}))
        assert {item.document for item in retrieval.evidence} == {"gate.md", "pump.md"}
        assert retrieval.facts == ()


async def test_a_restart_finds_the_same(tmp_path):
    async with opened(tmp_path) as (strategy, documents):
        await filled(strategy, documents)
        before = await found(strategy)
    async with opened(tmp_path) as (strategy, _):
        await idle(strategy)
        assert await found(strategy) == before


def test_it_cannot_search_where_nothing_is_remembered():
    for settings in ({"strategy": "fdrag"}, {"strategy": "mix", "mix": "fdrag=0.5,naive=0.5"}):
        with pytest.raises(ValidationError, match="set memory to plain or model"):
            EdgeSettings(memory="off", **settings)
