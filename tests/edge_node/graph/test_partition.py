from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.graph.partition import name_subgraphs, partition


def members(parts):
    return [part.entities for part in parts]


def edges_of(graph):
    return {(str(a), str(b)): 1.0 for a, b in graph.edges()}


def test_two_cliques_with_one_bridge_are_two_parts():
    cliques = {pair: 1.0 for group in ("abcd", "wxyz") for pair in combinations(group, 2)}
    assert members(partition([*"abcdwxyz"], {**cliques, ("d", "w"): 0.1}, {}, max_entities=5)) == [tuple("abcd"), tuple("wxyz")]


def test_the_weight_of_an_edge_decides_where_a_thing_belongs():
    edges = {("a", "b"): 5.0, ("b", "m"): 1.0, ("m", "y"): 3.0, ("y", "z"): 5.0}
    assert members(partition([*"abmyz"], edges, {}, max_entities=3)) == [("a", "b"), ("m", "y", "z")]


def test_a_star_that_leiden_leaves_whole_is_cut():
    edges = {("hub", f"leaf{n:03}"): 1.0 for n in range(100)}
    parts = partition(["hub", *(f"leaf{n:03}" for n in range(100))], edges, {})
    assert max(len(part.entities) for part in parts) == 40
    assert sum(len(part.entities) for part in parts) == 101


def test_a_clique_that_leiden_leaves_whole_is_cut():
    names = [f"n{n:03}" for n in range(90)]
    parts = partition(names, dict.fromkeys(combinations(names, 2), 1.0), {})
    assert sorted(len(part.entities) for part in parts) == [10, 40, 40]


def test_a_small_part_joins_the_neighbour_with_most_weight_that_has_room():
    edges = {
        ("a", "b"): 9.0,
        ("a", "c"): 9.0,
        ("b", "c"): 9.0,
        ("c", "s"): 2.0,
        ("s", "x"): 1.0,
        ("x", "y"): 9.0,
        ("y", "z"): 9.0,
        ("x", "z"): 9.0,
    }
    assert members(partition([*"abcsxyz"], edges, {}, max_entities=4)) == [("a", "b", "c", "s"), ("x", "y", "z")]


def test_things_without_edges_are_grouped_by_chunk_then_by_document():
    homes = {"a1": ("A:0", "A"), "a2": ("A:0", "A"), "a3": ("A:1", "A"), "b1": ("B:0", "B"), "b2": ("B:0", "B"), "b3": ("B:0", "B")}
    assert members(partition([*homes], {}, homes, max_entities=3)) == [("a1", "a2", "a3"), ("b1", "b2", "b3")]


def test_what_is_left_of_documents_is_packed():
    homes = {f"e{n}": (f"D{n}:0", f"D{n}") for n in range(5)}
    assert members(partition([*homes], {}, homes, max_entities=5)) == [("e0", "e1", "e2", "e3", "e4")]


def test_a_thing_without_a_home_has_a_place_too():
    assert members(partition(["a", "b"], {}, {})) == [("a", "b")]


@pytest.mark.parametrize("entities", [[], ["a"], ["a", "a"]])
def test_no_thing_and_one_thing_work(entities):
    assert members(partition(entities, {}, {})) == [("a",)][: len(set(entities))]


def test_an_edge_of_a_thing_with_itself_is_no_edge():
    assert members(partition(["a"], {("a", "a"): 3.0}, {})) == [("a",)]


def test_an_edge_may_be_given_in_both_directions():
    assert members(partition(["a", "b"], {("a", "b"): 1.0, ("b", "a"): 1.0}, {})) == [("a", "b")]


def test_an_edge_to_nothing_is_an_error():
    with pytest.raises(KeyError):
        partition(["a"], {("a", "ghost"): 1.0}, {})


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_an_error(limit):
    with pytest.raises(ValueError, match="expected 1 or more"):
        partition(["a"], {}, {}, max_entities=limit)


@st.composite
def graphs(draw):
    names = [f"n{n}" for n in range(draw(st.integers(0, 60)))]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names)) if names else st.nothing()
    edges = draw(st.dictionaries(pairs, st.sampled_from([0.5, 1.0, 3.0]), max_size=120)) if names else {}
    homes = {name: (f"d{n % 3}:{n % 7}", f"d{n % 3}") for n, name in enumerate(names)}
    return names, edges, homes


@settings(deadline=None)
@given(graphs(), st.integers(1, 12))
def test_each_entity_is_in_one_part_and_no_part_is_too_big(graph, limit):
    parts = partition(*graph, max_entities=limit)
    assert sorted(key for part in parts for key in part.entities) == sorted(graph[0])
    assert all(1 <= len(part.entities) <= limit for part in parts)
    assert len({part.subgraph_id for part in parts}) == len(parts)


@settings(deadline=None)
@given(graphs(), st.randoms())
def test_the_order_of_input_makes_no_difference(graph, chance):
    names, edges, homes = graph
    first = partition(names, edges, homes, max_entities=8)
    shuffled_names, shuffled_edges = list(names), list(edges.items())
    chance.shuffle(shuffled_names)
    chance.shuffle(shuffled_edges)
    assert partition(shuffled_names, dict(shuffled_edges), homes, max_entities=8) == first


def test_threads_do_not_disturb_each_other():
    graph = nx.planted_partition_graph(10, 20, 0.4, 0.02, seed=1)
    names, edges = [str(node) for node in graph], edges_of(graph)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: partition(names, edges, {}), range(8)))
    assert all(result == results[0] for result in results)


def test_the_largest_overlap_keeps_its_id():
    previous = {"old": ["a", "b", "c"], "other": ["x"]}
    assert [part.subgraph_id for part in name_subgraphs([["a"], ["b", "c", "n"], ["x", "y"]], previous)][1:] == ["old", "other"]


def test_an_unchanged_partition_keeps_all_ids():
    named = name_subgraphs([["a", "b"], ["c"]], {})
    assert name_subgraphs([["c"], ["b", "a"]], {part.subgraph_id: part.entities for part in named}) == [named[1], named[0]]


def test_equal_overlaps_are_settled_the_same_way_in_any_order():
    previous = {"p": ["a", "b"], "q": ["c", "d"]}
    parts = [["a", "c"], ["b", "d"]]
    forwards = {part.entities: part.subgraph_id for part in name_subgraphs(parts, previous)}
    backwards = {part.entities: part.subgraph_id for part in name_subgraphs(parts[::-1], dict(reversed(previous.items())))}
    assert forwards == backwards


def test_a_new_id_never_meets_one_in_use():
    first = name_subgraphs([["a"]], {})[0].subgraph_id
    names = name_subgraphs([["b", "c"], ["a"]], {first: ["b", "c"]})
    assert names[0].subgraph_id == first
    assert names[1].subgraph_id != first
