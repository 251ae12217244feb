import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.communities.hierarchy import Community, Hierarchy
from edge_node.communities.selection import descended, relevance, within


def hierarchy_of_names(tree):
    """From the children of each name; all that is nobody's child is a root."""
    parents = {child: name for name, children in tree.items() for child in children}

    def level(name):
        return 1 + level(parents[name]) if name in parents else 0

    found = {name: Community(name, level(name), parents.get(name, ""), tuple(children), (name,)) for name, children in tree.items()}
    return Hierarchy(found, tuple(sorted(found.keys() - parents.keys())), {})


SEVEN = hierarchy_of_names({"a": ("b", "c"), "b": ("d", "e"), "c": (), "d": (), "e": (), "f": ("g",), "g": ()})
NEAR = {"a": 0.8, "b": 0.7, "c": 0.3, "d": 0.9, "e": 0.5, "f": 0.45, "g": 0.2}
TOKENS = {"a": 10, "b": 8, "c": 6, "d": 7, "e": 9, "f": 5, "g": 4}


@pytest.mark.parametrize(
    ("read_tokens", "chosen", "there"),
    [
        (0, ["d", "e", "f"], 4),  # a gives way to b (c is below 0.5 * 0.8), b to d and e; f stays, as g is not relevant
        (21, ["d", "e", "f"], 4),  # 7 + 9 + 5
        (20, ["b", "f"], 3),  # d and e would make 21
        (13, ["b"], 3),  # f does not fit behind a: 10 + 5; then b takes the place of a
        (9, ["b"], 3),  # the first is always in, and 8 fit
        (7, ["a"], 2),
    ],
)
def test_a_community_gives_way_to_its_relevant_children_while_they_fit(read_tokens, chosen, there):
    assert descended(SEVEN, NEAR, TOKENS.__getitem__, read_tokens=read_tokens, floor=0.5) == (chosen, there)


def test_what_is_not_relevant_is_not_asked_for_its_tokens():
    asked = []

    def tokens(key):
        asked.append(key)
        return TOKENS[key]

    descended(SEVEN, NEAR, tokens, read_tokens=0, floor=0.9)
    assert sorted(asked) == ["a"]  # 0.72 is more than b has


def test_where_all_is_far_from_the_question_the_nearest_are_read():
    near = {key: value - 1 for key, value in NEAR.items()}
    near["b"] = near["d"] = -0.3
    assert descended(SEVEN, near, TOKENS.__getitem__, read_tokens=0, floor=0.5) == (["a"], 2)


def test_nothing_is_chosen_of_nothing():
    assert descended(Hierarchy({}, (), {}), {}, TOKENS.__getitem__, read_tokens=100, floor=0.5) == ([], 0)


numbers = st.floats(-1, 1)


@given(
    st.fixed_dictionaries(dict.fromkeys(NEAR, numbers)),
    st.fixed_dictionaries(dict.fromkeys(TOKENS, st.integers(0, 20))),
    st.integers(0, 60),
    st.floats(0, 1),
)
def test_what_is_chosen_fits_and_nothing_is_told_twice(near, tokens, read_tokens, floor):
    chosen, there = descended(SEVEN, near, tokens.__getitem__, read_tokens=read_tokens, floor=floor)
    assert 1 <= len(chosen) <= there
    assert not read_tokens or len(chosen) == 1 or sum(tokens[key] for key in chosen) <= read_tokens
    above = {"b": "a", "c": "a", "d": "b", "e": "b", "g": "f"}
    for key in chosen:
        while key in above:
            key = above[key]
            assert key not in chosen
    assert [near[key] for key in chosen] == sorted((near[key] for key in chosen), reverse=True)


def test_a_level_is_read_from_its_nearest_report_until_the_next_does_not_fit():
    assert within("abcd", TOKENS.__getitem__, read_tokens=0) == ["a", "b", "c", "d"]
    assert within("abcd", TOKENS.__getitem__, read_tokens=24) == ["a", "b", "c"]
    assert within("abcd", TOKENS.__getitem__, read_tokens=23) == ["a", "b"]
    assert within("abcd", TOKENS.__getitem__, read_tokens=1) == ["a"]
    assert within("", TOKENS.__getitem__, read_tokens=1) == []


def test_a_community_is_as_relevant_as_its_three_nearest_passages_that_are_known():
    assert relevance({"a": 0.5, "b": 0.25}, ["a", "b", "gone"]) == 0.375
    assert relevance({}, ["gone"]) == -1
