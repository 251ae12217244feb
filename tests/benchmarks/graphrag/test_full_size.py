from hypothesis import given
from hypothesis import strategies as st

from benchmarks.graphrag.full_size import CONTEXT_TOKENS, REPORT_TOKENS, Size, sizes
from edge_node.communities.hierarchy import Community


def community(name, level, *children):
    return Community(name, level, "", children, ())


def test_what_fits_is_read_whole_and_its_report_is_not_longer():
    assert sizes([community("a", 0)], {"a": 900}) == {"a": Size(900, 900, 900)}


def test_a_leaf_is_cut_at_the_context():
    assert sizes([community("a", 3)], {"a": 20_000})["a"] == Size(20_000, 8_000, 2_000)


def test_reports_take_the_place_of_the_largest_first_and_only_until_it_fits():
    """12,000 tokens: c gives 6,000 - 2,000 = 4,000 back, and 8,000 fit; b keeps its elements."""
    found = sizes([community("a", 0, "b", "c"), community("b", 1), community("c", 1)], {"a": 12_000, "b": 5_000, "c": 6_000})
    assert found["a"] == Size(12_000, 8_000, 2_000)
    found = sizes([community("a", 0, "b", "c"), community("b", 1), community("c", 1)], {"a": 13_000, "b": 5_000, "c": 6_000})
    assert found["a"].context == 13_000 - 4_000 - 3_000


@given(st.lists(st.integers(0, 30_000), min_size=1, max_size=9))
def test_no_bound_is_passed(tokens):
    names = [f"child-{place}" for place in range(len(tokens))]
    elements = dict(zip(names, tokens, strict=True)) | {"top": sum(tokens)}
    found = sizes([community("top", 0, *names), *(community(name, 1) for name in names)], elements)
    for size in found.values():
        assert size.report <= min(size.context, REPORT_TOKENS)
        assert size.context <= min(size.elements, CONTEXT_TOKENS)
