import pytest

from benchmarks.metrics.overviews import overview_of, overview_values
from benchmarks.records import Cited, EdgeShare
from deploy.evaluation.text import referenced


def report(edge, **changes):
    asked = {"edge": edge, "asked_for": "reports", "status": "answered", "ms": 2000.0, "bytes": 3000, "evidence": 4, "reason": ""}
    return asked | {"reports": 5, "reports_there": 20} | changes


CITATION = {
    "n": 1,
    "edge": "bank",
    "document_id": "d1",
    "document": "loans.md",
    "chunk_id": "d1:0",
    "span": [0, 9],
    "quote": "",
    "score": 0.5,
}
SAID = {
    "answer": "Loans are repaid late in winter [1]. Rates rose twice.",
    "citations": [CITATION | {"report": "r1", "chunks": ["d1:3"]}],
    "edges": [report("bank"), report("ward", ms=4000.0, reports=7), report("mill", status="late", reports=0, bytes=0)],
    "coverage": "2 of 3 sites answered",
}


def answer(**changes):
    overview = {
        "coverage": "",
        "edges": [{"edge": "bank", "status": "answered", "ms": 2000.0, "bytes": 3000, "reports": 5, "reports_there": 20}],
        "sentences": 4,
        "referenced": 3,
        "cited": [{"fault": ""}, {"fault": "404 not_found"}],
        "corpus_chars": 1_000_000,
    }
    steps = [{"step": "cloud", "bytes_out": 500, "bytes_in": 5500}, {"step": "cloud: fan_out", "bytes_out": 1000, "bytes_in": 3100}]
    return {"answered": True, "seconds": 5.0, "asked_edges": ["bank"], "steps": steps, "overview": overview | changes}


def test_an_answer_is_read_with_its_edges_and_references():
    found = overview_of(SAID)
    assert found.cited == (Cited(1, "bank", "d1", "loans.md", "r1", ("d1:0", "d1:3")),)
    assert found.edges[1] == EdgeShare("ward", "answered", 4000.0, 3000, 7, 20)
    assert (found.sentences, found.referenced, found.coverage) == (2, 1, "2 of 3 sites answered")


def test_a_marker_of_no_citation_is_no_reference():
    assert referenced("Loans are repaid late [2].", {1}) == (1, 0)


def test_bytes_are_those_of_the_question_the_requests_the_replies_and_the_answer():
    """500 + 5,500 between edge and cloud, 1,000 of requests, 3,000 of replies, of a million characters."""
    values = overview_values(answer())
    assert (values["bytes_moved"], values["bytes_of_corpus"]) == (10_000, pytest.approx(0.01))
    assert (values["referenced"], values["opened"], values["over_slowest"]) == (0.75, 0.5, 2.5)
    assert (values["reports"], values["reports_there"]) == (5, 20)


def test_a_site_that_answers_alone_moves_nothing_and_an_answer_without_sentences_has_no_share():
    values = overview_values(answer(edges=[], sentences=0, referenced=0, cited=[]) | {"asked_edges": []})
    assert values == {}


def test_an_answer_that_says_that_there_is_none_has_no_sentence_that_lacks_a_reference():
    values = overview_values(answer() | {"answered": False})
    assert not {"referenced", "opened"} & values.keys()
    assert values["bytes_moved"] == 10_000  # which it cost all the same


def test_other_answers_have_no_such_metrics():
    assert overview_values({"overview": None}) == {}
