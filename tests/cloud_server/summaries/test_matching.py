import numpy as np
import pytest

from cloud_server.summaries.matching import SummaryMatch, match, owners, summary_key
from shared.index import open_index


@pytest.fixture
def index():
    index = open_index("numpy", 2)
    vectors = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]], dtype=np.float32)
    index.put([summary_key("bank", "s/1"), summary_key("ward", "s1"), summary_key("bank", "s2"), summary_key("plant", "s1")], vectors)
    return index


QUESTION = np.array([[1, 0]], dtype=np.float32)  # (1, d)


def test_the_m_nearest_above_the_threshold_come_best_first(index):
    found = match(QUESTION, index, m=5, min_cosine=0.5)
    assert [(one.edge, one.summary_id, one.score) for one in found] == [
        ("bank", "s/1", pytest.approx(1.0)),
        ("ward", "s1", pytest.approx(0.8)),
        ("bank", "s2", pytest.approx(0.6)),
    ]


def test_m_cuts(index):
    assert len(match(QUESTION, index, m=1, min_cosine=0.5)) == 1


def test_nothing_near_matches_nothing(index):
    assert match(np.array([[-1, 0]], dtype=np.float32), index, m=5, min_cosine=0.5) == []


def test_owners_are_ranked_by_their_best_summary_and_come_once(index):
    found = match(QUESTION, index, m=5, min_cosine=-1)
    assert owners(found, k=5) == ["bank", "ward", "plant"]
    assert owners(found, k=2) == ["bank", "ward"]
    assert owners([], k=2) == []


def test_an_owner_is_known_by_the_first_slash(index):
    assert match(QUESTION, index, m=1, min_cosine=0)[0] == SummaryMatch("bank", "s/1", pytest.approx(1.0))


def test_each_part_of_a_compound_question_brings_its_own_matches(index):
    """The first row is nearest to one summary, the second to another; m = 1 each."""
    both = np.array([[1, 0], [0, 1]], dtype=np.float32)
    assert len({one.summary_id for one in match(both, index, m=1, min_cosine=0.5)}) == 2
