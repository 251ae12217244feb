"""The contract of the port, over each library that is installed."""

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import get_args

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.graph.leiden import Method, detector, graph_of, within
from edge_node.graph.partition import partition
from edge_node.settings import EdgeSettings
from shared.errors import SettingsError

CLIQUES = {pair: 1.0 for group in ("abcd", "wxyz") for pair in combinations(group, 2)}


@pytest.fixture(params=get_args(Method))
def method(request):
    if request.param != EdgeSettings.model_fields["leiden"].default:  # the default is always there
        pytest.importorskip(request.param)
    return request.param


def found(method, names, edges, seed=7):
    return sorted("".join(names[row] for row in sorted(rows)) for rows in detector(method)(graph_of(names, edges), seed))


def edges_of(graph):
    return {(f"{a:03}", f"{b:03}"): 1.0 for a, b in graph.edges()}


def test_cliques_are_communities_and_a_bridge_joins_none(method):
    assert found(method, "abcdwxyz", {**CLIQUES, ("d", "w"): 0.1}) == ["abcd", "wxyz"]


def test_the_weight_of_an_edge_decides(method):
    """A ring of four: two heavy edges, then the other two."""
    ring = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    assert found(method, "abcd", dict(zip(ring, [9.0, 1.0, 9.0, 1.0], strict=True))) == ["ab", "cd"]
    assert found(method, "abcd", dict(zip(ring, [1.0, 9.0, 1.0, 9.0], strict=True))) == ["ad", "bc"]


@pytest.mark.parametrize("names", ["", "a", "abc"])
def test_without_edges_each_node_is_alone(method, names):
    assert found(method, names, {}) == list(names)


def test_what_no_path_joins_is_not_together(method):
    assert found(method, "abcdwxyz_!", CLIQUES) == ["!", "_", "abcd", "wxyz"]


@pytest.mark.parametrize("seed", [-1, 0, 7, 2**31, 2**64])
def test_any_seed_will_do(method, seed):
    assert found(method, "abcdwxyz", CLIQUES, seed) == ["abcd", "wxyz"]


def test_the_same_seed_gives_the_same_in_any_thread(method):
    graph = nx.gnp_random_graph(150, 0.03, seed=2)
    rows, detect = graph_of([f"{node:03}" for node in graph], edges_of(graph)), detector(method)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: detect(rows, 7), range(8)))
    assert all(result == results[0] for result in results)
    assert len({str(sorted(detect(rows, seed))) for seed in range(8)}) > 1, "a seed makes a difference"


@st.composite
def graphs(draw):
    names = [f"n{n:02}" for n in range(draw(st.integers(0, 50)))]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names)) if names else st.nothing()
    return names, draw(st.dictionaries(pairs, st.sampled_from([1e-6, 0.5, 1.0, 1e6]), max_size=120)) if names else {}


@pytest.mark.parametrize("chosen", get_args(Method))
@settings(deadline=None, max_examples=60)
@given(graph=graphs())
def test_each_node_is_in_one_community_and_each_community_hangs_together(chosen, graph):
    if chosen != "graspologic":
        pytest.importorskip(chosen)
    names, edges = graph
    rows = graph_of(names, edges)
    parts = detector(chosen)(rows, 7)
    assert sorted(row for part in parts for row in part) == list(range(len(names)))
    assert all(nx.is_connected(nx.from_scipy_sparse_array(within(rows, sorted(part)))) for part in parts)


@pytest.mark.parametrize("limit", [1, 7, 40])
def test_parts_keep_the_limit_and_lose_nothing(method, limit):
    graph = nx.barabasi_albert_graph(300, 2, seed=1)
    names = [f"{node:03}" for node in graph]
    parts = partition(names, edges_of(graph), {}, max_entities=limit, method=method)
    assert max(len(part.entities) for part in parts) <= limit
    assert sorted(key for part in parts for key in part.entities) == names


def test_planted_groups_are_the_parts(method):
    graph = nx.planted_partition_graph(4, 10, 0.95, 0.0, seed=1)
    parts = partition([f"{node:03}" for node in graph], edges_of(graph), {}, max_entities=10, method=method)
    assert [part.entities for part in parts] == [tuple(f"{10 * group + n:03}" for n in range(10)) for group in range(4)]


@pytest.mark.parametrize(
    "graph", [nx.karate_club_graph(), nx.planted_partition_graph(8, 30, 0.3, 0.01, seed=3)], ids=["karate", "planted-partition"]
)
def test_modularity_is_as_good_as_networkx_finds_it(method, graph):
    """Within 2 %, the best of three seeds."""
    rows = graph_of([f"{node:03}" for node in graph], edges_of(graph))
    best = max(quality(graph, detector(method)(rows, seed)) for seed in range(3))
    assert best == pytest.approx(
        max(quality(graph, nx.community.louvain_communities(graph, weight=None, seed=n)) for n in range(3)), rel=0.02
    )


def quality(graph, parts):
    return nx.community.modularity(graph, parts, weight=None)


def test_the_graph_of_some_nodes_has_their_edges_alone():
    rows = within(graph_of("abcd", {("a", "b"): 1.0, ("b", "d"): 2.0, ("c", "d"): 3.0}), [1, 3])
    assert np.array_equal(rows.toarray(), [[0.0, 2.0], [2.0, 0.0]])


@pytest.mark.parametrize("name", ["igraph", "leidenalg"])
def test_what_is_not_installed_is_told_with_the_line_that_installs_it(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SettingsError, match=f"by {name} is not installed") as told:
        detector(name)
    assert "pip install 'dgrag[leiden-gpl]'" in told.value.next_step


def test_the_default_imports_nothing_under_the_gpl(monkeypatch):
    for name in ("igraph", "leidenalg"):
        monkeypatch.setitem(sys.modules, name, None)
    assert found("graspologic", "abcdwxyz", CLIQUES) == ["abcd", "wxyz"]
