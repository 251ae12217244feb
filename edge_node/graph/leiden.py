"""Leiden by modularity (Traag et al. 2019) behind one port: communities of a weighted graph, by one of three libraries.

A graph is the matrix of its weights: row i is node i, both directions of an edge are in it, nothing is on its diagonal.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array, csr_array, triu

from shared.errors import SettingsError

Method = Literal["graspologic", "igraph", "leidenalg"]
Rows = list[int]
Detect = Callable[[csr_array, int], list[Rows]]

ITERATIONS = 2
SEEDS = 2**31  # igraph's and leidenalg's are C's int, graspologic's is without a sign
_igraph_chance = Lock()  # igraph has one random number generator a process


def graph_of(names: Sequence[str], edges: Mapping[tuple[str, str], float]) -> csr_array:
    """Row i is ``names[i]``; weights > 0 of both directions of a pair are added, loops left out. KeyError for an end that is no name.

    >>> graph_of(["a", "b"], {("b", "a"): 1.0, ("a", "b"): 2.0, ("a", "a"): 5.0}).toarray().tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """
    row = {name: place for place, name in enumerate(names)}
    ends = np.array([(row[source], row[target]) for source, target in edges], dtype=np.int64).reshape(-1, 2)
    weights = np.fromiter(edges.values(), dtype=np.float64, count=len(edges))
    proper = ends[:, 0] != ends[:, 1]
    both = np.concatenate([ends[proper], ends[proper, ::-1]])
    return coo_array((np.tile(weights[proper], 2), (both[:, 0], both[:, 1])), shape=(len(names), len(names))).tocsr()


def within(graph: csr_array, rows: Rows) -> csr_array:
    """The graph of some rows, in ascending order, and of the edges between them."""
    return graph[rows][:, rows]


def detector(method: Method) -> Detect:
    """A library's Leiden: (graph, seed) -> communities, each row in one. The same seed gives the same ones, in any thread.

    Raises SettingsError where the library is not installed.

    >>> sorted(map(sorted, detector("graspologic")(graph_of("abc", {("a", "c"): 1.0}), 7)))
    [[0, 2], [1]]
    """
    try:
        label = LIBRARIES[method]()
    except ImportError as error:
        step = "run: pip install 'dgrag[leiden-gpl]', or set DGRAG_EDGE_LEIDEN=graspologic"
        raise SettingsError(f"Leiden by {method} is not installed", next_step=step) from error

    def detect(graph: csr_array, seed: int) -> list[Rows]:
        if not graph.nnz:
            return [[row] for row in range(graph.shape[0])]
        return _grouped(label(graph, seed % SEEDS))

    return detect


def _grouped(labels: Iterable[int]) -> list[Rows]:
    parts: dict[int, Rows] = {}
    for row, label in enumerate(labels):
        parts.setdefault(label, []).append(row)
    return list(parts.values())


Label = Callable[[csr_array, int], Iterable[int]]  # the community of each row


def _graspologic() -> Label:
    from graspologic_native import leiden_csr

    def label(graph: csr_array, seed: int) -> Iterable[int]:
        ends = graph.indptr.astype(np.int64, copy=False), graph.indices.astype(np.int32, copy=False)
        _, found = leiden_csr(*ends, graph.data, graph.shape[0], iterations=ITERATIONS, seed=seed)
        return (found[row] for row in range(graph.shape[0]))

    return label


def _igraph() -> Label:
    import igraph

    def label(graph: csr_array, seed: int) -> Iterable[int]:
        given = _as_igraph(graph)
        with _igraph_chance:
            igraph.set_random_number_generator(random.Random(seed))
            found = given.community_leiden(objective_function="modularity", weights="weight", n_iterations=ITERATIONS)
        labels: list[int] = found.membership
        return labels

    return label


def _leidenalg() -> Label:
    from leidenalg import ModularityVertexPartition, find_partition

    def label(graph: csr_array, seed: int) -> Iterable[int]:
        found = find_partition(_as_igraph(graph), ModularityVertexPartition, weights="weight", n_iterations=ITERATIONS, seed=seed)
        labels: list[int] = found.membership
        return labels

    return label


def _as_igraph(graph: csr_array) -> Any:
    import igraph

    upper = triu(graph, format="coo")
    return igraph.Graph(n=graph.shape[0], edges=np.stack(upper.coords, axis=1), edge_attrs={"weight": upper.data.tolist()})


# The last two are under the GPL, so they are an extra and are imported only here.
LIBRARIES: dict[Method, Callable[[], Label]] = {"graspologic": _graspologic, "igraph": _igraph, "leidenalg": _leidenalg}
