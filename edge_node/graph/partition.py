"""The entity graph cut into subgraphs of at most ``max_entities`` (DGRAG §III-B ②).

Leiden, again inside what is too big; small parts to the neighbour they share most weight with; what has no neighbour is
grouped by chunk and document.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from itertools import combinations, count
from math import fsum

import numpy as np
from scipy.sparse import csr_array, triu
from scipy.sparse.csgraph import breadth_first_order

from edge_node.graph.knowledge_graph import Pair
from edge_node.graph.leiden import Detect, Method, Rows, detector, graph_of, within
from shared.records import Relation, Subgraph

Home = tuple[str, str]  # (chunk id, document id)

MOST_PARTS = 32  # of one chunk that are tied to each other; pairs grow with the square


def quotient(
    home: Mapping[str, str], relations: Mapping[Pair, Relation], told: Mapping[str, Sequence[str]], *, tie: float
) -> dict[Pair, float]:
    """Return the weight between parts that are near, by (part, part), the lesser first (GraphRAG §2.4: normalised counts).

    home: part by entity; told: entities by chunk. A relation between two parts gives them its share of the mean relation's
    weight. A chunk that tells of n > 1 parts gives each pair of them tie / (n - 1), so that no part has more than ``tie`` of it:
    ours, as relations alone leave most parts without a neighbour. Of the parts of one chunk the ``MOST_PARTS`` with most
    entities in it count. Entities without a home are passed over. Any order of the same input gives the same weights.

    >>> relation = Relation("a", "b", "", (), 3.0, ("1",))
    >>> quotient({"a": "p", "b": "q", "c": "r"}, {("a", "b"): relation}, {"1": ("a", "b", "c")}, tie=0.5)
    {('p', 'q'): 1.25, ('p', 'r'): 0.25, ('q', 'r'): 0.25}
    """
    weights: defaultdict[Pair, float] = defaultdict(float)
    mean = fsum(relation.weight for relation in relations.values()) / max(1, len(relations))
    for source, target in sorted(relations):  # in order, as the last bit of a sum depends on it
        if source in home and target in home and home[source] != home[target]:
            weights[_pair(home[source], home[target])] += relations[source, target].weight / mean
    if tie > 0:
        for chunk_id in sorted(told):
            parts = _parts_of(told[chunk_id], home)
            for pair in combinations(parts, 2):
                weights[pair] += tie / (len(parts) - 1)
    return dict(weights)


def _parts_of(keys: Iterable[str], home: Mapping[str, str]) -> list[str]:
    counts = Counter(home[key] for key in keys if key in home)
    return sorted(sorted(counts, key=lambda part: (-counts[part], part))[:MOST_PARTS])


def _pair(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


def partition(
    entities: Sequence[str],
    edges: Mapping[tuple[str, str], float],
    homes: Mapping[str, Home],
    *,
    max_entities: int = 40,
    seed: int = 7,
    method: Method = "graspologic",
) -> list[Subgraph]:
    """Return subgraphs that hold each entity exactly once, none with more than ``max_entities`` (DGRAG §III-B ②, §IV-E1).

    edges: weight > 0 per pair of ``entities``, in either order; homes: (chunk id, document id) of an entity's first chunk.
    The same sets and seed give the same parts, whatever their order. Ids are hashes of the members: see ``name_subgraphs``.
    Raises ValueError for ``max_entities`` < 1, and KeyError for an edge whose end is no entity.

    >>> [part.entities for part in partition(["b", "a", "c"], {("a", "b"): 1.0}, {}, max_entities=2)]
    [('a', 'b'), ('c',)]
    """
    if max_entities < 1:
        raise ValueError(f"max_entities is {max_entities}, expected 1 or more")
    names = sorted(set(entities))
    graph = graph_of(names, edges)
    joined, alone = merged(communities(graph, max_entities, seed, method), graph, max_entities)
    joined += packed(alone, [homes.get(name, ("", "")) for name in names], max_entities)
    return name_subgraphs(sorted(tuple(names[row] for row in part) for part in joined), {})


def communities(graph: csr_array, limit: int, seed: int, method: Method) -> list[Rows]:
    """Leiden's communities, again inside what has more than ``limit`` nodes."""
    detect = detector(method)
    return [part for whole in detect(graph, seed) for part in _capped(graph, whole, limit, seed, detect)]


def _capped(graph: csr_array, part: Rows, limit: int, seed: int, detect: Detect) -> Iterator[Rows]:
    """Split what is above the limit by Leiden again; what Leiden leaves whole (a star, a clique) is cut in breadth-first order."""
    if len(part) <= limit:
        yield part
        return
    rows = sorted(part)
    inner = within(graph, rows)
    pieces = detect(inner, seed)
    if len(pieces) == 1:
        order = breadth_first_order(inner, np.argmax(np.diff(inner.indptr)), return_predecessors=False).tolist()
        pieces = [order[start : start + limit] for start in range(0, len(order), limit)]
    for piece in pieces:
        for smaller in _capped(inner, piece, limit, seed, detect):
            yield [rows[row] for row in smaller]


def merged(parts: Sequence[Rows], graph: csr_array, limit: int) -> tuple[list[Rows], list[Rows]]:
    """Join parts, smallest first, to the neighbour with the most shared weight that has room. Returns (parts, parts without neighbour)."""
    members = {number: list(part) for number, part in enumerate(sorted(map(sorted, parts)))}
    near = _shared_weights(members, graph)
    heap = [(len(rows), number) for number, rows in members.items() if near[number]]
    alone = [rows for number, rows in members.items() if not near[number] and len(rows) < limit]
    heapify(heap)
    while heap:
        size, small = heappop(heap)
        if small not in members or len(members[small]) != size:
            continue  # it was joined, or has grown since and is in the heap again
        roomy = [(weight, -len(members[other]), -other) for other, weight in near[small].items() if len(members[other]) + size <= limit]
        if not roomy:
            continue
        into = -max(roomy)[2]
        members[into] += members.pop(small)
        for other, weight in near[small].items():
            del near[other][small]
            if other != into:
                near[into][other] = near[other][into] = near[into].get(other, 0.0) + weight
        if near[into]:
            heappush(heap, (len(members[into]), into))
        elif len(members[into]) < limit:
            alone.append(members.pop(into))
    lonely = {rows[0] for rows in alone}
    return [sorted(rows) for rows in members.values() if rows[0] not in lonely], [sorted(rows) for rows in alone]


def _shared_weights(members: Mapping[int, Rows], graph: csr_array) -> list[dict[int, float]]:
    part_of = [0] * graph.shape[0]
    for number, rows in members.items():
        for row in rows:
            part_of[row] = number
    near: list[dict[int, float]] = [{} for _ in members]
    upper = triu(graph, format="coo")
    for source, target, weight in zip(*(part.tolist() for part in (*upper.coords, upper.data)), strict=True):
        a, b = part_of[source], part_of[target]
        if a != b:
            near[a][b] = near[b][a] = near[a].get(b, 0.0) + weight
    return near


def packed(pieces: Sequence[Rows], homes: Sequence[Home], limit: int) -> list[Rows]:
    """Fill pieces without neighbours into parts: those of one chunk first, then of one document, then any."""
    filled = sorted(pieces, key=lambda rows: (homes[rows[0]][::-1], rows))
    for depth in (2, 1, 0):  # how much of (document, chunk) two pieces must share to be joined
        filled = list(_filled(filled, [home[::-1][:depth] for home in homes], limit))
    return [sorted(rows) for rows in filled]


def _filled(pieces: Sequence[Rows], groups: Sequence[tuple[str, ...]], limit: int) -> Iterator[Rows]:
    current: Rows = []
    for piece in pieces:
        if current and (len(current) + len(piece) > limit or groups[current[0]] != groups[piece[0]]):
            yield current
            current = []
        current = current + piece
    if current:
        yield current


def name_subgraphs(
    parts: Sequence[Sequence[str]], previous: Mapping[str, Sequence[str]], *, reserved: Collection[str] = ()
) -> list[Subgraph]:
    """Give each part an id: the previous one it overlaps most with, else a hash of its members that is not ``reserved``.

    parts and previous: entity keys; each key in one part at most. So one new document renames nothing that it does not touch.
    """
    part_of = {key: number for number, part in enumerate(parts) for key in part}
    overlaps: dict[tuple[int, str], int] = defaultdict(int)
    for subgraph_id, keys in previous.items():
        for key in keys:
            if key in part_of:
                overlaps[part_of[key], subgraph_id] += 1
    names: dict[int, str] = {}
    given: set[str] = set()
    for (number, subgraph_id), _ in sorted(overlaps.items(), key=lambda item: (-item[1], item[0][1], sorted(parts[item[0][0]]))):
        if number not in names and subgraph_id not in given:
            names[number] = subgraph_id
            given.add(subgraph_id)
    taken = given | set(reserved)
    for number, part in enumerate(parts):
        if number not in names:
            names[number] = _fresh_id(part, taken)
            taken.add(names[number])
    return [Subgraph(names[number], tuple(sorted(part))) for number, part in enumerate(parts)]


def _fresh_id(part: Sequence[str], taken: set[str]) -> str:
    content = "\n".join(sorted(part))
    hashes = (blake2b(f"{salt}\n{content}".encode(), digest_size=8).hexdigest() for salt in count())
    return next(found for found in hashes if found not in taken)
