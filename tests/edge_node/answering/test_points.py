"""What was noted of reports, with the words of the documents that it rests on."""

from hypothesis import given
from hypothesis import strategies as st

from edge_node.answering.points import (
    UNSURE,
    KeyPoint,
    NumberedFinding,
    joined,
    masked,
    noted,
    notes_of,
    passages_of,
    pointed,
    scored,
    unspoken,
    whole_sentences,
)
from edge_node.communities.elements import Finding
from edge_node.communities.reports import Report
from shared.records import Chunk
from shared.text.prompts import listed

PUMPS = "Old. The pump P-204 of Juniper Ward failed in May. It was loud."
LOANS = "Loans of No. 7 grew by 3.5 percent."
MANY = "The ward lost two pumps in May; P-204 was the first."


def chunk(chunk_id, text, start=100):
    document = chunk_id.partition(":")[0]
    return Chunk(chunk_id, document, 0, text, start, start + len(text), 9), f"{document}.md", f"About {document}"


CHUNKS = {"d:0": chunk("d:0", PUMPS), "d:1": chunk("d:1", MANY, 500), "e:0": chunk("e:0", LOANS, 0)}


def report(name, *findings, title="", by_model=True):
    return Report(name, 2, title, "", 1, "", tuple(Finding(text, ids, ()) for text, ids in findings), by_model=by_model, content="")


WARD = report("r1", ("Pumps of Juniper Ward failed in May.", ("d:0", "d:1")), ("The ward is loud.", ("d:0",)), title="Juniper Ward")
BANK = report("r2", ("Loans grew by 3.5 percent.", ("e:0",)))
NOTES = notes_of((WARD, BANK))
PASSAGES = passages_of(NOTES, "ward")


def test_findings_stand_below_their_reports_title():
    assert listed(PASSAGES).splitlines() == [
        "ward, Juniper Ward:",
        "[1] Pumps of Juniper Ward failed in May.",
        "[2] The ward is loud.",
        "ward, various:",
        "[3] Loans grew by 3.5 percent.",
    ]


def test_each_supported_sentence_is_noted_with_the_finding_that_says_most_of_it():
    answer = "Answer: Pumps of Juniper Ward failed [2, 1]. Bananas are yellow and cheap everywhere.\n- Loans grew by 3.5 percent. [3]"
    assert noted(answer, PASSAGES) == [([0], "Pumps of Juniper Ward failed."), ([2], "Loans grew by 3.5 percent.")]


def test_a_sentence_without_a_number_gets_its_finding_and_one_of_a_foreign_number_too():
    assert noted("Loans grew by 3.5 percent. Pumps of Juniper Ward failed in May [9].", PASSAGES) == [
        ([2], "Loans grew by 3.5 percent."),
        ([0], "Pumps of Juniper Ward failed in May."),
    ]


def test_nothing_is_noted_of_a_refusal_or_a_heading():
    assert noted("Insufficient information.", PASSAGES) == []
    assert noted("Juniper Ward [1]:", PASSAGES) == []


def test_a_number_alone_supports_nothing():
    """Of the five words here the second finding has none, and the first one two of four."""
    assert noted("Bees find fewer flowers in August [2].", PASSAGES) == []
    assert noted("Bees of Juniper Ward sleep [1].", PASSAGES) == [([0], "Bees of Juniper Ward sleep.")]


def test_a_figure_or_a_denial_that_no_finding_has_is_not_noted():
    assert noted("Pumps of Juniper Ward failed 900 times [1].", PASSAGES[:1])[0][1] == NOTES[0].finding.text
    assert noted("Pumps of Juniper Ward never failed in May [1].", PASSAGES[:1])[0][1] == NOTES[0].finding.text


def test_two_findings_support_a_sentence_together_and_it_rests_on_all_their_passages():
    """Five of its eight words: juniper and ward, loans, grew, percent; neither finding has four."""
    said = "Juniper Ward had loans that grew every single percent day."
    assert noted(f"{said[:-1]} [1][3].", PASSAGES) == [([2, 0], said)]
    assert joined([NOTES[2], NOTES[0]], said) == NumberedFinding(BANK, Finding("Loans grew by 3.5 percent.", ("e:0", "d:0", "d:1"), ()))


def test_a_point_of_two_findings_names_the_passages_of_both():
    said = "Loans grew by 3.5 percent, and a pump failed in May."
    point = pointed(KeyPoint(joined([NOTES[2], NOTES[0]], said), said, 0.8), CHUNKS, "ward")
    assert (point.report, point.chunk_id, point.chunk_ids) == ("r2", "e:0", ("d:0", "d:1"))


def test_a_sentence_that_rests_on_too_many_passages_to_name_rests_on_its_first_finding_alone_if_that_says_it():
    many = [
        NumberedFinding(WARD, Finding(text, tuple(f"{row}:{n}" for n in range(8)), ()))
        for row, text in enumerate(("Pumps of the ward fail.", "Loans grow."))
    ]
    assert joined(many, "Pumps fail in the ward.") == many[0]
    assert len(joined(many, "Loans grow much faster than any pumps.").finding.chunk_ids) == 16


def test_what_rests_on_more_passages_than_a_point_can_name_is_no_point():
    """A policy looks at what is named."""
    for number, is_point in ((9, True), (10, False)):
        chunks = {f"d:{row}": chunk(f"d:{row}", PUMPS) for row in range(number)}
        note = NumberedFinding(WARD, Finding("x", tuple(chunks), ()))
        assert (pointed(KeyPoint(note, "The pump of Juniper Ward failed.", 0.8), chunks, "ward") is not None) is is_point


def test_where_a_model_only_speaks_about_the_notes_those_it_means_tell_it_themselves():
    answer = "The notes describe the failing of pumps at Juniper Ward, and the concept of percent loans."
    assert noted(answer, PASSAGES) == [([0], "Pumps of Juniper Ward failed in May.")]


def test_where_a_model_only_names_the_reports_one_note_of_each_tells():
    trial = report(
        "r3", ("He was heard on Monday.", ("d:0",)), ("FTX lost the deposits of its customers.", ("d:1",)), title="The trial of FTX"
    )
    passages = [*PASSAGES, *passages_of(notes_of([trial]), "ward")]
    answer = "The notes discuss Juniper Ward, various other matters, and the trial of FTX and its customers."
    assert [rows for rows, _ in noted(answer, passages)] == [[0], [4]]
    assert noted("The notes discuss some trial and a ward, and various other matters.", passages) == []


def test_where_a_model_says_nothing_that_can_be_cited_each_report_tells_its_first_finding():
    assert unspoken("The notes discuss many trends.", NOTES) == [([0], NOTES[0].finding.text), ([2], NOTES[2].finding.text)]
    passage = NumberedFinding(report("e:0", (LOANS, ("e:0",)), by_model=False), Finding(LOANS, ("e:0",), ()))
    assert unspoken("The notes discuss many trends.", [passage]) == []
    assert unspoken("Insufficient information.", NOTES) == unspoken(" ", NOTES) == []


def test_a_number_beside_the_text_is_the_score():
    assert scored("Pumps fail [1].\nScore: 80/100") == ("Pumps fail [1].\n", 0.8)
    assert scored("**Score**: 250") == ("", 1.0)
    assert scored("Pumps fail [1].") == ("Pumps fail [1].", UNSURE)


def test_what_was_cut_off_is_left_out():
    assert whole_sentences("Pumps fail [1]. Loans gr") == "Pumps fail [1]. "
    assert whole_sentences("Loans gr") == whole_sentences("") == ""


def test_a_point_is_what_was_said_and_the_words_of_the_passage_that_says_most_of_it():
    """Of the finding's two passages d:0 has pump, juniper, ward, failed, may; d:1 has ward, pump, may."""
    point = pointed(KeyPoint(NOTES[0], "In May a pump of Juniper Ward failed.", 0.8), CHUNKS, "ward")
    assert (point.point, point.text) == ("In May a pump of Juniper Ward failed.", "The pump P-204 of Juniper Ward failed in May.")
    assert (point.document_id, point.document, point.title, point.chunk_id) == ("d", "d.md", "About d", "d:0")
    assert point.span == (105, 105 + len(point.text))
    assert (point.report, point.chunk_ids, point.score, point.edge) == ("r1", ("d:1",), 0.8, "ward")


def test_what_the_document_says_word_by_word_nobody_has_written():
    assert pointed(KeyPoint(NOTES[2], "Loans of No. 7 grew by 3.5 percent", 0.8), CHUNKS, "bank").point == ""
    assert pointed(KeyPoint(NOTES[2], "Loans of No. 7 grew a lot.", 0.8), CHUNKS, "bank").point == "Loans of No. 7 grew a lot."


def test_a_finding_of_a_report_that_no_model_wrote_is_said_in_the_documents_words():
    note = NumberedFinding(
        report("r3", ("The pump P-204 of Juniper Ward…", ("d:0",)), by_model=False),
        Finding("The pump P-204 of Juniper Ward…", ("d:0",), ()),
    )
    point = pointed(KeyPoint(note, "The pump P-204 of Juniper Ward.", 0.8), CHUNKS, "ward")
    assert (point.point, point.text) == ("", "The pump P-204 of Juniper Ward failed in May.")


def test_a_finding_of_a_report_that_no_model_wrote_finds_itself_even_where_it_is_masked():
    masked_finding = Finding("█ █ █ of [somebody] [somewhere]…", ("d:0",), ())
    note = NumberedFinding(report("r3", by_model=False), masked_finding)
    assert pointed(KeyPoint(note, masked_finding.text, 0.8), CHUNKS, "ward").point == ""


def test_where_the_document_says_less_than_half_of_it_its_own_words_are_the_point_or_there_is_none():
    short, long = "Juniper Ward lost its pumps.", "Juniper Ward lost a pump, seals, batteries, money and trust."

    def point(said, quote):
        note = NumberedFinding(WARD, Finding(said, ("f:0",), ()))
        found = pointed(KeyPoint(note, said, 0.8), {"f:0": chunk("f:0", quote)}, "ward")
        return found and (found.text, found.point)

    assert point(short, "The ward got a pump.") == ("The ward got a pump.", short)  # two of its four words
    assert point(long, "Juniper Ward had a pump.") == ("Juniper Ward had a pump.", "")  # three of eight
    assert point(long, "Juniper got a valve.") is None  # one


def test_a_passage_in_the_place_of_a_report_is_no_report():
    note = NumberedFinding(report("e:0", (LOANS, ("e:0",)), by_model=False), Finding(LOANS, ("e:0",), ()))
    assert pointed(KeyPoint(note, "Loans of No. 7 grew a lot.", 0.8), CHUNKS, "bank").report == ""


def test_a_finding_of_which_a_passage_is_gone_makes_no_point():
    assert pointed(KeyPoint(NOTES[0], "Pumps failed in May.", 0.8), {"d:0": CHUNKS["d:0"]}, "ward") is None


def test_a_long_sentence_is_cut_to_what_may_be_quoted():
    long = "pump " * 200 + "of Juniper Ward failed in May."
    point = pointed(KeyPoint(NOTES[1], "A pump of Juniper Ward failed.", 0.8), {"d:0": chunk("d:0", long)}, "ward")
    assert len(point.text) <= 300
    assert long[point.span[0] - 100 : point.span[1] - 100] == point.text


def test_masks_are_on_before_a_model_reads():
    hidden = masked(WARD, lambda text: text.replace("Juniper", "█"))
    assert (hidden.title, hidden.findings[0].text) == ("█ Ward", "Pumps of █ Ward failed in May.")
    assert hidden.findings[0].chunk_ids == ("d:0", "d:1")


@given(st.text(alphabet="ab1[]().!?:-* \n<>&", max_size=60), st.text(alphabet="ab1[]().!? \n<&;", min_size=1, max_size=60))
def test_whatever_is_said_a_points_words_are_the_documents(said, text):
    one = NumberedFinding(WARD, Finding("x", ("d:0",), ()))
    point = pointed(KeyPoint(one, said, 0.5), {"d:0": chunk("d:0", text)}, "ward")
    assert point is None or text[point.span[0] - 100 : point.span[1] - 100] == point.text
    for rows, sentence in noted(said, PASSAGES):
        assert rows
        assert set(rows) <= {0, 1, 2}
        assert sentence
