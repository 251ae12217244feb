from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.extraction.names import TITLE
from edge_node.graph.knowledge_graph import Graph, adjacency_of
from edge_node.graph.summaries import (
    description_prompt,
    extractive_summary,
    part_of,
    ranked_entities,
    ranked_relations,
    summary_prompt,
    usable,
    whole_sentences,
)
from shared.records import ChunkId, Entity, Relation


def entity(key, mentions=1):
    return Entity(key, key.title(), "concept", f"Secret 4711 about {key}.", (ChunkId("d:0"),), mentions)


def relation(source, target, *, weight=1.0, words=("holds",), text=""):
    return Relation(source, target, text or f"{source.title()} holds {target.title()}.", words, weight, (ChunkId("d:0"),))


def graph_of(keys, relations=()):
    return Graph({key: entity(key) for key in keys}, {(one.source, one.target): one for one in relations})


WARDS = graph_of(
    ["bed", "pump", "ward"], [relation("bed", "ward", text="The Ward has a Bed.", words=("have",)), relation("pump", "ward", weight=3.0)]
)


def test_a_summary_names_the_centre_first_and_the_heaviest_relation_first():
    assert extractive_summary(WARDS) == "This part is about Ward, Bed and Pump. Relations: Pump – holds – Ward; Ward – have – Bed."


def test_nothing_of_a_description_is_in_a_summary():
    assert "4711" not in extractive_summary(WARDS)


def test_one_entity_is_a_summary_and_none_is_none():
    assert extractive_summary(graph_of(["ward"])) == "This part is about Ward."
    assert extractive_summary(graph_of([])) == ""


def test_a_relation_that_only_repeats_a_name_is_left_out():
    graph = graph_of(["freud", "freud theory"], [relation("freud", "freud theory", words=("of",))])
    assert "Relations" not in extractive_summary(graph)


def test_many_names_leave_room_for_relations():
    keys = [f"entity number {n:02}" for n in range(40)]
    text = extractive_summary(graph_of(keys, [relation(keys[0], keys[1])]))
    assert len(text) <= 900
    assert "Entity Number 00 – holds – Entity Number 01" in text


@given(st.lists(st.text("abcdef ", min_size=1, max_size=30).filter(str.strip), min_size=1, max_size=40, unique=True), st.integers(30, 900))
def test_a_summary_keeps_its_limit_and_does_not_depend_on_order(keys, limit):
    pairs = {(min(a, b), max(a, b)) for a, b in pairwise(keys)}
    graph = graph_of(keys, [relation(a, b) for a, b in sorted(pairs)])
    text = extractive_summary(graph, max_chars=limit)
    assert 0 < len(text) <= limit
    turned = Graph(dict(reversed(graph.entities.items())), dict(reversed(graph.relations.items())))
    assert extractive_summary(turned, max_chars=limit) == text


def test_entities_go_by_relations_then_mentions_then_key():
    graph = Graph({"a": entity("a"), "b": entity("b", 5), "c": entity("c"), "d": entity("d")}, {("c", "d"): relation("c", "d")})
    assert [one.key for one in ranked_entities(graph)] == ["c", "d", "b", "a"]


def test_relations_go_by_weight():
    assert [one.source for one in ranked_relations(WARDS)] == ["pump", "bed"]


def test_what_only_a_title_says_is_in_no_summary_and_in_no_prompt():
    titled = Entity("mary jones relapsed", "Mary Jones relapsed", TITLE, "", (ChunkId("c:0"),), 9)
    part = Graph({"pump": entity("pump"), titled.key: titled}, {})
    assert "Mary" not in extractive_summary(part)
    assert "Mary" not in summary_prompt(part).messages[-1].content
    assert extractive_summary(Graph({titled.key: titled}, {})) == ""


def test_a_part_holds_its_entities_and_inner_relations():
    part = part_of(WARDS, adjacency_of(WARDS), ("bed", "ward"))
    assert set(part.entities) == {"bed", "ward"}
    assert set(part.relations) == {("bed", "ward")}


def test_a_part_of_one_entity_has_no_relations():
    assert part_of(WARDS, adjacency_of(WARDS), ("pump",)).relations == {}


def test_the_model_sees_names_and_relations_but_no_description():
    prompt = summary_prompt(WARDS)
    assert "Ward – have – Bed" in prompt.messages[-1].content
    assert "4711" not in prompt.messages[-1].content
    assert prompt.max_tokens > 0


def test_the_description_prompt_names_the_thing_and_each_note_once():
    content = description_prompt("$Ward", ["A $1 note.", "A $1 note."]).messages[-1].content
    assert content.count("A $1 note.") == 1
    assert "Describe $Ward" in content


@pytest.mark.parametrize("text", ["", "   ", "ok", "the pump of the ward " * 5])
def test_empty_and_circling_replies_are_unusable(text):
    assert not usable(text)


def test_a_plain_sentence_is_usable():
    assert usable("The ward keeps pumps, and the store fills them.")


@pytest.mark.parametrize(
    ("text", "kept"),
    [("One. Two. Thr", "One. Two."), ("One. Two.", "One. Two."), ("No end", "No end"), ("", ""), ("Ask? Why", "Ask?")],
)
def test_a_sentence_that_was_cut_off_is_dropped(text, kept):
    assert whole_sentences(text) == kept
