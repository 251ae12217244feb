"""Nothing is accepted when the disk is nearly full (R9)."""

import pytest

from edge_node.documents.store import require_space
from shared.errors import DiskFull
from shared.http.problems import status_of


def test_too_little_room_is_refused_with_507_and_enough_is_not(tmp_path):
    require_space(tmp_path, floor=0)
    with pytest.raises(DiskFull) as told:
        require_space(tmp_path, floor=2**62)
    assert status_of(told.value) == 507
