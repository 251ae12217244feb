"""The graph as a client sees it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import networkx as nx

from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.names import normalise


def neighbourhood(graph: Graph, adjacency: nx.Graph, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
    """Entities within ``hops`` of one (by name or key), or all when ``entity`` is empty; highest degree first, at most ``limit``.

    Returns ``{"entities": [entity fields + degree], "relations": [those among them]}``; both empty for an unknown entity.
    """
    if entity:
        key = entity if entity in graph.entities else normalise(entity)
        reached = nx.single_source_shortest_path_length(adjacency, key, cutoff=hops) if key in adjacency else {}
    else:
        reached = dict.fromkeys(graph.entities, 0)
    degrees = dict(adjacency.degree(reached))
    keys = sorted(reached, key=lambda key: (reached[key], -degrees.get(key, 0), key))[:limit]
    shown = set(keys)
    among = [relation for (source, target), relation in sorted(graph.relations.items()) if source in shown and target in shown]
    return {
        "entities": [asdict(graph.entities[key]) | {"degree": degrees.get(key, 0)} for key in keys],
        "relations": [asdict(relation) for relation in among],
    }
