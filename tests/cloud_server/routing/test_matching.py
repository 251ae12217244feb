from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.routing.matching import (
    AGAIN,
    TITLES,
    SummaryMatch,
    Untold,
    WordMatches,
    by_words,
    covering,
    index_key,
    led_by_words,
    match,
    owners,
    second_opinion,
)
from shared.index import open_index
from shared.records import EdgeId, SummaryId
from shared.vectors import unit


@pytest.fixture
def index():
    index = open_index("numpy", 2)
    vectors = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [0, 1]], dtype=np.float32)
    index.put([index_key("bank", "s/1"), index_key("ward", "s1"), index_key("bank", "s2"), index_key("plant", "s1")], vectors)
    return index


QUESTION = np.array([[1, 0]], dtype=np.float32)  # (1, d)


def test_the_m_nearest_above_the_threshold_come_best_first(index):
    found = match(QUESTION, index, m=5, min_cosine=0.5, slots=5)
    assert [(one.edge, one.summary_id, one.score) for one in found] == [
        ("bank", "s/1", pytest.approx(1.0)),
        ("ward", "s1", pytest.approx(0.8)),
        ("bank", "s2", pytest.approx(0.6)),
    ]


def test_m_cuts(index):
    assert len(match(QUESTION, index, m=1, min_cosine=0.5, slots=5)) == 1


def test_nothing_near_matches_nothing(index):
    assert match(np.array([[-1, 0]], dtype=np.float32), index, m=5, min_cosine=0.5, slots=5) == []


def test_owners_are_ranked_by_their_best_summary_and_come_once(index):
    found = match(QUESTION, index, m=5, min_cosine=-1, slots=5)
    assert owners(found) == ["bank", "ward", "plant"]
    assert owners([]) == []


def test_an_owner_is_known_by_the_first_slash(index):
    assert match(QUESTION, index, m=1, min_cosine=0, slots=5)[0] == SummaryMatch("bank", "s/1", pytest.approx(1.0))


def test_each_part_of_a_compound_question_brings_its_own_matches(index):
    """The first row is nearest to one summary, the second to another; m = 1 each."""
    both = np.array([[1, 0], [0, 1]], dtype=np.float32)
    assert len({one.summary_id for one in match(both, index, m=1, min_cosine=0.5, slots=5)}) == 2


def crowded(forged):
    """An attacker's summaries are nearer than the owner's."""
    index = open_index("numpy", 2)
    vectors = unit(np.array([[1, 0.001 * n] for n in range(forged)] + [[0.8, 0.6], [0.6, 0.8]], dtype=np.float32))
    index.put([*(index_key("mallory", f"s{n}") for n in range(forged)), index_key("owner", "s"), index_key("other", "s")], vectors)
    return index


@pytest.mark.parametrize("forged", [5, 40, 700])
def test_one_edge_cannot_take_all_slots_however_many_summaries_it_has(forged):
    found = match(QUESTION, crowded(forged), m=5, min_cosine=0.5, slots=3)
    assert Counter(one.edge for one in found) == {"mallory": 3, "owner": 1, "other": 1}


def test_without_slots_it_takes_them_all():
    assert {one.edge for one in match(QUESTION, crowded(40), m=5, min_cosine=0.5, slots=5)} == {"mallory"}


def test_an_edge_that_matches_alone_takes_all_slots():
    assert len(match(QUESTION, crowded(40), m=5, min_cosine=0.9, slots=3)) == 5


def test_barred_edges_take_no_slots():
    found = match(QUESTION, crowded(40), m=5, min_cosine=0.5, slots=5, barred={"mallory"})
    assert [one.edge for one in found] == ["owner", "other"]


def opinion(index, known, *, min_cosine=0.9, barred=()):
    return second_opinion(QUESTION, index, known=known, min_cosine=min_cosine, barred=barred)


def test_where_one_edge_matches_alone_the_nearest_other_is_asked_too(index):
    assert opinion(index, ["bank"]) == ["ward"]


def test_where_two_match_or_none_does_no_second_opinion_is_sought(index):
    assert opinion(index, ["bank", "ward"]) == []
    assert opinion(index, []) == []


def test_far_below_the_threshold_nobody_is_asked(index):
    assert (
        opinion(
            index,
            [
                "bank",
            ],
            barred={"ward"},
        )
        == []
    )
    assert (
        opinion(
            index,
            [
                "ward",
            ],
            barred={"bank"},
            min_cosine=0.2,
        )
        == []
    )


def test_forty_copies_do_not_hide_the_second_opinion():
    assert opinion(crowded(700), ["mallory"]) == ["owner"]
    assert opinion(crowded(40), ["mallory"], barred={"owner"}, min_cosine=0.8) == ["other"]


def test_the_nearest_to_any_part_of_a_compound_question_is_asked(index):
    both = np.array([[0.6, 0.8], [0, 1]], dtype=np.float32)
    assert second_opinion(both, index, known=["bank"], min_cosine=0.9, barred=()) == ["plant"]


def spoken(**cosines):
    """Edges with summaries of these cosines with the question."""
    index = open_index("numpy", 2)
    for edge, values in cosines.items():
        rows = np.array([[value, (1 - value**2) ** 0.5] for value in values], dtype=np.float32)
        index.put([index_key(edge, f"s{n}") for n in range(len(values))], rows)
    return index


def edges_of(index, *, m=5, lead=0.9, words=None, reaches=lambda _: True, sizes=None):
    found = match(QUESTION, index, m=m, min_cosine=0.3, slots=5, lead=lead, words=words, reaches=reaches, sizes=sizes)
    return owners(found)


def test_one_near_summary_does_not_outweigh_three():
    """Means of the best three: 0.6 and 0.7."""
    index = spoken(chance=[0.8, 0.5, 0.5], knows=[0.7, 0.7, 0.7])
    assert edges_of(index, m=1) == ["knows"]
    assert edges_of(index, m=1, lead=0.0) == ["chance"]


def test_an_edge_far_behind_the_best_does_not_match():
    index = spoken(first=[0.6], second=[0.57], third=[0.4])
    assert edges_of(index) == ["first", "second"]
    assert edges_of(index, lead=0.0) == ["first", "second", "third"]


def test_shared_words_tip_the_scales():
    index = spoken(first=[0.70], second=[0.68])
    assert edges_of(index, m=1, words={"second/s0": 3.0, "first/s0": 1.5}) == ["second"]


def test_an_edge_that_is_away_shuts_nobody_out():
    index = spoken(away=[0.6], here=[0.5])
    assert edges_of(index, reaches=lambda edge: edge == "here") == ["away", "here"]


def test_names_send_a_question_where_they_stand_and_words_where_most_are_shared():
    index = spoken(a=[0.5], b=[0.4], c=[0.1])
    shared = [WordMatches([("b/s0", 2.0), ("a/s0", 1.0)], [[("a/s0", 4.0)]])]
    assert by_words(shared, QUESTION, index, min_cosine=0.2, barred=()) == ["a", "b"]  # 1/2 + 1, 1 + 0; c is too far
    assert by_words([WordMatches([], [])], QUESTION, index, min_cosine=0.2, barred={"a"}) == ["b"]


def test_what_is_nearer_than_summaries_are_shuts_nobody_out():
    """A forged summary is nearly the question itself."""
    assert edges_of(spoken(forger=[0.95], owner=[0.5])) == ["forger", "owner"]


def test_a_chance_hit_does_not_shut_out_who_has_three_near_the_threshold():
    """Means of three, 0.21 for what is missing: (0.5 + 0.42) / 3 and (0.4 + 0.28 + 0.28) / 3."""
    assert edges_of(spoken(chance=[0.5], owner=[0.4, 0.28, 0.28])) == ["chance", "owner"]
    assert edges_of(spoken(chance=[0.5], owner=[0.4, 0.28, 0.28]), m=1) == ["owner"]


def test_who_has_nothing_above_the_threshold_neither_matches_nor_shuts_anybody_out():
    index = spoken(worded=[0.28, 0.28, 0.28], matching=[0.4])
    assert edges_of(index, words={f"worded/s{n}": 5.0 for n in range(3)}) == ["matching"]


def test_an_edge_of_one_summary_is_not_measured_by_three():
    """Means of a large edge and of a small one: 0.6 and 0.56, or (0.56 + 0.21 + 0.21) / 3 were its size not known."""
    index = spoken(large=[0.62, 0.59, 0.59], small=[0.56])
    assert edges_of(index, sizes={"small": 1}) == ["large", "small"]
    assert edges_of(index) == ["large"]


def test_the_edge_of_the_clearly_nearest_summary_leads_too_unless_one_is_to_lead():
    """A note of its own about a thing, at an edge that is large otherwise."""
    index = spoken(broad=[0.5, 0.5, 0.5], note=[0.61])
    assert edges_of(index) == ["note", "broad"]
    assert edges_of(index, m=1) == ["broad"]
    assert edges_of(spoken(broad=[0.5, 0.5, 0.5], note=[0.59])) == ["broad"]


def test_words_lead_to_no_edge_that_is_away_and_cosines_follow():
    near = [SummaryMatch(EdgeId("c"), SummaryId("9"), 0.4)]
    words = {"a/1": 9.0, "b/2": 5.0, "c/3": 2.0}
    led = led_by_words(near, words, m=5, slots=3, min_cosine=0.3, reaches=lambda edge: edge != "a")
    assert [(one.edge, one.score) for one in led] == [("b", 0.3), ("c", 0.4)]


EDGES = [EdgeId(name) for name in "abcdefgh"]
NAMES = st.lists(
    st.builds(Untold, st.just(""), st.sampled_from([0.3, 0.7, 1.0]), st.frozensets(st.sampled_from(EDGES), min_size=1)), max_size=4
)
SAID = st.dictionaries(st.sampled_from(EDGES), st.sampled_from([0.5, 1.0, 1.3, 2.0]))


@given(SAID, NAMES)
def test_edges_come_as_if_after_each_one_all_others_were_weighed_again(said, untold):
    ranked = sorted(EDGES, key=lambda edge: (-said.get(edge, 0.0), edge))
    left, weights, greedy = list(ranked), [name.weight for name in untold], []
    while left:
        gains = {edge: sum(w / len(name.owners) for w, name in zip(weights, untold, strict=True) if edge in name.owners) for edge in left}
        best = max(left, key=lambda edge: TITLES * gains[edge] + said.get(edge, 0.0))
        left.remove(best)
        greedy.append(best)
        weights = [w * AGAIN if best in name.owners else w for w, name in zip(weights, untold, strict=True)]
    assert covering(ranked, said, untold) == greedy


def test_a_title_that_thousands_of_edges_share_is_no_reason_to_weigh_each_against_each():
    edges = [EdgeId(f"site-{number}") for number in range(50_000)]
    assert covering(edges, {}, [Untold("", 1.0, frozenset(edges[40_000:]))])[:2] == [edges[40_000], edges[40_001]]
