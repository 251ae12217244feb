import pytest

from benchmarks.metrics.wins import wins


def rows(system, *told):
    named = {"split": "s", "scenario": "within", "system": system, "edge": "a"}
    return [named | {"question_id": f"q{number}", "values": {"claims": share}} for number, share in enumerate(told)]


def grouped(**systems):
    return {("s", "within", system): rows(system, *told) for system, told in systems.items()}


def test_more_claims_win_equal_ones_tie_and_the_order_of_the_systems_does_not_count():
    """q0 1 > 0.5 wins, q1 0 < 0.5 loses, q2 ties, q3 wins: (1 + 0 + 0.5 + 1) / 4."""
    ours, theirs = (1.0, 0.0, 0.5, 0.25), (0.5, 0.5, 0.5, 0.0)
    for found in (
        wins(grouped(dgrag=ours, local=theirs), gated="dgrag", seed=1),
        wins(grouped(local=theirs, dgrag=ours), gated="dgrag", seed=1),
    ):
        (row,) = found
        assert (row["system"], row["against"], row["win"]["mean"], row["equal"]) == ("dgrag", "local", pytest.approx(0.625), 1)


def test_without_the_gated_system_each_is_compared_with_each():
    found = wins(grouped(a=(1.0,), b=(0.0,), c=(0.0,)), gated="dgrag", seed=1)
    assert [(row["system"], row["against"], row["win"]["mean"]) for row in found] == [("a", "b", 1.0), ("a", "c", 1.0), ("b", "c", 0.5)]


def test_askings_without_a_reference_have_no_winner():
    known = {("s", "mixed", name): [{**row, "values": {}} for row in rows(name, 1.0)] for name in ("a", "b")}
    assert wins(known, gated="a", seed=1) == []
