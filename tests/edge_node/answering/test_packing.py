"""Reports in packs."""

from hypothesis import given
from hypothesis import strategies as st

from edge_node.answering.points import packed, shuffled
from edge_node.communities.elements import Finding
from edge_node.communities.reports import Report
from edge_node.communities.selection import LINE_TOKENS


def words(text):
    return len(text.split())


def report(name, *findings):
    return Report(name, 2, name, "", 1, "", tuple(Finding(text, ("d:0",), ()) for text in findings), by_model=False, content="")


def shown(packs):
    return [[(one.title, len(one.findings)) for one in pack] for pack in packs]


def test_reports_are_packed_in_their_order_and_the_next_one_that_does_not_fit_begins_a_pack():
    """Each line costs its words and 4: a has 5 + 6 = 11, b 5 + 7 = 12, c 5 + 5 = 10; 11 + 12 > 22, 12 + 10 = 22."""
    packs = packed([report("a", "x y"), report("b", "x y z"), report("c", "x")], limit_tokens=22, count=words)
    assert shown(packs) == [[("a", 1)], [("b", 1), ("c", 1)]]


def test_a_report_over_the_limit_is_cut_behind_a_finding():
    """Title 5, findings 5 each: 5 + 5 + 5 = 15 fit into 19, a third one does not."""
    packs = packed([report("a", "x", "y", "z")], limit_tokens=19, count=words)
    assert [finding.text for finding in packs[0][0].findings] == ["x", "y"]


def test_a_first_finding_stays_even_if_it_is_over_the_limit():
    assert shown(packed([report("a", "x " * 50, "y")], limit_tokens=10, count=words)) == [[("a", 1)]]


def test_a_report_without_findings_is_packed_as_well():
    assert shown(packed([report("a")], limit_tokens=10, count=words)) == [[("a", 0)]]


def test_the_order_is_one_of_chance_that_a_question_has_each_time():
    items = list(range(50))
    first = shuffled(items, seed=7, question="What is it about?")
    assert first == shuffled(items, seed=7, question="What is it about?")
    assert first != items
    assert len({tuple(shuffled(items, seed=seed, question=question)) for seed in (7, -8) for question in "ab"}) == 4


@given(st.lists(st.lists(st.integers(1, 9), max_size=5), max_size=8), st.integers(10, 60))
def test_every_report_is_in_one_pack_and_no_pack_is_over_the_limit_but_for_a_first_finding(sizes, limit):
    reports = [report(str(row), *("x " * size for size in report_sizes)) for row, report_sizes in enumerate(sizes)]
    packs = packed(reports, limit_tokens=limit, count=words)
    assert [one.title for pack in packs for one in pack] == [one.title for one in reports]
    for pack in packs:
        tokens = sum(words(text) + LINE_TOKENS for one in pack for text in (one.title, *(finding.text for finding in one.findings)))
        assert tokens <= limit or (len(pack) == 1 and len(pack[0].findings) == 1)
