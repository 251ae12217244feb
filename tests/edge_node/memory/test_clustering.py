"""Hyperedges of passages and sentences follow the chunks that are there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.database.chunk_parts import ChunkPartStore
from edge_node.memory.clustering import GRAINS, HypergraphBuilder
from edge_node.memory.hypergraph import Shape
from edge_node.memory.store import IncidenceStore
from edge_node.records import silent
from shared.errors import ModelReplyError
from shared.models.fake import HashEmbedder
from tests.support.settling import Bench

SHAPE = Shape(softness=0.25, spread=0.0, margin=1.0, units=2, keep=0.1, steps=50)
TEXTS = {
    "mill": "Orrin Mill grinds corn. The mill grinds rye too. 1962.",
    "bridge": "Tarrow Bridge crosses the river. The bridge is of iron.",
    "gate": "Heron Gate holds the sea back. The gate is closed at night.",
    "lock": "Fenlow Lock lifts boats. Boats wait at the lock.",
}


@pytest.fixture
async def bench(tmp_path):
    async with Bench.opened(tmp_path, strategy="naive") as opened:
        yield opened


class Groups:
    """A grouping that is told what comes and goes."""

    def __init__(self, bench, **options):
        self.bench = bench
        self.grouping = HypergraphBuilder(bench.tools, **({"shape": SHAPE, "staleness": 0.2, "rows": 1000} | options))
        self.grouping.load()

    async def add(self, *names):
        for name in names:
            document_id = await self.bench.add(name, [], text=TEXTS[name])
            self.grouping.arrived([f"{document_id}:0"], ())

    async def remove(self, name):
        chunk_id = f"{self.bench.ids[name]}:0"
        await self.bench.remove(name)
        self.grouping.forget([chunk_id])

    async def idle(self):
        while before := self.grouping.stale:
            assert await self.grouping.turn(silent)
            assert self.grouping.stale < before
        assert not await self.grouping.turn(silent)

    def said(self, grain):
        """Which units stand together: the keys of each hyperedge's members."""
        graph = self.grouping.hypergraph(grain)
        return {frozenset(graph.keys[row] for row in rows.tolist()) for _, rows in graph.members()}

    def everything(self):
        return {grain: self.said(grain) for grain in GRAINS}


def later(bench, grain="sentence"):
    return sorted(one.later for one in IncidenceStore(bench.database).all(grain))


async def test_passages_and_the_sentences_that_say_something_are_grouped(bench):
    groups = Groups(bench)
    await groups.add("mill", "bridge")
    await groups.idle()
    paragraphs, sentences = (groups.grouping.hypergraph(grain) for grain in GRAINS)
    assert (len(paragraphs), len(sentences)) == (2, 4)  # "1962." has no letter
    held = {
        TEXTS["mill"][slice(*span)].strip()
        for span, key in zip(sentences.spans, sentences.chunk_ids, strict=True)
        if bench.ids["mill"] in key
    }
    assert held == {"Orrin Mill grinds corn.", "The mill grinds rye too."}
    assert np.allclose(sentences.rows.values.sum(axis=1), 1)


async def test_nothing_is_grouped_before_there_was_idle_time(bench):
    groups = Groups(bench)
    await groups.add("mill")
    assert (len(groups.grouping.hypergraph("sentence")), groups.grouping.stale > 0) == (0, True)


async def test_a_chunk_that_is_gone_is_in_no_hyperedge_at_once(bench):
    groups = Groups(bench)
    await groups.add("mill", "bridge")
    await groups.idle()
    await groups.remove("mill")
    assert not any(bench.ids["bridge"] not in key for several in groups.said("sentence") for key in several)
    assert {one.chunk_id for one in IncidenceStore(bench.database).all("sentence")} == {f"{bench.ids['bridge']}:0"}


async def test_a_start_finds_the_groups_as_they_were(bench):
    groups = Groups(bench)
    await groups.add(*TEXTS)
    await groups.idle()
    again = Groups(bench)
    assert (again.grouping.stale, again.everything()) == (0, groups.everything())


async def test_what_was_not_grouped_before_a_stop_is_grouped_after_it(bench):
    await Groups(bench).add("mill")
    after = Groups(bench)
    await after.idle()
    assert len(after.grouping.hypergraph("sentence")) == 2


async def test_a_few_new_chunks_join_what_is_there_and_many_let_all_be_trained_anew(bench):
    groups = Groups(bench, staleness=0.5)
    await groups.add("mill", "bridge", "gate")
    await groups.idle()
    await groups.add("lock")
    await groups.idle()
    assert later(bench) == [False, False, False, True]
    await groups.remove("mill")
    await groups.remove("gate")
    await groups.idle()
    assert later(bench) == [False, False]


async def test_after_a_training_the_groups_are_those_of_a_fresh_build(tmp_path):
    async with Bench.opened(tmp_path / "one", strategy="naive") as one, Bench.opened(tmp_path / "other", strategy="naive") as other:
        lived, fresh = Groups(one, staleness=1.0), Groups(other)
        await lived.add("lock", "mill")
        await lived.idle()
        await lived.add("gate", "bridge")
        await lived.idle()
        await lived.remove("lock")
        await fresh.add("bridge", "gate", "mill")
        await fresh.idle()
        assert lived.everything() != fresh.everything()
        trained = Groups(one, staleness=0.0)
        await trained.idle()
        assert trained.everything() == fresh.everything()


@settings(max_examples=3, deadline=None)
@given(order=st.permutations([*TEXTS]))
async def test_the_order_of_the_first_documents_plays_no_part(tmp_path_factory, order):
    found = []
    for names in (order, [*TEXTS]):
        async with Bench.opened(tmp_path_factory.mktemp("store"), strategy="naive") as bench:
            groups = Groups(bench)
            await groups.add(*names)
            await groups.idle()
            found.append(groups.everything())
    assert found[0] == found[1]


async def test_of_more_sentences_than_are_trained_on_the_others_join(bench):
    groups = Groups(bench, rows=3)
    await groups.add(*TEXTS)
    await groups.idle()
    assert len(groups.grouping.hypergraph("sentence")) == 8
    assert later(bench) == [False] * 4


async def test_a_chunk_without_a_word_is_in_no_group_and_waits_for_nothing(bench):
    groups = Groups(bench)
    document_id = await bench.add("numbers", [], text="1. 2. 3.")
    groups.grouping.arrived([f"{document_id}:0"], ())
    await groups.idle()
    assert len(groups.grouping.hypergraph("sentence")) == 0


async def test_documents_without_a_word_that_come_one_after_the_other_are_in_no_group_either(bench):
    groups = Groups(bench)
    for text in ("1. 2. 3.", "4. 5. 6."):
        document_id = await bench.add(text, [], text=text)
        groups.grouping.arrived([f"{document_id}:0"], ())
        await groups.idle()
    assert groups.said("sentence") == set()
    await groups.add("mill")
    await groups.idle()
    assert len(groups.grouping.hypergraph("sentence")) == 2


async def test_a_document_without_a_word_finds_nothing_left_of_what_was_trained_on(bench):
    groups = Groups(bench, staleness=1.0)
    await groups.add("mill")
    await groups.idle()
    await groups.remove("mill")
    document_id = await bench.add("numbers", [], text="1. 2. 3.")
    groups.grouping.arrived([f"{document_id}:0"], ())
    await groups.idle()
    assert groups.said("sentence") == set()


async def test_the_last_document_that_goes_leaves_nothing_to_do(bench):
    groups = Groups(bench)
    await groups.add("mill")
    await groups.idle()
    await groups.remove("mill")
    assert (groups.grouping.stale, groups.everything()) == (0, {"paragraph": set(), "sentence": set()})
    await groups.add("gate")
    await groups.idle()
    assert len(groups.grouping.hypergraph("sentence")) == 2


async def test_a_chunk_that_comes_again_while_it_is_taken_in_is_taken_in_again(tmp_path):
    class Slow(HashEmbedder):
        on_embed = None

        async def embed(self, texts):
            if self.on_embed:
                self.on_embed()
            return await super().embed(texts)

    embedder = Slow()
    async with Bench.opened(tmp_path, strategy="naive", embedder=embedder) as bench:
        groups = Groups(bench)
        await groups.add("mill")
        chunk_id = f"{bench.ids['mill']}:0"
        embedder.on_embed = lambda: groups.grouping.arrived([chunk_id], ())
        await groups.grouping.turn(silent)
        assert groups.grouping.stale == len(GRAINS) + 1
        embedder.on_embed = None
        await groups.idle()
        assert len(groups.grouping.hypergraph("sentence")) == 2


async def test_a_sentence_that_cannot_be_embedded_keeps_its_chunk_out_and_no_other(tmp_path):
    class Picky(HashEmbedder):
        async def embed(self, texts):
            if any(text.startswith("Boats wait") for text in texts):
                raise ModelReplyError("too long")
            return await super().embed(texts)

    async with Bench.opened(tmp_path, strategy="naive", embedder=Picky()) as bench:
        groups = Groups(bench)
        await groups.add("mill", "lock")
        await groups.idle()
        assert {key.split(":")[0] for key in groups.grouping.hypergraph("sentence").chunk_ids} == {bench.ids["mill"]}


async def test_sentence_vectors_that_another_method_keeps_are_used(tmp_path):
    async with Bench.opened(tmp_path, strategy="ketrag") as bench:
        await bench.add("mill", [], text=TEXTS["mill"])
        await bench.settle()
        kept = [parts.vectors.tolist() for parts in ChunkPartStore(bench.database, 64).all()]
        groups = Groups(bench)
        assert groups.grouping.stale == 2  # both grains are to be placed, and no sentence waits
        await groups.idle()
        assert [parts.vectors.tolist() for parts in ChunkPartStore(bench.database, 64).all()] == kept
