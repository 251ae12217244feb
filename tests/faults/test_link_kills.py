"""P1, R4: kill -9 of an edge or of the cloud while they speak."""

import pytest

from tests.faults.report import told

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("strace")]


def test_after_a_kill_every_body_on_the_wire_is_in_the_ledger_and_the_cloud_has_what_the_edge_has():
    report = told("link_kills", 5, 3)
    assert report.faults == []
    assert report.points == 8
    assert report.figures["bodies"] >= 25


def test_an_edge_that_writes_its_ledger_a_body_late_is_seen_when_it_is_killed():
    """The null control; uninterrupted, such an edge records all. A kill may come when a later body has had the last one recorded."""
    report = told("link_kills", 3, 0, "--late")
    assert report.found.get("unrecorded", 0) >= 1
    assert not [fault for fault in report.faults if ": normal" in fault]


@pytest.mark.long
def test_after_hundreds_of_kills_too():
    report = told("link_kills", 200, 100, "--seed", 8)
    assert report.faults == []
