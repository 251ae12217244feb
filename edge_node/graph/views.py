"""The graph as a client sees it."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import networkx as nx

from edge_node.graph.knowledge_graph import Adjacency, Graph, to_networkx
from edge_node.graph.names import normalise

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def neighbourhood(graph: Graph, adjacency: Adjacency, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
    """Entities within ``hops`` of one (by name or key), or all when ``entity`` is empty; highest degree first, at most ``limit``.

    Returns ``{"entities": [entity fields + degree], "relations": [those among them]}``; both empty for an unknown entity.
    """
    if entity:
        key = entity if entity in graph.entities else normalise(entity)
        reached = _within(adjacency, key, hops) if key in graph.entities else {}
    else:
        reached = dict.fromkeys(graph.entities, 0)
    degrees = {key: len(adjacency.get(key, ())) for key in reached}
    keys = sorted(reached, key=lambda key: (reached[key], -degrees[key], key))[:limit]
    shown = set(keys)
    pairs = sorted((key, other) for key in keys for other in adjacency.get(key, ()) if key < other and other in shown)
    return {
        "entities": [asdict(graph.entities[key]) | {"degree": degrees[key]} for key in keys],
        "relations": [asdict(graph.relations[pair]) for pair in pairs],
    }


def graphml(graph: Graph) -> str:
    """The whole graph for other programs (Gephi, yEd, networkx), as XML; characters that XML cannot hold are left out."""
    shape = to_networkx(graph)
    clean = nx.relabel_nodes(shape, {key: _printable(key) for key in shape})
    for _, fields in [*clean.nodes(data=True), *((pair, fields) for *pair, fields in clean.edges(data=True))]:
        fields.update({name: _printable(value) for name, value in fields.items() if isinstance(value, str)})
    return "\n".join(nx.generate_graphml(clean))


def _printable(text: str) -> str:
    return _NOT_XML.sub("", text)


def _within(adjacency: Adjacency, start: str, hops: int) -> dict[str, int]:
    """Distance of each entity that is at most ``hops`` away."""
    reached = {start: 0}
    frontier = [start]
    for distance in range(1, hops + 1):
        frontier = [other for key in frontier for other in adjacency.get(key, ()) if other not in reached]
        reached |= dict.fromkeys(frontier, distance)
    return reached
