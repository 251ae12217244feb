"""A folder and its edge are equal after every kind of edit and kill; the long run is ``python -m tests.faults.folders 1000``."""

import pytest

from tests.faults.folders import campaign

pytestmark = [pytest.mark.process, pytest.mark.campaign]
EDITS = 30  # `python -m tests.faults.folders 1000` draws more


def test_after_edits_and_kills_the_edge_equals_the_folder(tmp_path):
    _, differ, steps = campaign(tmp_path, EDITS)  # whether a kill meets a sync at work is a matter of the machine's speed
    assert (differ, steps) == (set(), 0)


def test_without_deletions_it_does_not(tmp_path):
    """The null control; its first edits have deletions and renames already."""
    _, differ, _ = campaign(tmp_path, 20, options=("--keep-deleted",))
    assert differ
