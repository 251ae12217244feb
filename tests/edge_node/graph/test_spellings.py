from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from edge_node.graph.spellings import SpellingIndex, alike, alike_pairs

WORDS = [
    "ward",
    "cardiology",
    "cardiolgy",
    "cardiologi",
    "department",
    "departments",
    "of",
    "and",
    "justice",
    "blood",
    "stream",
    "bloodstream",
    "b",
]
keys = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


@given(st.sets(keys, max_size=12))
def test_the_index_finds_exactly_the_pairs_that_are_alike(found):
    by_comparison = [(a, b, alike(a, b)) for a, b in combinations(sorted(found), 2) if alike(a, b)]
    assert alike_pairs(found) == by_comparison


@given(st.text("abcdef", min_size=6, max_size=12), st.data())
def test_a_word_with_one_slip_anywhere_is_found_where_it_is_alike(word, data):
    place = data.draw(st.integers(0, len(word)))
    slipped = data.draw(
        st.sampled_from([word[:place] + "x" + word[place:], word[:place] + "x" + word[place + 1 :], word[:place] + word[place + 1 :]])
    )
    first, second = f"{word} hospital foundation", f"{slipped} hospital foundation"
    found = SpellingIndex([first]).near(second)
    assert bool(found) == (first != second and alike(*sorted((first, second))) > 0)


@given(st.sets(keys, max_size=12), st.sets(keys, max_size=12))
def test_an_index_after_adds_and_drops_equals_a_fresh_one(kept, dropped):
    index = SpellingIndex([*dropped, *kept, *kept])
    for key in dropped - kept:
        index.drop(key)
    for key in kept | dropped:
        assert index.near(key) == SpellingIndex(kept).near(key)


def test_an_unknown_key_is_dropped_in_silence():
    index = SpellingIndex(["cardiology ward"])
    index.drop("no such key here")
    assert index.near("cardiolgy ward") == {"cardiology ward": alike("cardiolgy ward", "cardiology ward")}
