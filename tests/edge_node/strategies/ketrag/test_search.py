"""KET-RAG's search while chunks come and go, for one who may not see all, and in pieces."""

from __future__ import annotations

import pytest

from edge_node.graph.view import Visibility
from edge_node.strategies.ketrag.search import EMPTY, KetSearch
from edge_node.strategies.method import MethodQuery
from tests.support.settling import Bench

VARIANTS = ("text", "knng", "keyword", "skeleton", "ket-u", "ket-p")
QUESTION = "What does unit2 know of the mill and unit3?"


def settings_of(variant, **more):
    return {"strategy": "ketrag", "ket_variant": variant} | more


async def add(bench, number):
    names = (f"unit{number}", "mill")
    await bench.add(f"{number}.md", names, related=[names], text=f"The mill has unit{number}. Nobody walks to gate{number}.")


def said(found):
    return " ".join([*found.facts, *(item.text for item in found.evidence)])


async def asked(bench, **more):
    return await bench.strategy.retrieve(QUESTION, **({"budget_tokens": 400, "top_k": 10} | more))


@pytest.fixture(params=VARIANTS)
def variant(request):
    return request.param


@pytest.mark.parametrize("splits", [0, 1])
async def test_the_first_questions_after_another_strategy_are_answered(tmp_path, variant, splits):
    async with Bench.opened(tmp_path, strategy="dgrag") as before:
        for number in range(4):
            await add(before, number)
        await before.settle()
    after = Bench(tmp_path, None, None, settings_of(variant, ket_splits=splits))
    await after.strategy.open()
    assert "unit3" in said(await asked(after))
    await after.settle()
    assert "unit3" in said(await asked(after))
    after.database.close()


@pytest.mark.parametrize("splits", [0, 1])
async def test_what_was_removed_is_neither_shown_nor_told_of_before_the_next_settle(tmp_path, variant, splits):
    async with Bench.opened(tmp_path, **settings_of(variant, ket_splits=splits)) as bench:
        for number in range(4):
            await add(bench, number)
        await bench.settle()
        assert "unit3" in said(await asked(bench))
        await bench.remove("3.md")
        found = said(await asked(bench))
        assert "unit3" not in found
        assert "unit2" in found


@pytest.mark.parametrize("splits", [0, 1])
async def test_who_may_not_see_a_document_finds_what_would_be_found_without_it(tmp_path, variant, splits):
    """The withheld ones speak of the same names, so they change rarity, keywords' vectors, neighbours, descriptions and core."""
    found = []
    for folder, numbers in (("with", range(8)), ("without", range(3))):
        async with Bench.opened(tmp_path / folder, **settings_of(variant, ket_splits=splits)) as bench:
            for number in numbers:
                await add(bench, number)
            await bench.settle()
            hidden = frozenset(bench.ids.get(f"{number}.md", "elsewhere") for number in range(3, 8))
            found.append(await asked(bench, budget_tokens=30, withheld=hidden))
    assert found[0] == found[1]
    assert "unit2" in said(found[0])


async def test_a_name_of_two_words_is_found_where_each_word_alone_is_everywhere(tmp_path):
    """Two passages fit; by its words alone the question is as near to every one that has both."""
    documents = {"a.md": "Ann Lee walks.", "b.md": "Lee met Ann here.", "c.md": "Ann saw Lee today.", "d.md": "Lee told Ann so."}
    seeds = {}
    for keywords in ("words", "names"):
        async with Bench.opened(tmp_path / keywords, **settings_of("keyword", ket_keywords=keywords)) as bench:
            for name, text in documents.items():
                await bench.add(name, (), text=text)
            [method] = bench.strategy.methods
            seeds[keywords] = method._graphs.bipartite.pieces_with("ann lee")
    assert not seeds["words"]
    assert len(seeds["names"]) == 1


@pytest.mark.parametrize(("order", "is_looked_at"), [("cosine", False), ("fused", True)])
async def test_passages_with_the_questions_words_are_looked_at_however_far_they_are(tmp_path, order, is_looked_at):
    """The 64 nearest passages are looked at: those with “mill”. The embedder takes “zeppelins” for another word than “zeppelin”."""
    async with Bench.opened(tmp_path, **settings_of("text", ket_order=order)) as bench:
        for number in range(70):
            await bench.add(f"{number}.md", (), text="The mill")
        far = await bench.add("z.md", (), text="A zeppelin")
        [method] = bench.strategy.methods
        question = "The mill of zeppelins"
        asked = MethodQuery(question, (await bench.tools.embedder.embed([question]))[0], Visibility(frozenset()), 400, 10)
        search = KetSearch(
            bench.strategy.write_path.view, bench.strategy.write_path.passages, method._graphs, bench.tools, method._settings, asked
        )
        assert (f"{far}:0" in search._dense(EMPTY)) is is_looked_at


async def test_as_many_pieces_are_found_as_that_many_chunks_have(tmp_path):
    async with Bench.opened(tmp_path, **settings_of("text", ket_splits=2)) as bench:
        for number in range(3):
            await add(bench, number)
        assert len((await asked(bench, top_k=1)).evidence) == 4
        assert len((await asked(bench, top_k=2)).evidence) == 8
