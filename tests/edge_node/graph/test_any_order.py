"""Insert, update, delete, settle, refine and restart in any order, with settles that fail: what is left equals a fresh build of the same
documents (design §4), and memory equals the store.
"""

import asyncio
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.graph.mentions import MentionStore
from edge_node.graph.repair import modularity
from edge_node.graph.update import GraphUpdater
from shared.errors import DiskFull, ModelUnavailable
from shared.models.fake import HashEmbedder
from tests.support.hash_model import reply
from tests.support.memory import misjudged_parts, unlike_the_store
from tests.support.settling import ALL_CHANNELS, Bench

NAMES = [
    "Brackwell Works", "Brackwel Works", "Brackwell Wrks", "Gross Domestic Product", "Great Dane Puppies", "GDP", "Cardiology Ward",
    "Cardiology Wards", "Ward of Cardiology", "Hypertension", "Hypotension", "Maristow Pump", "Maristow Pumps", "Mill", "River", "Gate",
]  # fmt: skip
DEFINITIONS = [("Gross Domestic Product", "GDP"), ("Great Dane Puppies", "GDP")]
MOST_PARTS_LOSS = 0.02  # of a fresh build's modularity
FAULTS = ["embedder", "embedder, later", "disk", "cancelled"]
PLAIN = {"subgraph_entities": 3}
BY_MODEL = PLAIN | {"summaries": "model", "summary_staleness": 0.0, "descriptions": "model", "description_chars": 100}


class OneDirection(HashEmbedder):
    """All texts mean the same, so that spelling alone decides about aliases."""

    async def embed(self, texts):
        return await super().embed(["same"] * len(texts))


@st.composite
def contents(draw):
    names = tuple(draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True)))
    pairs = [(a, b) for a in names for b in names if a != b]
    related = draw(st.lists(st.sampled_from(pairs), max_size=4)) if pairs else []
    known = [definition for definition in DEFINITIONS if definition[0] in names and definition[1] in names]
    return names, tuple(related), tuple(known)


put = st.tuples(st.just("put"), st.sampled_from("abcdef"), contents())
others = st.tuples(st.sampled_from(["remove", "settle", "restart", "remove", "settle"]), st.sampled_from("abcdef"), st.none())
histories = st.lists(st.one_of(put, put, others), max_size=14)
troubles = st.one_of(st.tuples(st.just("fail"), st.sampled_from(FAULTS), st.none()), st.tuples(st.just("refine"), st.just("a"), st.none()))
troubled_histories = st.lists(st.one_of(put, put, others, troubles), max_size=18)


async def live(folder, history, embedder, **knobs):
    """What is left after a history: the bench's fingerprint, its partition's worth, and the documents."""
    documents = {}
    place = 0
    while True:
        async with Bench.opened(folder, embedder=embedder, retrieval=ALL_CHANNELS, **knobs) as bench:
            bench.reply = reply
            bench.ids = {name: bench.documents.list(limit=1, name=name)[0]["document_id"] for name in documents}
            while place < len(history) and history[place][0] != "restart":
                action, name, content = history[place]
                place += 1
                if action == "put":
                    documents[name] = content
                    await bench.add(name, content[0], related=content[1], definitions=content[2])
                elif action == "remove" and documents.pop(name, None):
                    await bench.remove(name)
                elif action == "settle":
                    await bench.settle()
                elif action == "refine":
                    await bench.refine()
                elif action == "fail":
                    await failing_settle(bench, fault=name)
            if place == len(history):
                await bench.settle()
                while bench.strategy.stale:
                    await bench.refine()
                return outcome(bench), documents
            place += 1


async def failing_settle(bench, *, fault):
    """A settle that ends at this fault, if it comes so far; whoever calls it again must find all as it should be."""
    embed, commit, calls = bench.tools.embedder.embed, bench.graph.commit, []
    loop, settle = asyncio.get_running_loop(), asyncio.create_task(bench.settle())

    async def embedding(texts):
        calls.append(texts)
        if len(calls) > FAULTS.index(fault):
            raise ModelUnavailable("the embedder is away")
        return await embed(texts)

    def committing(settlement):
        if fault == "disk":
            raise DiskFull("edge.db")
        loop.call_soon_threadsafe(settle.cancel)
        commit(settlement)

    place = (bench.tools.embedder, "embed", embedding) if "embedder" in fault else (bench.graph, "commit", committing)
    with patch.object(*place):
        await asyncio.wait([settle])
    assert settle.cancelled() or settle.exception() is None or isinstance(settle.exception(), DiskFull | ModelUnavailable)


def outcome(bench):
    parts, graph = bench.parts_now(), bench.graph_now()
    assert sorted(parts.home) == sorted(graph.entities)
    assert sorted(key for keys in parts.members.values() for key in keys) == sorted(graph.entities)
    assert max(map(len, parts.members.values()), default=0) <= 3
    assert bench.graph.summary_ids() == set(parts.members) == set(bench.graph.subgraphs())
    assert [*unlike_the_store(bench.strategy)] == []
    assert "model" not in bench.strategy.write_path.updater._settings.summaries or [*misjudged_parts(bench.strategy)] == []
    fingerprint = bench.fingerprint() if graph.entities else ([], [])
    return fingerprint, modularity(bench.adjacency_now(), parts.home), {row["key"]: row["canonical"] for row in aliases(bench)}


def aliases(bench):
    return bench.database.rows("SELECT key, canonical FROM aliases ORDER BY key")


async def compare(history, embedder, knobs=PLAIN):
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        (found, worth, merged), documents = await live(Path(first), history, embedder, **knobs)
        fresh = [("put", name, documents[name]) for name in sorted(documents)]
        (expected, fresh_worth, fresh_merged), _ = await live(Path(second), fresh, embedder, **knobs)
    assert found == expected
    assert merged == fresh_merged
    assert worth >= fresh_worth - MOST_PARTS_LOSS * abs(fresh_worth)


@pytest.mark.parametrize("embedder", [HashEmbedder, OneDirection])
@given(history=histories)
@settings(max_examples=10, deadline=None)
def test_any_history_equals_a_fresh_build(embedder, history):
    asyncio.run(compare(history, embedder()))


@pytest.mark.campaign
@pytest.mark.parametrize("embedder", [HashEmbedder, OneDirection])
@given(history=troubled_histories)
@settings(max_examples=30, deadline=None)
def test_any_history_with_failures_and_a_model_equals_a_fresh_build(embedder, history):
    asyncio.run(compare(history, embedder(), BY_MODEL))


@pytest.mark.long
@pytest.mark.parametrize("embedder", [HashEmbedder, OneDirection])
@pytest.mark.parametrize("knobs", [PLAIN, BY_MODEL], ids=["plain", "by model"])
@given(history=troubled_histories)
@settings(max_examples=1000, deadline=None)
def test_any_of_a_thousand_histories_equals_a_fresh_build(embedder, knobs, history):
    asyncio.run(compare(history, embedder(), knobs))


async def test_null_control_a_settle_that_overlooks_removals_is_found_out(monkeypatch):
    whole = MentionStore.changes

    def forgetful(self):
        changes = whole(self)
        kept = {key: removed for key, removed in changes.entities.items() if not removed}
        return type(changes)(changes.seq, kept, {pair: removed for pair, removed in changes.relations.items() if not removed})

    monkeypatch.setattr(MentionStore, "changes", forgetful)
    history = [("put", "a", (("Mill", "River"), (("Mill", "River"),), ())), ("settle", "a", None), ("remove", "a", None)]
    with pytest.raises(AssertionError):
        await compare(history, HashEmbedder())


async def test_null_control_a_settle_that_does_not_read_the_store_again_after_a_failure_is_found_out(monkeypatch):
    history = [("put", "a", (("Mill", "River"), (("Mill", "River"),), ())), ("fail", "embedder, later", None), ("settle", "a", None)]
    await compare(history, HashEmbedder())
    monkeypatch.setattr(GraphUpdater, "_doubtful", property(lambda self: False, lambda self, value: None), raising=False)
    with pytest.raises(AssertionError):
        await compare(history, HashEmbedder())
