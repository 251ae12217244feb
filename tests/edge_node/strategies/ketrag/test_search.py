"""KET-RAG's search while chunks come and go, for one who may not see all, and in pieces."""

from __future__ import annotations

import pytest

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


async def test_who_may_not_see_a_document_finds_what_would_be_found_without_it(tmp_path):
    """beta stands in one document that is shown, so its piece is taken first; with the withheld ones it would be the more common term."""
    shown = {"a.md": "alpha sings", "b.md": "beta", "c.md": "alpha dances"}
    withheld = {f"{number}.md": f"beta number{number}" for number in range(5)}
    found = []
    for folder, documents in (("with", shown | withheld), ("without", shown)):
        async with Bench.opened(tmp_path / folder, **settings_of("keyword", ket_fill=False, ket_seeds="question")) as bench:
            for name, text in documents.items():
                await bench.add(name, (), text=text)
            hidden = frozenset(bench.ids.get(name, "elsewhere") for name in withheld)
            found.append((await bench.strategy.retrieve("alpha beta beta", budget_tokens=3, top_k=5, withheld=hidden)).evidence)
    assert [item.text for item in found[0]] == ["beta"]
    assert found[0] == found[1]


async def test_terms_near_the_question_are_no_seeds_where_documents_are_withheld(tmp_path):
    """No document has a word of the question, so no keyword is left and the passages nearest it are found in their place."""
    async with Bench.opened(tmp_path, **settings_of("keyword", ket_fill=False)) as bench:
        for number in range(3):
            await add(bench, number)
        [method] = bench.strategy.methods
        method._graphs.bipartite.nearest = None  # not to be called
        found = await bench.strategy.retrieve("zeppelins", budget_tokens=50, top_k=2, withheld=frozenset({bench.ids["0.md"]}))
        assert len(found.evidence) == 2


async def test_as_many_pieces_are_found_as_that_many_chunks_have(tmp_path):
    async with Bench.opened(tmp_path, **settings_of("text", ket_splits=2)) as bench:
        for number in range(3):
            await add(bench, number)
        assert len((await asked(bench, top_k=1)).evidence) == 4
        assert len((await asked(bench, top_k=2)).evidence) == 8
