import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.records import Answer, ChunkId, Citation, DocumentId, EdgeId, EdgeReport, Evidence, GateReport, MemoryReport, TraceStep
from shared.text.citations import MAX_ANSWER_CHARS, MAX_EDGES, MAX_QUOTE_CHARS, MAX_STEPS, checked_answer, cite, content_words

PUMPS = "Ward 3 has two pumps. Pump P-204 was replaced in March by the Marlow company. It is blue."
LOANS = "The bank lends at most 40,000 crowns. A loan over five years costs 4 percent a year."


def passage(text, *, start=100, edge="ward", score=0.7):
    return Evidence(EdgeId(edge), DocumentId("d1"), "doc.md", ChunkId("d1:0"), (start, start + len(text)), text, score)


EVIDENCE = [passage(PUMPS), passage(LOANS, start=7, edge="bank", score=0.6)]


def test_a_marker_that_names_a_given_passage_stays():
    text, citations = cite("Pump P-204 was replaced in March [1].", EVIDENCE)
    assert text == "Pump P-204 was replaced in March [1]."
    assert [(c.n, c.edge, c.document, c.chunk_id, c.score) for c in citations] == [(1, "ward", "doc.md", "d1:0", 0.7)]


def test_the_quote_is_the_sentence_that_supports_and_its_span_is_in_the_document():
    _, (citation,) = cite("Pump P-204 was replaced in March [1].", EVIDENCE)
    assert citation.quote == "Pump P-204 was replaced in March by the Marlow company."
    assert citation.span == (122, 177)  # 100 + len("Ward 3 has two pumps. ") = 122; the quote has 55 characters


def test_markers_are_renumbered_in_order_of_appearance():
    text, citations = cite("A loan costs 4 percent [2]. The pump was replaced in March [1]. Five years [2].", EVIDENCE)
    assert text == "A loan costs 4 percent [1]. The pump was replaced in March [2]. Five years [1]."
    assert [c.edge for c in citations] == ["bank", "ward"]


@pytest.mark.parametrize(
    ("marker", "kept"),
    [
        ("[1, 2]", "[1][2]"),
        ("[1,2]", "[1][2]"),
        ("[1] [2]", "[1] [2]"),
        ("[1][2]", "[1] [2]"),
        ("[1-2]", "[1][2]"),
        ("[1 and 2]", "[1][2]"),
        ("[Passage 1]", "[1]"),
        ("[passages 1, 2]", "[1][2]"),
        ("[source 1; source 2]", "[1][2]"),
        ("(Passage 1)", "[1]"),
        ("(1)", "[1]"),
        ("[ 1 ]", "[1]"),
        ("[1, 9]", "[1]"),
        ("[1, 1]", "[1]"),
    ],
)
def test_markers_come_in_many_shapes(marker, kept):
    text, _ = cite(f"The pump was replaced, a loan has its price {marker}.", EVIDENCE)
    assert text.replace("] [", "][") == f"The pump was replaced, a loan has its price {kept.replace('] [', '][')}."


def test_a_marker_at_a_passage_that_says_less_is_moved_to_the_one_that_says_it():
    old, new = (
        passage("The pump uses the CX-40 battery pack."),
        passage("The CX-42 battery pack replaces the CX-40 battery pack.", edge="plant"),
    )
    text, (citation,) = cite("The CX-42 battery pack replaces the CX-40 battery pack [1].", [old, new])
    assert (text, citation.edge) == ("The CX-42 battery pack replaces the CX-40 battery pack [1].", "plant")


def test_a_sentence_that_joins_two_sites_facts_under_one_marker_cites_both():
    ward, plant = passage("Juniper Ward reported four failures."), passage("Lot L-7713 caused the failures.", edge="plant")
    text, citations = cite("Juniper Ward reported the failures, and lot L-7713 caused them [2].", [ward, plant])
    assert {citation.edge for citation in citations} == {"ward", "plant"}
    assert text.endswith("[1][2].")


def test_a_passage_that_only_shares_a_name_is_not_cited_for_the_other_half():
    ward = passage("Juniper Ward reported the failures of four infusion pumps on 14 March.")
    customer = passage("Tessel Harbour Hospital is a customer.", edge="plant")
    said = "The ward of Tessel Harbour Hospital that reported the failures of four infusion pumps on 14 March is Juniper Ward [1]."
    for text in (said, said.replace("[1]", "[1][2]")):
        _, citations = cite(text, [ward, customer])
        assert [citation.edge for citation in citations] == ["ward"]


def test_a_quote_shows_no_heading_marks():
    _, (citation,) = cite("Line Two makes the drainage pump [1].", [passage("# Line Two: the drainage pump")])
    assert citation.quote == "Line Two: the drainage pump"
    assert citation.span[0] == 102


@pytest.mark.parametrize("marker", ["[3]", "[0]", "[2021]", "[99, 98]"])
def test_a_marker_that_names_nothing_goes(marker):
    text, citations = cite(f"Bananas grow in warm countries {marker}.", EVIDENCE)
    assert text == "Bananas grow in warm countries."
    assert citations == ()


def test_a_marker_behind_the_full_stop_belongs_to_the_sentence_before_it():
    text, _ = cite("The pump was replaced. [1] Loans cost 4 percent. [2]", EVIDENCE)
    assert text == "The pump was replaced [1]. Loans cost 4 percent [2]."


def test_a_sentence_without_marker_gets_the_passage_that_supports_it():
    text, citations = cite("The Marlow company replaced pump P-204.", EVIDENCE)
    assert text == "The Marlow company replaced pump P-204 [1]."
    assert citations[0].edge == "ward"


def test_half_of_the_words_is_enough_and_less_is_not():
    assert cite("Marlow pump banana castle.", EVIDENCE)[0] == "Marlow pump banana castle [1]."
    assert cite("Marlow banana castle.", EVIDENCE) == ("Marlow banana castle.", ())


def test_the_passage_with_the_larger_share_wins_and_a_tie_goes_to_the_first():
    assert cite("A loan over five years at a Ward.", EVIDENCE)[1][0].edge == "bank"
    assert cite("Marlow crowns.", EVIDENCE)[1][0].edge == "ward"


def test_every_line_of_a_list_is_cited_by_itself():
    text, citations = cite("- Pump P-204 was replaced\n- The bank lends 40,000 crowns", EVIDENCE)
    assert text == "- Pump P-204 was replaced [1]\n- The bank lends 40,000 crowns [2]"
    assert len(citations) == 2


def test_an_enumeration_is_not_taken_for_markers():
    text, _ = cite("(1) Open the valve, (2) replace the pump P-204 in March.", EVIDENCE)
    assert text.startswith("(1) Open the valve, (2) replace")


def test_a_refusal_is_not_cited():
    assert cite("The passages do not mention the pump P-204 of Ward 3.", EVIDENCE) == (
        "The passages do not mention the pump P-204 of Ward 3.",
        (),
    )


@pytest.mark.parametrize("answer", ["", "Yes.", "...", "[1]"])
def test_answers_without_words_do_no_harm(answer):
    text, citations = cite(answer, EVIDENCE)
    assert len(citations) == text.count("[")


def test_without_evidence_no_marker_stays():
    assert cite("The pump was replaced [1].", []) == ("The pump was replaced.", ())


def test_abbreviations_and_decimals_do_not_end_a_sentence():
    text, _ = cite(
        "Dr. Ames says that 1.5 pumps of Ward 3, P-204 e.g. the blue one, were replaced in March by the Marlow company.", EVIDENCE
    )
    assert text.endswith("Marlow company [1].")
    assert text.count("[1]") == 1


def test_a_quote_is_at_most_300_characters_and_an_exact_part_of_the_passage():
    long = "word " * 200 + "the pump P-204 was replaced in March " + "other " * 200
    _, (citation,) = cite("Pump P-204 was replaced in March.", [passage(long, start=10)])
    assert len(citation.quote) <= MAX_QUOTE_CHARS
    assert "P-204 was replaced in March" in citation.quote
    assert long[citation.span[0] - 10 : citation.span[1] - 10] == citation.quote


def test_a_linked_marker_is_a_marker():
    assert cite("The pump was replaced [1](http://x.example).", EVIDENCE)[0] == "The pump was replaced [1]."


def test_plural_and_case_do_not_matter_for_content_words():
    assert content_words("The PUMPS of a ward") == content_words("pump, Wards!")


SENTENCES = st.lists(
    st.sampled_from(
        ["Pump P-204 was replaced", " [1]", " [2]", " [7]", ". ", "(2)", "\n", "A loan costs 4 percent", "[1, 2]", "é<b>", "! "]
    ),
    max_size=12,
)


@given(SENTENCES.map("".join))
def test_markers_and_citations_always_agree(answer):
    """Numbers are 1..k in order of first appearance, and each quote stands in its passage where its span says."""
    text, citations = cite(answer, EVIDENCE)
    seen = list(dict.fromkeys(int(n) for n in re.findall(r"\[(\d+)\]", text)))
    assert seen == [c.n for c in citations] == list(range(1, len(citations) + 1))
    for citation in citations:
        source = next(item for item in EVIDENCE if item.edge == citation.edge)
        start, end = (at - source.span[0] for at in citation.span)
        assert source.text[start:end] == citation.quote
        assert citation.quote


@given(st.text(max_size=80), st.text(max_size=80))
def test_any_text_can_be_cited(answer, source):
    text, _ = cite(answer, [passage(source)] if source else [])
    text.encode("utf-8")


def test_a_passage_that_may_not_be_quoted_is_cited_without_its_words():
    text, (citation,) = cite("Pump P-204 was replaced in March [1].", [replace(passage(PUMPS), quotable=False)])
    assert (text, citation.quote, citation.span) == ("Pump P-204 was replaced in March [1].", "", (122, 177))


def test_a_quote_and_a_documents_name_are_inert():
    marked = replace(passage("See [the pump](http://x.example) <img src=x> P-204."), document="<b>[a](b)</b>\nwww.x.example")
    _, (citation,) = cite("The pump P-204 [1].", [marked])
    assert (citation.quote, citation.document) == ("See the pump  P-204.", "a x.example")


def cited(n, quote="It says so."):
    return Citation(n, EdgeId("plant"), DocumentId("d"), "doc.md", ChunkId("d:0"), (0, 9), quote, 0.5)


def foreign(text, *citations, **changes):
    return replace(Answer("q", text, citations, "cloud"), **changes)


def test_a_foreign_answers_markers_and_citations_agree():
    checked = checked_answer(foreign("A [7]. B [2]. C [2][9]. D [3].", cited(3), cited(7), cited(2), cited(5)))
    assert checked.answer == "A [1]. B [2]. C [2]. D [3]."
    assert [citation.n for citation in checked.citations] == [1, 2, 3]


def test_what_is_checked_already_stays_as_it_is():
    said = foreign("The pump was replaced [1]. A loan costs 4 percent [2][1].", cited(1), cited(2))
    assert checked_answer(said) == said


def test_a_foreign_answer_is_inert_wherever_it_holds_text():
    report = EdgeReport(EdgeId("plant"), "evidence", "refused", 1, 9, 0, "see [x](http://y.example)\nnow")
    hostile = foreign(
        "![a](http://z.example/p) <script>x</script> [1]", cited(1, "<img src=x>"), edges=(report,), reason="https://w.example"
    )
    checked = checked_answer(hostile)
    assert (checked.answer, checked.citations[0].quote) == ("a x [1]", "")
    assert (checked.edges[0].reason, checked.reason) == ("see x now", "w.example")


def test_a_foreign_answer_says_nothing_of_this_site_and_is_known_to_be_foreign():
    lie = foreign("A.", route="local", would_ask="[pay](http://y.example)", gate=GateReport("local", "<b>"))
    checked = checked_answer(lie)
    assert (checked.route, checked.would_ask, checked.gate) == ("cloud", "", None)


@pytest.mark.parametrize(
    ("said", "expected", "shown"), [("memory", "cloud", "memory"), ("memory", "global", "global"), ("local", "cloud", "cloud")]
)
def test_a_cloud_may_say_that_it_answered_from_memory_and_nothing_else_of_the_way(said, expected, shown):
    memory = MemoryReport("m", "<b>", "q" * 100_000, "a", 1.0, 1.0, 1.0, 0.9)
    checked = checked_answer(foreign("A.", route=said, memory=memory), route=expected)
    assert (checked.route, checked.memory) == (shown, None)


def test_a_foreign_answer_has_a_bounded_length():
    checked = checked_answer(foreign("[" * 100_000, *[cited(n, "x" * 1_000) for n in range(1, 500)]))
    assert len(checked.answer) <= MAX_ANSWER_CHARS
    (citation,) = checked_answer(foreign("A [1].", cited(1, "x" * 1_000))).citations
    assert len(citation.quote) == MAX_QUOTE_CHARS
    padded = foreign("A.", trace=(TraceStep("x", 1.0),) * 5_000, edges=(EdgeReport(EdgeId("a"), "evidence", "late", 1, 0, 0),) * 5_000)
    assert (len(checked_answer(padded).trace), len(checked_answer(padded).edges)) == (MAX_STEPS, MAX_EDGES)


@given(st.lists(st.sampled_from(["A pump", "[1]", "[2]", "[9]", ". ", "[x](y)", "<b>", "[1](z)"]), max_size=12).map("".join))
def test_a_foreign_answer_that_was_checked_once_is_checked(text):
    once = checked_answer(foreign(text, cited(1), cited(2)))
    assert {int(n) for n in re.findall(r"\[(\d+)\]", once.answer)} == {citation.n for citation in once.citations}
    assert checked_answer(once) == once


def test_a_place_that_a_file_or_another_service_names_is_one_inert_line():
    (citation,) = checked_answer(
        foreign("A [1].", replace(cited(1), place="a![x](https://evil.example/p.png)\n<b>" + "x" * 5000))
    ).citations
    assert not re.search(r"[\n<]|!\[", citation.place)
    assert len(citation.place) <= 512
