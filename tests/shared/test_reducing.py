"""Points, and the answer that is made of them."""

import asyncio
from dataclasses import replace

from shared.limits import Deadline
from shared.models.fake import ScriptedGenerator
from shared.records import ChunkId, DocumentId, EdgeId, EdgeReport, Evidence
from shared.reduce import Teller, coverage, fitting, ordered, spoken
from shared.telemetry.trace import Trace
from shared.text.citations import MAX_QUOTE_CHARS
from shared.text.support import Checking


def point(text, *, edge="ward", score=0.5, said="", report="r1", quotable=True, chunk="d:0"):
    return Evidence(EdgeId(edge), DocumentId("d"), "d.md", ChunkId(chunk), (10, 10 + len(text)), text, score, quotable, "", said, report)


def teller_of(points, *, says="No"):
    """``says``: the model, of what words leave open."""
    model = ScriptedGenerator(lambda prompt: says, lambda prompt: {says: -0.1})
    return Teller(points, Checking(model, Trace(), Deadline(5.0)))


def add(teller, text):
    return asyncio.run(teller.add(text))


def words(text):
    return len(text.split())


def test_points_come_best_first_and_what_says_the_same_comes_once():
    found = ordered([point("Pumps fail.", score=0.3), point("PUMPS  fail.", score=0.9), point("Loans grow.", edge="bank", score=0.5)])
    assert [(one.text, one.score) for one in found] == [("PUMPS  fail.", 0.9), ("Loans grow.", 0.5)]


def test_ties_are_ordered_by_edge_and_then_as_they_came():
    found = ordered([point("b", edge="ward"), point("c", edge="ward"), point("a", edge="bank")])
    assert [one.text for one in found] == ["a", "b", "c"]


def test_the_first_point_that_does_not_fit_ends_the_list():
    assert [one.text for one in fitting([point("a b"), point("c d e"), point("f")], limit_tokens=9, count=words)] == ["a b"]


def test_a_sentence_that_no_point_supports_is_left_out_and_counted():
    teller = teller_of([point("The pump P-204 was replaced in March.")])
    shown = add(teller, "Pump P-204 was replaced in March [1]. Bananas are yellow and cheap everywhere. ")
    told = teller.told()
    assert shown.strip() == told.text == "Pump P-204 was replaced in March [1]."
    assert told.left_out == 1


def test_a_number_behind_a_sentence_proves_nothing():
    teller = teller_of([point("Loans grew in June."), point("The pump P-204 was replaced in March.", chunk="d:1")])
    add(teller, "Bananas are yellow and cheap everywhere [1]. Pump P-204 was replaced [2].")
    told = teller.told()
    assert (told.text, told.left_out) == ("Pump P-204 was replaced [1].", 1)
    assert [citation.chunk_id for citation in told.citations] == ["d:1"]


def kept(sentence, *points, says="No"):
    teller = teller_of(points, says=says)
    add(teller, sentence)
    return bool(teller.told().text)


FAILED = point("Juniper Ward reported a failure of two pumps in May, and 4 of its nurses saw it.")


def test_words_about_the_documents_need_no_support_and_give_none():
    """ "The main themes across the documents include" is said by nobody."""
    points = point("The flood alarm is tested each month."), point("A pump failure stopped the ward.", chunk="d:1")
    assert kept("The main themes across the documents include flood alarms and pump failures [1][2].", *points, says="Yes")
    assert not kept("The main themes across the documents include wages, taxes, trade and flood risks [1][2].", *points, says="Yes")
    assert not kept("The documents discuss various topics in several areas [1].", *points, says="Yes")


def test_what_no_passage_says_is_no_support_however_many_words_it_shares():
    assert not kept("Juniper Ward hired new cleaners [1].", FAILED)
    assert not kept("Nurses of Juniper Ward hired new cleaners [1].", FAILED)


def test_a_figure_that_no_point_has_is_no_support():
    assert not kept("Juniper Ward reported 900 deaths in May [1].", FAILED)
    assert not kept("Juniper Ward reported a failure of 5 pumps in May [1].", FAILED)
    assert kept("4 nurses of Juniper Ward saw a failure of pumps in May [1].", FAILED, says="Yes")


def test_what_no_point_denies_no_sentence_denies():
    for said in (
        "Juniper Ward never reported a failure of pumps",
        "No nurses saw a failure of pumps",
        "The nurses didn’t report a failure",
    ):
        assert not kept(f"{said} [1].", FAILED)
    assert kept("Juniper Ward has not reported a failure [1].", point("Juniper Ward reported no failure."), says="Yes")
    assert kept("Loans of No. 7 grew [1].", point("Loans of number 7 grew."), says="Yes")


def test_the_number_of_a_list_is_no_figure():
    assert kept("2) Juniper Ward reported a failure [1].", FAILED, says="Yes")


def test_a_copy_of_words_that_are_to_be_read_only_is_not_shown_whatever_it_cites():
    secret = point("Juniper Ward lost 4 pumps in May to the flood.", quotable=False)
    teller = teller_of([secret, point("Juniper Ward lost 4 pumps in May.", chunk="d:1")], says="Yes")
    add(teller, "Juniper Ward lost 4 pumps in May to the water [1]. In May the flood took 4 pumps of Juniper Ward [1].")
    assert (teller.told().text, teller.told().left_out) == ("In May the flood took 4 pumps of Juniper Ward [1].", 1)
    assert not kept("Juniper Ward lost 4 pumps in May [2].", secret, point("Juniper Ward lost 4 pumps in May.", chunk="d:1"))
    assert kept("Juniper Ward lost 4 pumps in May [1].", point("Juniper Ward lost 4 pumps in May."))


def test_a_sentence_that_lists_what_many_points_say_names_them_all():
    texts = "Chelsea lost at home again.", "Nasdaq stocks rose in June.", "Doctors praise olive oil."
    teller = teller_of([point(text, chunk=f"d:{row}") for row, text in enumerate(texts)], says="Yes")
    add(teller, "Topics are Chelsea lost at home, Nasdaq stocks and praise of olive oil [2].")
    told = teller.told()
    assert told.text == "Topics are Chelsea lost at home, Nasdaq stocks and praise of olive oil [1][2][3]."
    assert [citation.chunk_id for citation in told.citations] == ["d:0", "d:2", "d:1"]


def test_a_heading_is_left_out_and_not_counted():
    teller = teller_of([point("The pump failed.")])
    add(teller, "Themes:\nThe pump failed [1].")
    assert teller.told().left_out == 0
    assert teller.told().text == "The pump failed [1]."


def test_the_quote_of_a_written_point_is_what_its_document_says():
    teller = teller_of([point("Pump P-204: new, 3/21.", said="The pump P-204 was replaced.")], says="Yes")
    add(teller, "The pump P-204 was replaced [1].")
    (citation,) = teller.told().citations
    assert (citation.quote, citation.span, citation.report) == ("Pump P-204: new, 3/21.", (10, 32), "r1")


def test_words_that_may_not_be_quoted_are_no_quote():
    teller = teller_of([point("Pump P-204: new.", said="The pump P-204 was replaced.", quotable=False)], says="Yes")
    add(teller, "The pump P-204 was replaced [1].")
    assert teller.told().citations[0].quote == ""


def test_numbers_go_on_from_part_to_part():
    teller = teller_of([point("The pump failed in May."), point("The loan was paid in June.", chunk="d:1")])
    parts = [add(teller, "The loan was paid in June [2]. "), add(teller, "The pump failed in May [1].")]
    assert [part.strip() for part in parts] == ["The loan was paid in June [1].", "The pump failed in May [2]."]
    assert [citation.chunk_id for citation in teller.told().citations] == ["d:1", "d:0"]


def test_without_a_model_points_are_said_as_they_are_and_hidden_words_are_not():
    told = spoken([point("Secret words.", quotable=False), point("Pumps fail"), point("x", said="Loans grow!", quotable=False)], most=5)
    assert told.text == "Pumps fail [1].\nLoans grow [2]!"
    assert [citation.quote for citation in told.citations] == ["Pumps fail", ""]


def test_without_a_model_each_sentence_of_a_point_has_its_marker():
    told = spoken([point("Two pumps failed. It was loud. Nurses saw the failure"), point("Loans of No. 7 grew [4].")], most=5)
    assert told.text == "Two pumps failed [1]. It was loud. Nurses saw the failure [1].\nLoans of No. 7 grew [2]."


def test_of_a_long_point_whole_sentences_are_told_and_of_a_long_sentence_its_beginning():
    sentence = "Pumps of the ward failed" + " again" * 20 + ". "  # 146 characters
    told = spoken([point(sentence * 3)], most=1).text
    assert told.replace(" [1]", "") == (sentence * 2).strip()
    cut = spoken([point("word " * 200)], most=1).text
    assert len(cut) <= MAX_QUOTE_CHARS + len(" [1]")
    assert cut.startswith("word word")
    assert cut.endswith("word… [1]")


def test_links_in_points_are_inert():
    assert "](" not in spoken([point("See [this](http://x.example/a).")], most=1).text


def report(edge, status, read=0, there=0):
    return EdgeReport(EdgeId(edge), "reports", status, 1.0, 10, 2 if read else 0, reports=read, reports_there=there)


def test_the_coverage_says_what_a_site_fell_short_of():
    told = replace(report("a", "answered", 1, 4), reason="2 unread, without a model")
    assert coverage([told]) == "1 of 1 site answered: a (1 of 4 reports, 2 unread, without a model)"


def test_the_coverage_names_every_site_once():
    line = coverage(
        [report("a", "answered", 1, 2), report("b", "late"), report("c", "refused"), report("d", "refused"), report("e", "offline")]
    )
    assert line == "1 of 5 sites answered: a (1 of 2 reports); refused: c, d; late: b; offline: e"
