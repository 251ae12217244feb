"""Bodies that are made of records."""

import pytest
from pydantic import ValidationError

from shared.records import Evidence, Summary, SummaryDelta
from shared.wire import (
    MAX_EVIDENCE_CHARS,
    MAX_POLLED,
    MAX_SUMMARY_CHARS,
    AskLine,
    DeltaBody,
    EvidenceBody,
    EvidenceRequest,
    PollReply,
)


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


ANSWER = {
    "query_id": "q",
    "answer": "Pumps [1].",
    "citations": [
        {"n": 1, "edge": "ward", "document_id": "d", "document": "a", "chunk_id": "d:0", "span": [0, 5], "quote": "Pumps", "score": 0.5}
    ],
    "route": "cloud",
    "edges": [{"edge": "ward", "asked_for": "evidence", "status": "answered", "ms": 1, "bytes": 1, "evidence": 1, "reason": ""}],
    "trace": [{"step": "ward: retrieve", "ms": 1.0}],
}
HUGE, MARKUP = 10**30, "[click](http://evil.example)"
LIES = {
    ("citations", "span"): [0, HUGE],
    ("citations", "n"): HUGE,
    ("citations", "edge"): MARKUP,
    ("citations", "document_id"): "<img src=x>",
    ("citations", "chunk_id"): MARKUP,
    ("edges", "edge"): MARKUP,
    ("edges", "asked_for"): "<b>",
    ("edges", "ms"): -1.0,
    ("edges", "bytes"): HUGE,
    ("edges", "evidence"): -1,
    ("trace", "step"): "\x1b]8;;http://evil\x07",
    ("trace", "ms"): 1e300,
    ("trace", "tokens_in"): HUGE,
}


def test_an_honest_answer_is_read():
    assert AskLine.model_validate({"answer": ANSWER}).answer


@pytest.mark.parametrize(("part", "name"), LIES)
def test_an_answer_with_a_number_that_no_reader_can_hold_or_a_name_with_markup_is_none(part, name):
    lie = {**ANSWER, part: [{**ANSWER[part][0], name: LIES[part, name]}]}
    with pytest.raises(ValidationError, match=name):
        AskLine.model_validate({"answer": lie})


@pytest.mark.parametrize(("name", "lie"), [("document_id", MARKUP), ("chunk_id", ""), ("span", [0, HUGE])])
def test_a_passage_with_such_a_number_or_name_is_none(name, lie):
    honest = {"document_id": "d", "document": "a", "chunk_id": "d:0", "span": [0, 4], "text": "text"}
    EvidenceBody.model_validate(honest)
    with pytest.raises(ValidationError, match=name):
        EvidenceBody.model_validate({**honest, name: lie})


@pytest.mark.parametrize("request_id", ["", "a b", "ä", "a\n", "../../x", "a?b", "%", "\x00", "a#b", "x" * 65])
def test_a_request_whose_id_cannot_stand_in_a_path_is_none(request_id):
    with pytest.raises(ValidationError, match="request_id"):
        EvidenceRequest(request_id=request_id, question="q", budget_tokens=1, deadline_ms=1)


def test_an_answer_to_a_poll_has_a_bounded_length():
    requests = [EvidenceRequest(request_id="r", question="q", budget_tokens=1, deadline_ms=1)] * (MAX_POLLED + 1)
    with pytest.raises(ValidationError, match="requests"):
        PollReply(requests=requests)


def test_a_request_without_a_place_in_a_trace_is_sent_as_before_there_was_one():
    fields = {"request_id": "r", "question": "q", "budget_tokens": 1, "deadline_ms": 1}
    assert "traceparent" not in PollReply(requests=[EvidenceRequest(**fields)]).model_dump_json()
    sent = f"00-{'a' * 32}-{'b' * 16}-01"
    assert EvidenceRequest.model_validate_json(EvidenceRequest(**fields, traceparent=sent).model_dump_json()).traceparent == sent


@pytest.mark.parametrize("sent", ["canary", "00-" + "A" * 32 + "-" + "b" * 16 + "-01", f"00-{'a' * 32}-{'b' * 16}-01\n"])
def test_a_place_in_a_trace_is_hexadecimal(sent):
    with pytest.raises(ValidationError):
        EvidenceRequest(request_id="r", question="q", budget_tokens=1, deadline_ms=1, traceparent=sent)
