"""Bodies that are made of records."""

from shared.records import Evidence, Summary, SummaryDelta
from shared.wire import MAX_EVIDENCE_CHARS, MAX_SUMMARY_CHARS, DeltaBody, EvidenceBody


def test_a_passage_over_the_cap_is_cut_and_its_span_with_it():
    text = "x" * (MAX_EVIDENCE_CHARS + 5)
    body = EvidenceBody.from_record(Evidence("ward", "d1", "n" * 600, "d1:0", (100, 100 + len(text)), text, 0.5))
    assert (len(body.text), body.span, len(body.document)) == (MAX_EVIDENCE_CHARS, (100, 100 + MAX_EVIDENCE_CHARS), 512)


def test_a_passage_under_the_cap_is_left_as_it_is():
    body = EvidenceBody.from_record(Evidence("ward", "d1", "a.md", "d1:0", (3, 7), "text", 0.5))
    assert (body.text, body.span, body.document) == ("text", (3, 7), "a.md")


def test_a_summary_over_the_cap_is_cut():
    delta = SummaryDelta("e1", 0, 1, (Summary("s1", "x" * (MAX_SUMMARY_CHARS + 1), 1, 0),), ())
    assert len(DeltaBody.from_record(delta).upserts[0].text) == MAX_SUMMARY_CHARS
