import pytest

from benchmarks.report.tables import interval, kind_of, number, set_of, sizes
from deploy.evaluation.intervals import Estimate

RESULT = {
    "run": {
        "config": {"split": [{"name": "hotpot-iid", "kind": "federated", "set": "multihop/hotpotqa"}, {"name": "home", "kind": "domain"}]}
    }
}


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.708, "%", "70.8 %"),
        (117.2, "×", "117 ×"),
        (0.0123, "s", "0.012 s"),
        (12.34, "ms", "12.3 ms"),
        (-0.5, "", "-0.50"),
        (1_234_567, "", "1,234,567"),
    ],
)
def test_a_number_has_the_digits_that_it_can_bear(value, unit, shown):
    assert number(value, unit) == shown


def test_an_interval_names_its_unit_once_beside_the_mean():
    assert interval(Estimate(2.0, 1.0, 3.5, 12), "s") == "1–3.50, n = 12"


def test_a_split_has_its_kind_and_its_set_from_the_config():
    assert (kind_of(RESULT, "home"), kind_of(RESULT, "unknown")) == ("domain", "")
    assert (set_of(RESULT, "hotpot-iid"), set_of(RESULT, "home")) == ("hotpotqa", "home")


def test_no_estimates_have_no_sizes():
    assert sizes([None]) == "n = "
