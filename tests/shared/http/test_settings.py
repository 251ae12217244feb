"""Variables that no setting reads."""

from edge_node.settings import EdgeSettings
from shared.http.service import strangers


def test_what_is_read_and_what_is_of_others_is_no_stranger():
    environment = {"DGRAG_EDGE_STRATEGY": "dgrag", "DGRAG_CLOUD_NOTHING": "1", "HOME": "/"}
    assert strangers(EdgeSettings(), environment) == {}


def test_a_stranger_has_the_nearest_name_beside_it_if_one_is_near():
    environment = {"DGRAG_EDGE_KET_NEIGHBORS": "2", "DGRAG_EDGE_QQQ": "1"}
    assert strangers(EdgeSettings(), environment) == {"DGRAG_EDGE_KET_NEIGHBORS": "DGRAG_EDGE_KET_NEIGHBOURS", "DGRAG_EDGE_QQQ": ""}
