"""GraphRAG's local search over the common graph (KET-RAG Alg. 2)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from edge_node.graph.local_search import SEEDS
from shared.models.fake import WordTokenizer
from tests.support.settling import Bench

QUESTION = "What does unit2 know of the mill and unit3?"


@pytest.fixture
async def bench(tmp_path):
    async with Bench.opened(tmp_path, strategy="graphrag") as opened:
        yield opened


async def add(bench, number):
    names = (f"unit{number}", "mill")
    await bench.add(f"{number}.md", names, related=[names], text=f"The mill has unit{number}. Nobody walks to gate{number}.")


async def asked(bench, question=QUESTION, **more):
    return await bench.strategy.retrieve(question, **({"budget_tokens": 400, "top_k": 10} | more))


def said(found):
    return " ".join([*found.facts, *(item.text for item in found.evidence)])


async def test_seeds_and_their_relations_have_lines_and_their_chunks_are_passages_the_nearest_first(bench):
    """Of the mill two documents tell, so less of what is embedded for it is the question's."""
    await bench.add("far.md", ("mill",), text="A mill stands where nobody ever walks about")
    await bench.add("near.md", ("mill", "wheel"), related=[("mill", "wheel")], text="What turns the mill")
    await bench.settle()
    found = await asked(bench, "What turns the mill?")
    assert [line.partition(":")[0] for line in found.facts] == ["wheel", "mill", "mill - has - wheel"]
    assert [item.document for item in found.evidence] == ["near.md", "far.md"]
    assert found.evidence[0].score > found.evidence[1].score


async def test_a_passage_that_tells_of_no_seed_is_not_found_however_much_would_fit(bench):
    """There is one entity more than there are seeds; the one that shares no word with the question is left out."""
    near = [f"mill {letter}" for letter in "abcdefghij"]
    assert len(near) == SEEDS
    for name in near:
        await bench.add(f"{name}.md", (name,), text=f"A {name}")
    await bench.add("far.md", ("zeppelin",), text="A cloudy sky")
    await bench.settle()
    found = await asked(bench, "mill", budget_tokens=4_000, top_k=50)
    assert {item.document for item in found.evidence} == {f"{name}.md" for name in near}
    assert "zeppelin" not in said(found)


async def test_passages_with_more_links_are_taken_before_nearer_ones_but_the_nearest_comes_first(bench):
    """The one with two seeds and their relation is taken before the one that is the question's own words."""
    await bench.add("both.md", ("mill", "wheel"), related=[("mill", "wheel")], text="Iron and timber from the north")
    await bench.add("near.md", ("mill",), text="What turns the mill")
    await bench.add("far.md", ("mill",), text="The mill is what nobody from here has ever seen")
    await bench.settle()
    found = {top_k: (await asked(bench, "What turns the mill", top_k=top_k)).evidence for top_k in (1, 3)}
    assert [item.document for item in found[1]] == ["both.md"]
    assert [item.document for item in found[3]] == ["near.md", "far.md", "both.md"]


@pytest.mark.parametrize("budget_tokens", [6, 40, 100])
async def test_lines_take_half_of_the_budget_at_most_and_all_of_it_is_kept(bench, budget_tokens):
    """A passage counts as three tokens here, as the store says."""
    for number in range(12):
        await add(bench, number)
    await bench.settle()
    found = await asked(bench, budget_tokens=budget_tokens, top_k=100)
    lines = sum(map(WordTokenizer().count, found.facts))
    assert lines <= budget_tokens / 2
    assert 0 < 3 * len(found.evidence) <= budget_tokens - lines


async def test_what_was_removed_is_neither_shown_nor_told_of_before_the_next_settle(bench):
    for number in range(4):
        await add(bench, number)
    await bench.settle()
    assert "unit3" in said(await asked(bench))
    await bench.remove("3.md")
    found = await asked(bench)
    assert "unit3" not in said(found)
    assert found.facts
    assert "unit2" in said(found)


async def test_who_may_not_see_a_document_finds_what_would_be_found_without_it(tmp_path):
    """The withheld ones speak of the same names, so they change descriptions, vectors, weights and links."""
    found = []
    for folder, numbers in (("with", range(8)), ("without", range(3))):
        async with Bench.opened(tmp_path / folder, strategy="graphrag") as bench:
            for number in numbers:
                await add(bench, number)
            await bench.settle()
            hidden = frozenset(bench.ids.get(f"{number}.md", "elsewhere") for number in range(3, 8))
            found.append(await asked(bench, budget_tokens=30, withheld=hidden))
    assert found[0] == found[1]
    assert "unit2" in said(found[0])


async def test_it_improves_nothing_with_a_model(bench):
    for number in range(4):
        await add(bench, number)
    await bench.settle()
    [method] = bench.strategy.methods
    assert method.stale == 0
    assert (await bench.refine()).calls == 0


def test_a_strategy_that_needs_no_graph_does_not_load_it():
    code = "import sys, edge_node.strategies.index, edge_node.strategies.naive; sys.exit(any('graphrag' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
