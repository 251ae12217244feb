"""What a report is written from, under a limit."""

from collections import namedtuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.communities.drafts import leaf_context, upper_context
from edge_node.communities.elements import Finding, Line, elements_of
from edge_node.communities.hierarchy import Community
from edge_node.communities.reports import ReportBounds, lines_of, plain_report
from edge_node.graph.knowledge_graph import Graph, adjacency_of
from edge_node.graph.summaries import part_of
from shared.records import ChunkId, Entity, Relation

CHUNK = (ChunkId("d:0"),)


def words(text):
    return len(text.split())


def element(key, *said):
    return Line(key.upper(), tuple(Finding(text, CHUNK, (key,)) for text in said), CHUNK, (key,))


def told(*said):
    """The lines of a report."""
    return tuple(Line("", (Finding(text, CHUNK, ()),), CHUNK, ()) for text in said)


def test_a_leaf_takes_its_elements_in_order_until_the_next_does_not_fit():
    """Tokens a 4, b 3, ab 5, c 2, bc 6: 4, 7, 12, 14, and 20 is more than 16."""
    tokens = {"a": 4, "b": 3, "ab": 5, "c": 2, "bc": 6}
    lines = [Line(name, (), CHUNK, ()) for name in tokens]
    kept = leaf_context(lines, limit_tokens=16, count=tokens.__getitem__)
    assert [line.name for line in kept] == ["a", "b", "ab", "c"]
    assert leaf_context(lines, limit_tokens=20, count=tokens.__getitem__) == tuple(lines)


def test_a_leaf_takes_nothing_behind_what_does_not_fit():
    tokens = {"long": 9, "short": 1}
    lines = [Line(name, (), CHUNK, ()) for name in tokens]
    assert leaf_context(lines, limit_tokens=5, count=tokens.__getitem__) == ()


Child = namedtuple("Child", "community_id entities report")


def context(elements, children, asked=None, **limits):
    """``upper_context`` of these children; ``asked`` hears whose reports are looked at."""
    reports = {child.community_id: child.report for child in children}

    def report(child):
        if asked is not None:
            asked.append(child)
        return reports[child]

    return upper_context(elements, {child.community_id: child.entities for child in children}, report, **limits)


TOKENS = {"A": 60, "B": 40, "C": 15, "A - hold - B": 5, "a's report.": 20, "b's report.": 12, "c's report.": 10}
ELEMENTS = [*(Line(key.upper(), (), CHUNK, (key,)) for key in "abc"), Line("A - hold - B", (), CHUNK, ("a\tb",))]
CHILDREN = [Child(key, (key,), told(f"{key}'s report.")) for key in "cab"]


def upper(limit_tokens, tokens=TOKENS):
    return [line.text for line in context(ELEMENTS, CHILDREN, limit_tokens=limit_tokens, count=tokens.__getitem__)]


def test_elements_stay_where_all_fit():
    assert upper(120) == ["A", "B", "C", "A - hold - B"]


def test_the_largest_child_gives_way_to_its_report_first():
    """60, 40, 15 and 5 between them are 120; with A's report of 20 for its 60 they are 80."""
    assert upper(100) == upper(80) == ["a's report.", "B", "C", "A - hold - B"]


def test_children_give_way_until_all_fits():
    """A's report leaves 80, B's of 12 for 40 leaves 52, C's of 10 for 15 leaves 47."""
    assert upper(52) == ["a's report.", "b's report.", "C", "A - hold - B"]
    assert upper(50) == ["a's report.", "b's report.", "c's report.", "A - hold - B"]


def test_reports_that_are_too_long_together_stand_up_to_the_limit():
    assert upper(46) == ["a's report.", "b's report.", "c's report."]
    assert upper(33) == ["a's report.", "b's report."]


@pytest.mark.parametrize(("limit", "looked_at"), [(120, ""), (80, "a"), (52, "ab"), (50, "abc"), (33, "abc"), (25, "ab"), (19, "a")])
def test_no_more_reports_are_looked_at_than_decide_what_stands(limit, looked_at):
    """A's and B's reports are 32: with a limit of 25 nothing behind them is told, whatever C's says."""
    asked = []
    context(ELEMENTS, CHILDREN, asked, limit_tokens=limit, count=TOKENS.__getitem__)
    assert asked == list(looked_at)


def test_children_of_equal_size_give_way_by_id():
    assert upper(50, TOKENS | {"A": 30, "B": 30, "C": 30})[:1] == ["a's report."]


def test_a_report_that_is_not_shorter_replaces_nothing():
    """A 60, B 40, C 15 and 5; A's report is as long as A: B's saves 28, which is enough for 95."""
    assert upper(95, TOKENS | {"a's report.": 60}) == ["b's report.", "A", "C", "A - hold - B"]


def test_what_a_report_says_no_element_says_again():
    elements = [element("a", "Pumps leak.", "They are old and worn.", "They stand in a row."), element("b", "Gates close.", "Wards open.")]
    children = [Child("x", ("a",), told("Pumps leak.", "Gates close.")), Child("y", ("b",), told("Wards open."))]
    lines = context(elements, children, limit_tokens=9, count=words)
    assert [line.text for line in lines] == ["Pumps leak.", "Gates close.", "B: Wards open."]


def test_two_reports_say_it_once():
    elements = [element("a", "Pumps leak at night in the ward."), element("b", "Gates close at night in the ward.")]
    children = [Child("x", ("a",), told("Ann built it.")), Child("y", ("b",), told("Ann built it."))]
    assert [line.text for line in context(elements, children, limit_tokens=6, count=words)] == ["Ann built it."]


def test_an_entity_of_no_child_is_an_error():
    with pytest.raises(KeyError):
        context([element("a")], [], limit_tokens=9, count=words)


SAID = [
    f"{who} {did} {how}." for who in ("Ann", "The pump") for did in ("leaks", "was mended") for how in ("at night", "in Ward 3", "again")
]
DESCRIPTIONS = st.lists(st.sampled_from(SAID), max_size=4).map(" ".join)
PAIRS = [(a, b) for a in "abcdef" for b in "abcdef" if a < b]


@st.composite
def communities(draw):
    """The elements of a community, and its children with plain reports."""
    entities = {key: Entity(key, key.upper(), "concept", draw(DESCRIPTIONS), CHUNK, 1) for key in "abcdef"}
    pairs = draw(st.dictionaries(st.sampled_from(PAIRS), DESCRIPTIONS, max_size=8))
    graph = Graph(entities, {pair: Relation(*pair, text, ("hold",), 1.0, CHUNK) for pair, text in pairs.items()})
    adjacency = adjacency_of(graph)
    degrees = {key: len(adjacency.get(key, ())) for key in entities}
    homes = draw(st.lists(st.sampled_from("xyz"), min_size=6, max_size=6))
    children = []
    for name in sorted(set(homes)):
        inside = tuple(key for key, home in zip("abcdef", homes, strict=True) if home == name)
        part = part_of(graph, adjacency, inside)
        report = plain_report(
            Community(name, 1, "", (), inside),
            part,
            elements_of(part, degrees),
            ReportBounds(8000, draw(st.integers(1, 20)), 3),
            count=words,
        )
        children.append(Child(name, inside, lines_of(report)))
    return elements_of(graph, degrees), children


@given(communities(), st.integers(0, 120))
@settings(max_examples=50, deadline=None)
def test_a_context_fits_and_says_once_what_elements_and_reports_say(community, limit):
    elements, children = community
    lines = context(elements, children, limit_tokens=limit, count=words)
    reports = {line for child in children for line in child.report}
    by_name = {line.name: line for line in elements}
    said = [finding.text for line in lines for finding in line.findings]
    assert sum(words(line.text) for line in lines) <= limit
    assert len(said) == len(set(said))
    assert all(set(line.findings) <= set(by_name[line.name].findings) if line.name else line in reports for line in lines)
    assert len({line.name for line in lines if line.name}) == sum(bool(line.name) for line in lines)
    if sum(words(line.text) for line in elements) <= limit:
        assert lines == elements


@given(communities(), st.integers(0, 120), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_the_order_of_the_children_makes_no_difference(community, limit, random):
    elements, children = community
    shuffled = random.sample(children, len(children))
    first, second = (context(elements, given, limit_tokens=limit, count=words) for given in (children, shuffled))
    assert first == second
