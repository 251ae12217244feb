"""What is named most often is counted in the graph and in the texts: which questions want it, what is told, and what is not."""

import pytest

from edge_node.answering.counting import NAMES, counted, kinds_wanted
from edge_node.communities.named import NamedOften, named_often
from shared.counts import count_of
from shared.errors import ModelUnavailable
from shared.models.fake import ScriptedGenerator
from shared.records import Chunk, ChunkId, DocumentId, EdgeId, Entity
from tests.support.running_edge import running_edge


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("What are the most common themes?", NAMES),
        ("Which companies are mentioned most often?", {"organization"}),
        ("Who are the main people and which places are key?", {"person", "place"}),
        ("What are the main problems reported across the sites?", frozenset()),
        ("Which topic does this document have?", frozenset()),
        ("", frozenset()),
    ],
)
def test_a_question_for_what_is_common_says_what_is_to_be_counted(question, kinds):
    assert kinds_wanted(question) == kinds


def entity(name, kind, *chunk_ids):
    return Entity(name.casefold(), name, kind, "", tuple(map(ChunkId, chunk_ids)), len(chunk_ids))


ANN = entity("Ann Lee", "person", "a:0", "a:1", "b:0")
BO = entity("Bo Orr", "person", "a:0", "b:0", "c:0")
ONCE = entity("Cy", "person", "d:0", "d:1", "d:2")
PUMP = entity("pump", "person", "a:0", "b:0", "c:0", "d:0")


def names(*, cosines=None, kinds=("person",), most=9):
    found = named_often([ANN, BO, ONCE, PUMP], kinds, most=most, cosines=cosines, community_of=lambda key: "r1")
    return [(one.name, one.documents) for one in found]


def test_documents_are_counted_and_not_mentions_nor_what_is_no_name():
    assert names() == [("Bo Orr", 3), ("Ann Lee", 2)]
    assert names(most=1) == [("Bo Orr", 3)]
    assert names(kinds=("place",)) == []


def test_near_a_question_those_come_first_that_are_named_there():
    near = {"a:0": 0.1, "a:1": 0.9, "b:0": 0.1, "c:0": 0.1}
    assert names(cosines=lambda chunk_ids: {key: near[key] for key in chunk_ids}) == [("Ann Lee", 2), ("Bo Orr", 3)]


def test_a_name_counts_where_the_words_hold_it_though_the_graph_has_it_as_a_part_of_another():
    texts = [
        (ChunkId(f"{key}:0"), text) for key, text in {"a": "Ann Lee", "e": "The Ann Lee Award", "f": "Ann Leeson", "g": "Ann Lee."}.items()
    ]
    found = named_often([ANN, BO], ("person",), texts, most=1, cosines=None, community_of=lambda key: "r1")
    assert [(one.name, one.documents) for one in found] == [("Ann Lee", 4)]  # a and b by the graph, e and g by their words


def test_a_name_that_is_mostly_a_part_of_longer_ones_is_not_told():
    texts = [(ChunkId(f"{n}:0"), "Kansas Ann Lee") for n in range(7)]
    assert named_often([ANN], ("person",), texts, most=1, cosines=None, community_of=lambda key: "r1") == []


def test_a_name_with_dots_is_cited_from_the_sentence_that_has_it():
    chunk = Chunk(ChunkId("a:0"), DocumentId("a"), 0, "It is a bogus one. Ann left the U.S. in May. Bo came.", 100, 153, 13)
    named = [NamedOften("U.S.", "place", 3, (chunk.chunk_id,), "r1")]
    [point] = counted(named, 9, {chunk.chunk_id: (chunk, "a.md", "A")}, EdgeId("e"), str)
    assert (point.text, point.span, point.point) == ("Ann left the U.S. in May.", (119, 144), "U.S. is named in 3 of 9 documents.")


TEXTS = {"a:0": "Old. Ann Lee left the ward.", "b:0": "The ward was led by Ann Lee.", "c:0": "Nobody."}
CHUNKS = {
    key: (Chunk(ChunkId(key), DocumentId(key[0]), 0, text, 100, 100 + len(text), 9), f"{key[0]}.md", "Title") for key, text in TEXTS.items()
}


def told(*named, mask=lambda text: text):
    return counted(named, 9, CHUNKS, EdgeId("ward"), mask)


def often(name, *chunk_ids):
    return NamedOften(name, "person", 2, tuple(map(ChunkId, chunk_ids)), "r1")


def test_a_count_is_cited_with_the_sentence_that_names_it_from_a_document_of_its_own():
    first, second = told(often("Ann Lee", "a:0", "b:0"), often("ward", "a:0", "b:0"))
    assert (first.point, first.text, first.span, first.report) == (
        "Ann Lee is named in 2 of 9 documents.", "Ann Lee left the ward.", (105, 127), "r1",
    )  # fmt: skip
    assert (second.document_id, second.text) == ("b", "The ward was led by Ann Lee.")
    assert str(count_of(first)) == first.point


def test_what_is_masked_or_gone_or_not_in_the_words_is_not_told():
    assert told(often("Ann Lee", "a:0"), mask=lambda text: text.replace("Lee", "█")) == []
    assert told(often("Ann Lee", "gone:0"), often("Ann Lee", "c:0"), often("x" * 81, "a:0")) == []


def test_of_a_long_sentence_no_more_is_quoted_than_may_be_and_the_name_is_in_it():
    text = f"{'pump ' * 90}Ann Lee {'valve ' * 90}ran."
    chunk = Chunk(ChunkId("a:0"), DocumentId("a"), 0, text, 0, len(text), 300)
    [point] = counted(
        [NamedOften("ANN LEE", "person", 3, (chunk.chunk_id,), "r1")], 9, {chunk.chunk_id: (chunk, "a.md", "A")}, EdgeId("e"), str
    )
    assert len(point.text) <= 300
    assert "Ann Lee" in point.text
    assert point.text == text[slice(*point.span)]


async def test_a_count_needs_no_model(tmp_path):
    def away(prompt):
        raise ModelUnavailable("no model")

    async with running_edge(tmp_path, generator=ScriptedGenerator(away), strategy="dgrag") as edge:
        await edge.add("pump.md", "Juniper Ward uses the Maristow Pump. Ann Lee leads Juniper Ward.")
        await edge.add("gate.md", "Juniper Ward lies near the Heron Gate Barrier.")
        answer = await edge.ask("Which names are mentioned most often?", mode="global")
    assert answer["answer"].splitlines()[0] == "Juniper Ward is named in 2 of 2 documents [1]."
    assert (answer["answered"], answer["degraded"], answer["citations"][0]["quote"]) == (
        True,
        False,
        "Juniper Ward uses the Maristow Pump.",
    )
