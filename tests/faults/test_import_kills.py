"""R1 for the import of an archive; a null control beside it."""

import pytest

from tests.faults.report import told

pytestmark = [pytest.mark.campaign, pytest.mark.usefixtures("strace")]


def test_a_kill_anywhere_in_an_import_loses_nothing_once_it_is_run_again():
    report = told("import_kills", 6)
    assert (report.points, report.faults) == (6, [])


@pytest.mark.long
def test_two_hundred_kills_lose_nothing():
    assert told("import_kills", 200, "--seed", 8).faults == []


def test_a_client_that_notes_what_it_has_not_sent_yet_is_seen():
    assert any("documents" in fault for fault in told("import_kills", 20, "--without").faults)
