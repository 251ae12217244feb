"""A document's title as an entity of its passages."""

from edge_node.extraction.titles import title_mentions
from shared.records import Chunk, EntityMention


def chunk(number, text):
    return Chunk(f"d:{number}", "d", number, text, 0, len(text), 9)


CHUNKS = [chunk(0, "It opened in 1902. It burnt down."), chunk(1, "It was rebuilt.")]


def test_each_chunk_tells_of_what_the_document_is_about():
    said = list(title_mentions(CHUNKS, "Orrin Mill", []))
    assert [(mention.key, mention.name, mention.chunk_id) for mention in said] == [
        ("orrin mill", "Orrin Mill", "d:0"),
        ("orrin mill", "Orrin Mill", "d:1"),
    ]
    assert said[0].description == "It opened in 1902."


def test_a_chunk_that_names_it_says_it_once():
    named = EntityMention("orrin mill", "the Orrin Mill", "place", "", "d:1")
    assert [mention.chunk_id for mention in title_mentions(CHUNKS, "Orrin Mill", [named])] == ["d:0"]


def test_a_qualified_title_names_two_things():
    assert [mention.key for mention in title_mentions(CHUNKS[:1], "Orrin Mill (film)", [])] == ["orrin mill film", "orrin mill"]


def test_without_a_title_the_first_heading_is_one_and_describes_nothing():
    [mention] = title_mentions([chunk(0, "# Juniper Ward\n\nIt has 28 beds.")], "", [])
    assert (mention.key, mention.description) == ("juniper ward", "It has 28 beds.")


def test_what_is_no_name_is_no_entity():
    for title in ("", "Figure 3", "2024", "An extremely long title of a report about " + "very " * 9 + "little"):
        assert list(title_mentions(CHUNKS, title, [])) == []


def test_no_chunks_have_no_title():
    assert list(title_mentions([], "Orrin Mill", [])) == []
