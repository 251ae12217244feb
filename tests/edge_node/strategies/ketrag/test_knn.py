"""The KNN graph of chunks (KET-RAG Alg. 3 l. 2-7), against brute force and in any order of events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.strategies.ketrag import knn
from edge_node.strategies.ketrag.knn import Neighbours, Node, tie_of
from shared.vectors import to_ints, unit


def node(key: str, terms: Iterable[str], *vector: float) -> Node:
    return Node(key, frozenset(terms), to_ints(unit(np.array([vector], dtype=np.float32)))[0])


def made_of(nodes: Iterable[Node], *, k: int = 2, most_chunks: int = 3) -> Neighbours:
    graph = Neighbours(2, k=k, most_chunks=most_chunks)
    graph.renew(nodes)
    return graph


def brute_force(nodes: Mapping[str, Node], *, k: int, most_chunks: int) -> dict[str, list[str]]:
    """Alg. 3 l. 4-5 as it is written, over all pairs."""
    chunks_of = {term: [key for key, one in nodes.items() if term in one.terms] for one in nodes.values() for term in one.terms}
    joining = {term for term, keys in chunks_of.items() if len(keys) <= most_chunks}
    found = {}
    for key, one in nodes.items():
        others = [other for other in nodes if other != key]
        shared = {other: len(one.terms & nodes[other].terms & joining) for other in others}
        cosine = {other: int(one.vector.astype(np.int64) @ nodes[other].vector.astype(np.int64)) for other in others}
        lexical = sorted((other for other in others if shared[other]), key=lambda other: (-shared[other], tie_of(other)))
        semantic = sorted(others, key=lambda other: (-cosine[other], tie_of(other)))
        found[key] = lexical[: k // 2] + [other for other in semantic if other not in lexical[: k // 2]][: k // 2]
    return found


def state(graph: Neighbours, keys: Iterable[str]) -> dict[str, list[str]]:
    return {key: graph.neighbours_of(key) for key in keys}


PUMPS = [  # cosines: A with B 0.9, A with C 0.8, B with C 0.46
    node("A", {"pump", "ward", "filter"}, 1.0, 0.0),
    node("B", {"pump", "ward"}, 0.9, 0.43589),
    node("C", {"gate"}, 0.8, -0.6),
]


def test_a_semantic_neighbour_is_not_one_that_is_lexical_already():
    """A and B share two terms and C none, so B, the nearest of A, is banned from A's second half (l. 5)."""
    graph = made_of(PUMPS)
    assert graph.neighbours_of("A") == ["B", "C"]
    assert graph.neighbours_of("B") == ["A", "C"]
    assert graph.neighbours_of("C") == ["A"]


def test_the_graph_is_undirected_and_has_each_edge_once():
    graph = made_of(PUMPS).graph()
    assert sorted(graph.keys) == ["A", "B", "C"]
    assert sorted(tuple(sorted(graph.keys[end] for end in edge)) for edge in graph.edges) == [("A", "B"), ("A", "C"), ("B", "C")]


def test_none_and_one_chunk_have_no_edges():
    assert made_of([]).graph().edges.shape == (0, 2)
    alone = made_of(PUMPS[:1])
    assert (alone.neighbours_of("A"), alone.graph().keys, alone.graph().edges.shape) == ([], ("A",), (0, 2))
    assert alone.neighbours_of("gone") == []


def test_equals_come_by_the_hash_of_their_ids_and_not_by_who_came_first():
    keys = ["c1", "c2", "c3", "c4"]
    expected = sorted(keys[1:], key=tie_of)
    for order in (keys, keys[::-1]):
        graph = made_of([node(key, {"same"}, 1.0, 0.0) for key in order], k=4, most_chunks=9)
        assert graph.neighbours_of("c1") == expected


def test_a_term_of_too_many_chunks_joins_nobody_until_some_are_gone():
    graph = made_of([node(f"c{at}", {"same"}, 1.0, at) for at in range(4)], most_chunks=3)
    assert graph.neighbours_of("c0") == ["c1"]  # the nearest; none by the term
    assert graph.renew([], ["c3"]) == {"c0", "c1", "c2"}
    assert set(graph.neighbours_of("c0")) == {"c1", "c2"}


def test_only_the_neighbourhood_of_a_new_chunk_changes():
    west = [node("D", {"lock"}, -1.0, 0.0), node("E", {"lock"}, -0.9, 0.1), node("G", {"lock"}, -0.9, -0.1)]
    graph = made_of([*PUMPS, *west])
    changed = graph.renew([node("F", {"gate"}, 0.8, -0.61)])
    assert "F" in changed
    assert not changed & {"D", "E", "G"}
    assert graph.neighbours_of("C")[0] == "F"


def test_a_list_changes_when_another_chunk_takes_the_place_of_one_that_is_gone():
    graph = made_of([node("A", {"pump"}, 1.0, 0.0), node("B", {"pump"}, 0.9, 0.1)])
    assert graph.renew([node("C", {"pump"}, 0.9, 0.1)], ["B"]) == {"A", "C"}
    assert graph.neighbours_of("A") == ["C"]


def test_a_k_that_cannot_be_halved_is_refused():
    with pytest.raises(ValueError, match="even number"):
        Neighbours(2, k=3)


words = st.sets(st.sampled_from("abcdef"), max_size=4)
angles = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 6.28))  # some are equal
nodes = st.builds(lambda at, terms, angle: node(f"c{at}", terms, np.cos(angle), np.sin(angle)), st.integers(0, 8), words, angles)
steps = st.lists(st.tuples(st.lists(nodes, max_size=5), st.lists(st.integers(0, 8).map("c{}".format), max_size=2)), max_size=6)


@settings(max_examples=25, deadline=None)
@given(steps, st.sampled_from([2, 4]))
def test_any_history_is_brute_force_and_says_what_changed(history, k):
    graph, there = Neighbours(2, k=k, most_chunks=3), dict[str, Node]()
    before: dict[str, list[str]] = {}
    for added, dropped in history:
        there = {key: one for key, one in there.items() if key not in dropped} | {one.chunk_id: one for one in added}
        changed = graph.renew(added, dropped)
        now = state(graph, there)
        assert now == brute_force(there, k=k, most_chunks=3)
        assert {key for key in there if now[key] != before.get(key)} <= changed <= set(there)
        before = now
    fresh = made_of(there.values(), k=k).graph()
    edges = {frozenset(graph.graph().keys[end] for end in edge) for edge in graph.graph().edges}
    assert edges == {frozenset((key, other)) for key in there for other in graph.neighbours_of(key)}
    assert graph.graph().keys == fresh.keys == tuple(sorted(there, key=tie_of))
    assert np.array_equal(graph.graph().edges, fresh.edges)


def test_blocks_and_single_chunks_find_the_same_in_a_few_hundred_dimensions(monkeypatch):
    monkeypatch.setattr(knn, "BLOCK", 7)
    draw = np.random.default_rng(3)
    vectors = to_ints(unit(draw.standard_normal((50, 384)).astype(np.float32)))
    there = {f"c{at}": Node(f"c{at}", frozenset(map(str, draw.integers(0, 40, 6))), vector) for at, vector in enumerate(vectors)}
    blocked, single = (Neighbours(384, k=4, most_chunks=10) for _ in range(2))
    blocked.renew(there.values())
    for one in there.values():
        single.renew([one])
    assert state(blocked, there) == state(single, there) == brute_force(there, k=4, most_chunks=10)
