"""R1 for a change of the embedding model; a null control beside it."""

import pytest

from tests.faults.report import told

pytestmark = [pytest.mark.campaign, pytest.mark.usefixtures("strace")]


def test_a_kill_anywhere_in_a_change_of_the_embedding_model_loses_nothing():
    report = told("change_kills", 8)
    assert (report.points, report.faults) == (8, [])


@pytest.mark.long
def test_two_hundred_kills_lose_nothing():
    assert told("change_kills", 200, "--seed", 8).faults == []


def test_a_change_that_only_renames_the_model_is_seen():
    assert any("vectors" in fault for fault in told("change_kills", 2, "--without").faults)
