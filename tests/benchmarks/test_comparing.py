from hypothesis import given
from hypothesis import strategies as st

from benchmarks.comparing import EVERY, asking, by, common, grouped_answers, pairs

ROWS = st.builds(
    dict,
    split=st.just("s"),
    scenario=st.sampled_from(["within", "out"]),
    system=st.sampled_from(["dgrag", "local", "naive"]),
    question_id=st.integers(0, 5),
    edge=st.sampled_from("ab"),
)


@given(st.lists(ROWS, max_size=40))
def test_all_systems_of_a_scenario_keep_the_same_askings_and_lose_only_those_that_one_of_them_lacks(rows):
    groups = grouped_answers(rows)
    kept = common(groups)
    for place, group in groups.items():
        others = [{asking(row) for row in found} for other, found in groups.items() if other[:2] == place[:2]]
        assert {asking(row) for row in kept[place]} == set.intersection(*others)
        assert all(row in group for row in kept[place])


def row(**changes):
    return {"split": "s", "scenario": "within", "system": "dgrag", "question_id": 1, "edge": "a", "values": {"f1": 0.5}} | changes


def test_scenarios_together_are_shown_where_there_are_several():
    assert ("s", EVERY, "dgrag") not in grouped_answers([row()])
    assert len(grouped_answers([row(), row(scenario="out")])["s", EVERY, "dgrag"]) == 2


def test_a_question_asked_at_another_edge_is_another_asking():
    assert not pairs([row()], [row(edge="b")], "f1").of
    found = pairs([row()], [row(values={"f1": 1.0})], "f1")
    assert (found.ours, found.theirs, found.of, found.differences) == ((0.5,), (1.0,), (1,), [-0.5])


def test_a_retrieval_is_paired_by_its_question_whoever_asks():
    mine, theirs = ({"split": "s", "question_id": 1, "edge": edge, "values": {"recall@10": 1.0}} for edge in ("a", ""))
    assert pairs([mine], [theirs], "recall@10").of == (1,)


def test_rows_without_a_metric_are_no_pair():
    assert not pairs([row(values={})], [row()], "f1").of


def test_groups_come_in_the_order_of_their_first_row():
    assert list(by([row(edge="b"), row(edge="a"), row(edge="b")], "edge")) == [("b",), ("a",)]
