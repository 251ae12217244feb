"""Two channels within one limit (KET-RAG Alg. 4), and the orders of the other variants."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.graph.local_search import Context
from edge_node.strategies.ketrag.search import by_score, extended, limits, neighbourhood, seeds_and_neighbours

PIECES = {"k1": ["p01", "p02", "p03", "p04", "p05"], "k2": ["p04", "p05", "p06", "p07", "p08", "p09"], "k3": ["p10", "p11", "p12", "p13"]}
NOTHING = Context((), (), 0)


def hundred(piece: str) -> int:
    return 100


def test_terms_are_taken_with_all_their_pieces_until_these_hold_twice_the_limit():
    """600 for keywords: 5 pieces, 9 pieces (900 < 1,200), 13 pieces (1,300 >= 1,200), and k4 is not asked for."""
    terms = iter(["k1", "k2", "k3", "k4"])
    assert limits(1_000, 0.4) == (400, 600)
    found = neighbourhood(terms, PIECES.__getitem__, hundred, limit_tokens=600)
    assert found == [f"p{number:02}" for number in range(1, 14)]
    assert list(terms) == ["k4"]


def test_the_best_six_of_them_fit():
    ranked = by_score([f"p{number:02}" for number in range(1, 14)], {f"p{number:02}": number / 100 for number in range(1, 14)})
    found = extended(NOTHING, ranked, hundred, limit_tokens=600)
    assert found == Context((), ("p13", "p12", "p11", "p10", "p09", "p08"), 600)


def test_a_piece_of_the_skeleton_is_not_taken_twice_and_makes_room_for_another():
    local = Context(("a line",), ("p12",), 150)
    found = extended(local, ["p13", "p12", "p11", "p10"], hundred, limit_tokens=250)
    assert found == Context(("a line",), ("p12", "p13", "p11"), 350)


def test_what_is_left_of_the_whole_goes_to_further_pieces():
    found = Context((), ("p1",), 150)
    assert extended(found, ["p1", "p2", "p3"], hundred, limit_tokens=400 - found.tokens).pieces == ("p1", "p2", "p3")


def test_fewer_terms_than_needed_are_all_taken():
    assert neighbourhood(["k3"], PIECES.__getitem__, hundred, limit_tokens=600) == PIECES["k3"]


def test_a_channel_without_tokens_reads_no_term():
    terms = iter(["k1"])
    assert neighbourhood(terms, PIECES.__getitem__, hundred, limit_tokens=0) == []
    assert list(terms) == ["k1"]


def test_a_seed_is_followed_by_its_neighbours_and_nothing_comes_twice():
    neighbours = {"a": ["x", "b"], "b": ["a", "y"], "c": []}
    assert list(seeds_and_neighbours(["a", "b", "c"], lambda key: neighbours.get(key, []))) == ["a", "x", "b", "y", "c"]


pieces = st.sampled_from([f"p{number}" for number in range(8)])


@settings(max_examples=25, deadline=None)
@given(
    st.lists(pieces, unique=True),
    st.lists(pieces, unique=True),
    st.integers(0, 300),
    st.integers(0, 100),
    st.dictionaries(pieces, st.integers(1, 90)),
)
def test_the_context_never_exceeds_the_limit(local, ranked, limit, percent, sizes):
    def tokens_of(piece: str) -> int:
        return sizes.get(piece, 20)

    for_skeleton, for_keywords = limits(limit, percent / 100)
    first = extended(NOTHING, local, tokens_of, limit_tokens=for_skeleton)
    both = extended(first, ranked, tokens_of, limit_tokens=for_keywords)
    full = extended(both, [*ranked, *local], tokens_of, limit_tokens=limit - both.tokens)
    assert first.tokens <= for_skeleton
    assert both.tokens - first.tokens <= for_keywords
    assert full.tokens == sum(map(tokens_of, full.pieces)) <= limit
    assert len(set(full.pieces)) == len(full.pieces)
