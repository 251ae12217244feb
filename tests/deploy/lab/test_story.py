import pytest

from deploy.lab.links import Hop
from deploy.lab.scenario import Event, Expect
from deploy.lab.story import EventOutcome, Versions, answer_fault, answer_told, mixed, transfer_rows

REPLY = {
    "evidence": [{"edge": "a"}, {"edge": "b"}],
    "edges": [{"edge": "a", "status": "answered"}, {"edge": "c", "status": "late"}],
    "degraded": False,
    "reason": "c is late",
}
WHOLE = {"evidence": [{"edge": "a"}], "edges": [{"edge": "a", "status": "answered"}]}


def test_an_answer_is_told_with_its_sources_and_who_is_missing():
    assert answer_told(REPLY, 0.5) == "2 passages of a, b in 0.50 s; c late; partial"
    assert answer_told({"evidence": [], "degraded": True}, 2.0) == "0 passages in 2.00 s; degraded"
    assert answer_told({"error": "HTTP 503: busy"}, 2.0) == "no answer after 2.00 s: HTTP 503: busy"


@pytest.mark.parametrize(
    ("expect", "fault"),
    [
        (Expect(), ""),
        (Expect(degraded=False, partial=True, cites=("a", "b"), missing=("c",), within_s=1.0), ""),
        (Expect(degraded=True), "is not degraded"),
        (Expect(cites=("d",)), "no passage of d"),
        (Expect(missing=("a",)), "a is not missing: answered"),
        (Expect(missing=("d",)), "d is not missing: not named"),
        (Expect(partial=False), "is partial: c is late"),
        (Expect(within_s=0.1), "took 0.5 s, 0.1 s were expected"),
        (Expect(cites=("d",), missing=("a",)), "no passage of d; a is not missing: answered"),
    ],
)
def test_what_is_not_as_expected_is_said(expect, fault):
    assert answer_fault(expect, REPLY, 0.5) == fault


def test_a_degraded_answer_that_was_not_expected_says_why_it_is():
    assert (
        answer_fault(Expect(degraded=False), REPLY | {"degraded": True, "reason": "the cloud is away"}, 0.5)
        == "is degraded: the cloud is away"
    )


@pytest.mark.parametrize("status", ["late", "offline"])
def test_a_site_is_missing_where_it_was_late_or_offline(status):
    reply = {"edges": [{"edge": "a", "status": status}]}
    assert answer_fault(Expect(missing=("a",), partial=True), reply, 0.5) == ""


@pytest.mark.parametrize("status", ["skipped", "refused"])
def test_a_site_that_was_left_out_or_refused_is_not_missing(status):
    reply = {"edges": [{"edge": "a", "status": status}]}
    assert answer_fault(Expect(missing=("a",)), reply, 0.5) == f"a is not missing: {status}"


def test_an_answer_to_which_all_sites_came_is_not_partial():
    assert answer_fault(Expect(partial=False), WHOLE, 0.5) == ""
    assert answer_fault(Expect(partial=True), WHOLE, 0.5) == "is not partial"


def test_where_an_answer_says_itself_whether_it_is_partial_its_word_is_compared():
    assert answer_fault(Expect(partial=True), REPLY | {"partial": False}, 0.5) == "is not partial"
    assert answer_fault(Expect(partial=False), WHOLE | {"partial": True}, 0.5) == "is partial: "


def test_a_refusal_is_a_fault_whatever_was_expected():
    assert answer_fault(Expect(), {"error": "HTTP 503: busy"}, 0.5) == "HTTP 503: busy"


def test_old_and_new_are_whole_and_what_is_between_them_is_mixed():
    old, new = Versions((1, 3), (1, 3)), Versions((2, 5), (2, 5))
    assert mixed([Versions((2, 5), (1, 3)), new], [old, new]) == []
    assert mixed([Versions((2, 5), (2, 4))], [old, new]) == [Versions((2, 5), (2, 4))]


def test_the_table_has_a_row_for_each_transfer_that_took_place_in_the_papers_order():
    hops = [("answer send", Hop("a", "down", 1, 0, ms, 1000 + ms, 1)) for ms in range(20)] + [
        ("query send", Hop("a", "up", 1, 0, 15.04, 800, 1))
    ]
    query, answer = transfer_rows([EventOutcome(Event(do="look"), 0, 0, transfers=tuple(hops))])
    assert query == {"transfer": "query send", "n": 1, "bytes_p50": 800, "bytes_p95": 800, "ms_p50": 15.0, "ms_p95": 15.0}
    assert (answer["transfer"], answer["n"], answer["ms_p50"], answer["ms_p95"]) == ("answer send", 20, 10, 19)


def test_an_event_that_failed_is_marked_in_its_line():
    assert EventOutcome(Event(do="cut", edge="a"), 61.25, 0, "cut", "no").line() == "  61.2 s  cut a: cut  ✗ no"
