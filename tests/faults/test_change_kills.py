"""R1 for a change of the embedding model; a null control beside it."""

import pytest

from tests.faults.change_kills import campaign

pytestmark = pytest.mark.campaign


def test_a_kill_anywhere_in_a_change_of_the_embedding_model_loses_nothing(tmp_path):
    killed, wrong = campaign(tmp_path, 8)
    assert (killed >= 8, wrong) == (True, [])


def test_a_change_that_only_renames_the_model_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("edge_node.change.EmbedderChange.take_over", lambda *_: None)  # put back when the test ends
    assert campaign(tmp_path, 2, without=True)[1]
