"""The elements of a community, as the writer of its report reads them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.communities.claims import Claim
from edge_node.communities.elements import elements_of
from edge_node.graph.knowledge_graph import Graph
from shared.records import ChunkId, Entity, Relation

SAID = ["Ann built it.", "It leaks.", "The ward closed.", "Nobody came."]


def entity(key, text="", *, chunks=("d:0",), mentions=1):
    return Entity(key, key.title(), "concept", text, tuple(map(ChunkId, chunks)), mentions)


def relation(source, target, text="", *, chunks=("d:0",), weight=1.0):
    return Relation(source, target, text, ("hold",), weight, tuple(map(ChunkId, chunks)))


def graph(entities, relations=()):
    return Graph({one.key: one for one in entities}, {(one.source, one.target): one for one in relations})


def keys(part, degrees):
    return [key for line in elements_of(part, degrees) for key in line.elements]


def test_the_relation_with_the_highest_combined_degree_comes_first_behind_its_ends():
    """Degrees a 3, b 2, c 1: a-b has 5 and b-c 3, and b is there already."""
    part = graph([entity("a"), entity("b"), entity("c")], [relation("a", "b"), relation("b", "c")])
    assert keys(part, {"a": 3, "b": 2, "c": 1}) == ["a", "b", "a\tb", "c", "b\tc"]


def test_degrees_are_those_of_the_whole_graph_and_may_turn_the_order():
    part = graph([entity("a"), entity("b"), entity("c")], [relation("a", "b"), relation("b", "c")])
    assert keys(part, {"a": 1, "b": 2, "c": 9}) == ["b", "c", "b\tc", "a", "a\tb"]


def test_of_equal_degrees_the_heavier_relation_comes_first_then_the_one_with_lesser_keys():
    part = graph(map(entity, "abcdef"), [relation("a", "b"), relation("c", "d"), relation("e", "f", weight=2.0)])
    assert keys(part, dict.fromkeys("abcdef", 1)) == ["e", "f", "e\tf", "a", "b", "a\tb", "c", "d", "c\td"]


def test_entities_without_a_relation_come_last_those_with_most_mentions_first():
    part = graph(
        [entity("a", mentions=2), entity("b", mentions=5), entity("c", mentions=2), entity("x"), entity("y")], [relation("x", "y")]
    )
    assert keys(part, dict.fromkeys("abcxy", 1)) == ["x", "y", "x\ty", "b", "a", "c"]


def test_a_sentence_stands_in_the_first_line_and_knows_all_that_tell_it():
    part = graph([entity("ann", "Ann built it. She left."), entity("mill", "Ann built it.")], [relation("ann", "mill", "Ann built it.")])
    lines = elements_of(part, {"ann": 1, "mill": 1})
    assert [line.text for line in lines] == ["Ann: Ann built it. She left.", "Mill", "Ann - hold - Mill"]
    assert [finding.elements for finding in lines[0].findings] == [("ann", "mill", "ann\tmill"), ("ann",)]


def test_a_sentence_rests_on_the_chunks_that_all_who_tell_it_share():
    ann, mill = entity("ann", "Ann built it.", chunks=("d:0", "d:1")), entity("mill", "Ann built it.", chunks=("d:1", "e:0"))
    line = elements_of(graph([ann, mill]), {})[0]
    assert line.findings[0].chunk_ids == ("d:1",)
    assert line.chunk_ids == ("d:0", "d:1")


def test_a_sentence_of_two_chunks_that_name_one_each_rests_on_both():
    ann, mill = entity("ann", "Ann built it.", chunks=("d:1",)), entity("mill", "Ann built it.", chunks=("d:0",))
    assert elements_of(graph([ann, mill]), {})[0].findings[0].chunk_ids == ("d:0", "d:1")


def test_a_text_cannot_begin_a_line_of_its_own():
    assert elements_of(graph([entity("a", "One\u2028[2] two.\nThree.")]), {})[0].text == "A: One [2] two. Three."


def test_a_relation_needs_the_degrees_of_its_ends():
    with pytest.raises(KeyError):
        elements_of(graph([entity("a"), entity("b")], [relation("a", "b")]), {"a": 1})


DESCRIPTIONS = st.lists(st.sampled_from(SAID), max_size=3).map(" ".join)
PAIRS = [(a, b) for a in "abcde" for b in "abcde" if a < b]


@given(
    st.lists(DESCRIPTIONS, min_size=5, max_size=5),
    st.dictionaries(st.sampled_from(PAIRS), DESCRIPTIONS),
    st.lists(st.integers(0, 4), min_size=5, max_size=5),
    st.randoms(use_true_random=False),
)
@settings(max_examples=50, deadline=None)
def test_each_element_has_one_line_and_each_sentence_is_told_once_whatever_the_order(texts, relations, degrees, random):
    entities = [entity(key, text) for key, text in zip("abcde", texts, strict=True)]
    edges = [relation(*pair, text) for pair, text in relations.items()]
    of = dict(zip("abcde", degrees, strict=True))
    lines = elements_of(graph(entities, edges), of)
    told = [finding.text for line in lines for finding in line.findings]
    assert sorted(key for line in lines for key in line.elements) == sorted(["a", "b", "c", "d", "e", *map("\t".join, relations)])
    assert sorted(told) == sorted({said for said in SAID for text in (*texts, *relations.values()) if said in text})
    random.shuffle(entities)
    random.shuffle(edges)
    assert elements_of(graph(entities, edges), of) == lines


def test_a_heading_is_no_sentence():
    part = graph([entity("ann", "## Ann of the mill\nAnn built it. Lot #7 is hers.")])
    assert [line.text for line in elements_of(part, {"ann": 0})] == ["Ann: Ann built it. Lot #7 is hers."]


def claim(subject, sentence, *, chunk="d:0", kind=""):
    return Claim(ChunkId(chunk), subject, "", kind, "TRUE", sentence, (0, 1), "", "")


def test_claims_stand_behind_both_ends_of_a_relation_and_before_it_and_behind_an_entity_without_one():
    part = graph([entity("a"), entity("b"), entity("c")], [relation("a", "b")])
    claims = {"b": [claim("b", "B was sold.", kind="sale")], "a": [claim("a", "A burnt.")], "c": [claim("c", "C fell.")]}
    lines = elements_of(part, {"a": 1, "b": 1, "c": 0}, claims)
    assert [line.text for line in lines] == ["A", "B", "A burnt.", "sale: B was sold.", "A - hold - B", "C", "C fell."]
    assert [line.elements for line in lines[2:4]] == [("a",), ("b",)]
    assert lines[3].findings[0].elements == ("b",)


def test_a_claim_that_says_what_a_description_says_has_no_line_and_one_said_twice_rests_on_both_chunks():
    part = graph([entity("a", "A burnt.")])
    told, again = claim("a", "A was sold.", chunk="e:0"), claim("a", "A was sold.", chunk="f:0")
    lines = elements_of(part, {"a": 0}, {"a": [claim("a", "A burnt."), told, again], "z": [claim("z", "Z left.")]})
    assert [line.text for line in lines] == ["A: A burnt.", "A was sold."]
    assert lines[1].findings[0].chunk_ids == ("e:0", "f:0")
