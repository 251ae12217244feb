"""④ What a question finds through the graph: the second hop, names, aliases, withheld documents, and each channel alone."""

import pytest
from pydantic import ValidationError

from edge_node.settings import EdgeSettings
from edge_node.strategies.dgrag.search import added, shares
from tests.support.settling import Bench

QUESTION = "When did the founder of Orrin Mill die?"
FAR = ["Sugar beet is sown early.", "Rain fell on the third day.", "Tin is soft and grey."]


async def filled(bench):
    """The founder's death is told where neither the question's name nor its words stand."""
    await bench.add("mill", ("Orrin Mill", "Ada Vale"), related=[("Orrin Mill", "Ada Vale")], text="Orrin Mill had one founder: Ada Vale.")
    await bench.add("vale", ("Ada Vale",), text="Ada Vale passed away during 1911.")
    for number, text in enumerate(FAR):
        await bench.add(f"far {number}", (f"Thing {number}",), text=text)
    await bench.settle()


async def found(bench, question=QUESTION, *, top_k=2, **named):
    found = await bench.strategy.retrieve(question, budget_tokens=300, top_k=top_k, **named)
    return [item.document for item in found.evidence]


async def test_the_second_hop_is_found_through_the_entity_that_both_passages_tell_of(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        await filled(bench)
        assert await found(bench) == ["mill", "vale"]


async def test_a_question_in_small_letters_names_what_the_graph_calls_a_name(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        await filled(bench)
        assert await found(bench, QUESTION.lower()) == ["mill", "vale"]


@pytest.mark.parametrize(
    "retrieval", ["dense", "dense,lexical", "dense, entities, relations", "dense,pagerank", "dense,lexical,pagerank,entities"]
)
async def test_every_choice_of_channels_finds_what_the_question_names(tmp_path, retrieval):
    async with Bench.opened(tmp_path, retrieval=retrieval) as bench:
        await filled(bench)
        assert (await found(bench))[0] == "mill"


async def test_vectors_only_need_no_graph_and_no_words(tmp_path):
    async with Bench.opened(tmp_path, retrieval="dense") as bench:
        await filled(bench)
        assert bench.strategy.write_path.passages.matches(QUESTION).top(5) == []
        assert (await bench.strategy.retrieve(QUESTION, budget_tokens=300, top_k=2)).facts == ()


async def test_a_score_is_the_cosine_with_the_question_whatever_found_the_passage(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        await filled(bench)
        asked, told = await bench.tools.embedder.embed([QUESTION, "Ada Vale passed away during 1911."])
        evidence = (await bench.strategy.retrieve(QUESTION, budget_tokens=300, top_k=2)).evidence
        assert evidence[1].score == pytest.approx(float(asked @ told), abs=1e-4)


async def test_a_withheld_document_is_no_bridge(tmp_path):
    """Without the mill's document nothing joins the question with the founder."""
    async with Bench.opened(tmp_path) as bench, Bench.opened(tmp_path / "other") as other:
        await filled(bench)
        await filled(other)
        withheld = frozenset({bench.ids["mill"]})
        await other.remove("mill")
        await other.settle()
        assert await found(bench, top_k=9, withheld=withheld) == await found(other, top_k=9)


async def test_the_relations_of_what_is_named_are_told_where_no_passage_shows_them(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        await filled(bench)
        found = await bench.strategy.retrieve("Orrin Mill", budget_tokens=2, top_k=1)
        assert found.facts == ()
        await bench.add("old mill", ("Orrin Mill",), text="Orrin Mill, Orrin Mill!")
        await bench.settle()
        told = await bench.strategy.retrieve("Orrin Mill", budget_tokens=900, top_k=1)
        assert ([item.document for item in told.evidence], told.facts) == (["old mill"], ("Ada Vale - has - Orrin Mill",))


async def test_a_passage_is_found_by_its_documents_title(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        await filled(bench)
        await bench.add("heading", (), text="# Harrow Gate\n\nIt was raised in spring.")
        await bench.settle()
        assert "harrow gate" in bench.graph_now().entities
        assert (await found(bench, "What became of Harrow Gate?"))[0] == "heading"


def test_a_setting_without_dense_is_refused_and_says_why(tmp_path):
    with pytest.raises(ValidationError, match="must name dense"):
        EdgeSettings(state_dir=tmp_path, retrieval="lexical")
    with pytest.raises(ValidationError, match="retrieval"):
        EdgeSettings(state_dir=tmp_path, retrieval="dense,magic")


def test_the_setting_is_read_from_the_environment_by_commas(tmp_path, monkeypatch):
    monkeypatch.setenv("DGRAG_EDGE_RETRIEVAL", "dense, entities")
    assert EdgeSettings(state_dir=tmp_path).retrieval == {"dense", "entities"}


def test_shares_of_nothing_are_nothing():
    assert shares({"a": 0.0}, 1.0) == {}
    assert added({}, {"b": 3.0}) == {"b": 3.0}
