import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.extraction.names import TITLE
from edge_node.graph.knowledge_graph import describe, merge, needs_summary, to_networkx
from shared.records import ChunkId, EntityMention, RelationMention


def entity(key, chunk="d:0", *, name="", kind="concept", text=""):
    return EntityMention(key, name or key, kind, text or f"About {key}.", ChunkId(chunk))


def relation(source, target, chunk="d:0", *, strength=1.0, words=("joins",), text=""):
    return RelationMention(source, target, text or f"{source} joins {target}.", words, strength, ChunkId(chunk))


def test_a_title_gives_an_entity_its_type_only_where_no_text_names_it():
    said, titled, again = entity("mill"), entity("mill", "d:1", kind=TITLE), entity("mill", "d:2", kind=TITLE)
    assert merge([said, titled, again], []).entities["mill"].type == "concept"
    assert merge([titled], []).entities["mill"].type == TITLE


def test_mentions_of_one_key_are_one_entity():
    graph = merge([entity("ward", "d:1", name="Ward"), entity("ward", "d:0", name="Ward"), entity("ward", "d:1", name="wards")], [])
    assert graph.entities["ward"].name == "Ward"
    assert graph.entities["ward"].chunk_ids == ("d:0", "d:1")
    assert graph.entities["ward"].mentions == 3


def test_a_known_type_goes_before_a_more_frequent_unsure_one():
    assert merge([entity("x"), entity("x"), entity("x", kind="place")], []).entities["x"].type == "place"


def test_equally_frequent_names_and_types_go_by_alphabet():
    graph = merge([entity("x", name="b", kind="place"), entity("x", name="a", kind="person")], [])
    assert (graph.entities["x"].name, graph.entities["x"].type) == ("a", "person")


def test_descriptions_are_joined_in_the_order_of_chunks():
    graph = merge([entity("x", "d:2", text="Last."), entity("x", "d:1", text="First."), entity("x", "d:3", text="Last.")], [])
    assert graph.entities["x"].description == "First. Last."


def test_both_directions_of_a_pair_are_one_relation_with_the_sum_of_strengths():
    graph = merge([entity("a"), entity("b")], [relation("b", "a", strength=0.5, words=("holds",)), relation("a", "b", "d:1", strength=2.0)])
    only = graph.relations["a", "b"]
    assert (only.source, only.target, only.weight, only.chunk_ids) == ("a", "b", 2.5, ("d:0", "d:1"))
    assert only.keywords == ("holds", "joins")


def test_keywords_go_by_number_then_by_alphabet():
    mentions = [relation("a", "b", words=("z",)), relation("a", "b", "d:1", words=("z", "c")), relation("a", "b", "d:2", words=("b",))]
    assert merge([entity("a"), entity("b")], mentions).relations["a", "b"].keywords == ("z", "b", "c")


def test_a_relation_of_a_thing_with_itself_is_dropped():
    assert merge([entity("a"), entity("b")], [relation("a", "a"), relation("a", "b")], {"b": "a"}).relations == {}


def test_a_relation_to_a_thing_that_nobody_mentions_is_dropped():
    assert merge([entity("a")], [relation("a", "ghost")]).relations == {}


def test_an_alias_brings_its_mentions_and_relations():
    graph = merge(
        [entity("gdp"), entity("gross domestic product"), entity("tax")],
        [relation("gross domestic product", "tax")],
        {"gross domestic product": "gdp"},
    )
    assert set(graph.entities) == {"gdp", "tax"}
    assert graph.entities["gdp"].mentions == 2
    assert set(graph.relations) == {("gdp", "tax")}


def test_no_mentions_are_an_empty_graph():
    graph = merge([], [])
    assert (graph.entities, graph.relations) == ({}, {})
    assert len(to_networkx(graph)) == 0


def test_networkx_gets_each_entity_and_the_weights():
    shape = to_networkx(merge([entity("a"), entity("b"), entity("c")], [relation("a", "b", strength=3.0)]))
    assert set(shape.nodes) == {"a", "b", "c"}
    assert shape["a"]["b"]["weight"] == 3.0


KEYS = st.sampled_from(["a", "b", "c", "d"])
CHUNKS = st.sampled_from(["d1:0", "d1:1", "d2:0", "d2:1"])
ENTITIES = st.lists(
    st.builds(lambda key, chunk, text: entity(key, chunk, text=text, name=key + text), KEYS, CHUNKS, st.sampled_from(["x", "y"])),
    max_size=14,
)
RELATIONS = st.lists(
    st.builds(
        lambda a, b, chunk, strength: relation(a, b, chunk, strength=strength), KEYS, KEYS, CHUNKS, st.sampled_from([0.1, 0.2, 0.7, 1e9])
    ),
    max_size=14,
)


@given(ENTITIES, RELATIONS, st.randoms())
def test_the_order_of_mentions_makes_no_difference(entities, relations, chance):
    graph = merge(entities, relations)
    chance.shuffle(entities)
    chance.shuffle(relations)
    again = merge(entities, relations)
    assert again == graph
    assert list(again.entities) == list(graph.entities)
    assert list(again.relations) == list(graph.relations)


@given(ENTITIES, RELATIONS)
def test_a_removed_document_was_never_there(entities, relations):
    kept = [m for m in entities if m.chunk_id.startswith("d1")], [m for m in relations if m.chunk_id.startswith("d1")]
    gone = [m for m in entities if m not in kept[0]], [m for m in relations if m not in kept[1]]
    with_all = [*gone[0], *kept[0]], [*gone[1], *kept[1]]
    after = [m for m in with_all[0] if m not in gone[0]], [m for m in with_all[1] if m not in gone[1]]
    assert merge(*after) == merge(*kept)


def test_a_description_keeps_whole_sentences_within_the_limit():
    assert describe(["12345", "1234", "12"], 10) == "12345 1234"
    assert describe(["12345", "12345", " ", ""], 100) == "12345"
    assert describe(["123456789"], 4) == "1234"
    assert describe([], 10) == ""


@given(st.lists(st.text(max_size=12), max_size=8), st.integers(1, 40))
def test_a_description_never_passes_its_limit(texts, limit):
    assert len(describe(texts, limit)) <= limit


@pytest.mark.parametrize(("limit", "over"), [(9, True), (10, False)])
def test_a_summary_is_needed_once_something_must_be_left_out(limit, over):
    """The text "12345 1234" has ten characters."""
    assert needs_summary(["12345", "1234", "12345"], limit) is over
