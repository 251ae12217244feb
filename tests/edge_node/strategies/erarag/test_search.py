"""One search over passages and nodes, under a budget."""

from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.erarag.search import Hit, collapsed, detailed, summarised

LEAVES = [Hit(score, key, 100) for key, score in [("a", 0.9), ("b", 0.7), ("c", 0.5), ("d", 0.3)]]
NODES = [Hit(0.8, "a", 100, "n", 50), Hit(0.6, "c", 100, "m", 50)]
HITS = st.builds(
    Hit, st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from("abcde"), st.just(100), st.sampled_from(["", "", "n", "m"]), st.just(40)
)


def names(chosen):
    """Passages, nodes, and the tokens of both."""
    return "".join(chosen.passages), "".join(chosen.nodes), 100 * len(chosen.passages) + 50 * len(chosen.nodes)


def test_all_levels_are_ranked_together():
    """a 100, n 50 with a's passage already paid, b 100; then m 50 with its passage c 100."""
    assert names(collapsed(LEAVES, NODES, k=4, budget_tokens=1000)) == ("abc", "nm", 400)


def test_no_more_than_k_hits_are_taken():
    assert names(collapsed(LEAVES, NODES, k=2, budget_tokens=1000)) == ("a", "n", 150)


def test_what_does_not_fit_is_passed_over():
    """Of 200: a 100, n 50, b not (250), m not (300); nothing is cut."""
    assert names(collapsed(LEAVES, NODES, k=4, budget_tokens=200)) == ("a", "n", 150)


def test_the_first_is_in_even_where_it_does_not_fit():
    assert names(collapsed(LEAVES, NODES, k=4, budget_tokens=10)) == ("a", "", 100)


def test_of_a_first_node_that_does_not_fit_only_the_passage_is_in():
    assert names(collapsed([], NODES, k=4, budget_tokens=120)) == ("a", "", 100)


def test_a_passage_that_a_node_has_brought_along_takes_no_place_of_its_own():
    hits = [Hit(0.5, "a", 100), Hit(0.4, "b", 100)]
    assert names(collapsed(hits, [Hit(0.9, "a", 100, "n", 50)], k=2, budget_tokens=1000)) == ("ab", "n", 250)


def test_the_detailed_search_takes_its_share_from_the_passages_first():
    """k = 3, p = 0.6: ⌈1.8⌉ = 2 passages a, b; then one node, n."""
    assert names(detailed(LEAVES, NODES, k=3, budget_tokens=1000, share=0.6)) == ("ab", "n", 250)


def test_the_summarised_search_takes_its_share_from_the_nodes_first():
    """Two nodes, n with a and m with c; then one passage that is not there yet, b."""
    assert names(summarised(LEAVES, NODES, k=3, budget_tokens=1000, share=0.6)) == ("acb", "nm", 400)


def test_seven_hundredths_of_a_hundred_are_seven():
    """In floats 0.07 * 100 is 7.000000000000001, of which the ceiling would be 8."""
    leaves = [Hit(1 - place / 1000, f"p{place:03}", 1) for place in range(100)]
    nodes = [Hit(0.1, f"p{place:03}", 1, f"n{place}", 1) for place in range(100)]
    chosen = detailed(leaves, nodes, k=100, budget_tokens=10_000, share=0.07)
    assert len(chosen.nodes) == 93


def test_places_that_the_nodes_leave_are_filled_with_passages():
    assert names(detailed(LEAVES, [], k=3, budget_tokens=1000, share=0.5)) == ("abc", "", 300)
    assert names(summarised(LEAVES, NODES[:1], k=4, budget_tokens=1000, share=1.0)) == ("abcd", "n", 450)


def test_nothing_found_is_nothing_chosen():
    assert names(detailed([], [], k=3, budget_tokens=1000, share=0.7)) == ("", "", 0)


@given(
    st.lists(HITS, max_size=12), st.lists(HITS, max_size=12), st.integers(1, 6), st.integers(100, 900), st.sampled_from([0, 0.3, 0.7, 1])
)
@settings(max_examples=25, deadline=None)
def test_budget_and_number_hold_and_each_thing_is_paid_once(leaves, nodes, k, budget, share):
    leaves = [Hit(hit.score, hit.passage, 100) for hit in leaves]
    nodes = [hit if hit.node else Hit(hit.score, hit.passage, 100) for hit in nodes]
    for chosen in (
        collapsed(leaves, nodes, k=k, budget_tokens=budget),
        detailed(leaves, nodes, k=k, budget_tokens=budget, share=share),
        summarised(leaves, nodes, k=k, budget_tokens=budget, share=share),
    ):
        assert 100 * len(chosen.passages) + 40 * len(chosen.nodes) <= budget
        assert max(len(set(chosen.passages)), len(set(chosen.nodes))) <= k
        assert len(chosen.passages) == len(set(chosen.passages))
