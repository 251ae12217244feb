"""R1 for a change of the embedding model; a null control beside it. A campaign forks, so it runs in a process of its own."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.campaign, pytest.mark.usefixtures("strace")]


def told(*arguments):
    """The last line of a campaign: how many lives were killed, and what was wrong after them."""
    command = [sys.executable, "-m", "tests.faults.change_kills", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout.splitlines()[-1]


def test_a_kill_anywhere_in_a_change_of_the_embedding_model_loses_nothing():
    assert told("8") == "(8, [])"


def test_a_change_that_only_renames_the_model_is_seen():
    assert "['vectors']" in told("2", "--without")
