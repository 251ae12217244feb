"""Leiden by each library that can do it, on graphs of real texts: ``python -m benchmarks.graphrag.leiden DATA``, no language model.

An edge's own write path reads the podcasts, the news and one textbook (its embedder's vectors decide nothing but which like names are
one). Then each library, over ten seeds: modularity of its communities, of the parts of at most 40 entities that an edge makes of them,
and of the coarsest communities over these; CPU seconds; sizes; and how alike two seeds are, and it and igraph. Takes the extra leiden-gpl.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, get_args

import igraph
import typer

from benchmarks.datasets.corpus import parsed, text_of
from benchmarks.datasets.ultradomain import UltraDomain
from benchmarks.graphrag.levels import Text, indexed, texts
from benchmarks.instant_edge import indexed_of, running
from benchmarks.machine import code, machine, version
from benchmarks.stand_ins import InstantEmbedder, InstantGenerator, Models
from edge_node.build import Adapters, build_node
from edge_node.communities.hierarchy import fresh_uppers
from edge_node.graph.knowledge_graph import Adjacency
from edge_node.graph.leiden import Method, detector, graph_of
from edge_node.graph.partition import partition, quotient
from edge_node.graph.repair import modularity
from edge_node.settings import EdgeSettings
from shared.models.build import build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import Tokenizer

OUT = Path("benchmarks/results/leiden.json")
SETS = ("podcast", "multihop_rag", "standin_textbooks/psychology.jsonl")
METHODS: tuple[Method, ...] = get_args(Method)
LIBRARIES = ("graspologic-native", "igraph", "leidenalg")
AGAINST: Method = "igraph"
SEEDS = range(10)
HOW = ("nmi", "adjusted_rand")
Edges = Mapping[tuple[str, str], float]
Home = dict[str, str]  # the community of each node
Cut = Callable[[Method, int], Home]


def read(data: Path, name: str) -> list[Text]:
    """The documents of a folder with corpus.jsonl, or the contexts of a file in UltraDomain's format."""
    if not name.endswith(".jsonl"):
        return texts(data / name)
    corpus = UltraDomain.read(data, [name])
    titles = {document.document_id: document.title for document in corpus.documents()}
    return [Text(own, titles[own], text_of(parsed(line), "context")) for own, line in corpus.rows(titles)]


@dataclass(frozen=True, slots=True)
class Graphs:
    """What an edge finds in texts: entities with the weights between them, and between its parts (``quotient``)."""

    names: list[str]
    edges: Edges
    parts: list[str]
    near: Edges


async def graphs(documents: Sequence[Text], tokenizer: Tokenizer) -> Graphs:
    """Index documents without a language model."""
    models = Models()
    with tempfile.TemporaryDirectory(prefix="dgrag-leiden-") as state:
        settings = EdgeSettings(state_dir=Path(state))
        node = build_node(settings, Adapters(InstantGenerator(models), InstantEmbedder(models), tokenizer, None))
        async with running(node):
            await indexed(node, documents)
            path = indexed_of(node).write_path
            graph, told, home = path.view.graph, path.view.told, path.updater.placer.parts.home
    near = quotient(home, graph.relations, told, tie=settings.community_tie)
    weights = {pair: relation.weight for pair, relation in graph.relations.items()}
    return Graphs(sorted(graph.entities), weights, sorted(set(home.values())), near)


def measured(found: Graphs, most: int, seeds: Sequence[int] = SEEDS) -> dict[str, Any]:
    """All figures of one set, by graph and by library. most: entities of a part."""
    names, edges, parts, near = found.names, found.edges, found.parts, found.near
    return {
        "communities": _compared(names, edges, lambda method, seed: _whole(names, edges, method, seed), seeds),
        "parts": _compared(names, edges, lambda method, seed: _parts(names, edges, most, method, seed), seeds),
        "coarsest": _compared(parts, near, lambda method, seed: _coarsest(parts, near, method, seed), seeds),
    }


def _whole(names: Sequence[str], edges: Edges, method: Method, seed: int) -> Home:
    found = detector(method)(graph_of(names, edges), seed)
    return {names[row]: str(number) for number, rows in enumerate(found) for row in rows}


def _parts(names: Sequence[str], edges: Edges, most: int, method: Method, seed: int) -> Home:
    found = partition(names, edges, {}, max_entities=most, seed=seed, method=method)
    return {key: part.subgraph_id for part in found for key in part.entities}


def _coarsest(names: Sequence[str], edges: Edges, method: Method, seed: int) -> Home:
    return fresh_uppers(names, edges, seed=seed, method=method).root


def _compared(names: Sequence[str], edges: Edges, cut: Cut, seeds: Sequence[int]) -> dict[str, Any]:
    """One graph by each library; what the other is alike to is the library ``AGAINST`` with the same seed."""
    near: Adjacency = {name: {} for name in names}
    for (a, b), weight in edges.items():
        near[a][b] = near[b][a] = weight
    connected = [name for name in names if near[name]]  # a node without an edge is alone for each library, so says nothing
    homes: dict[Method, list[Home]] = {}
    rows: dict[str, dict[str, Any]] = {}
    for method in METHODS:
        began = time.process_time()
        homes[method] = [cut(method, seed) for seed in seeds]
        rows[method] = {"cpu_ms": round((time.process_time() - began) / len(seeds) * 1000, 1)}
    for method, found in homes.items():
        worth, sizes = [modularity(near, home) for home in found], [_sizes(home) for home in found]
        rows[method] |= {
            "modularity": [round(figure, 4) for figure in (fmean(worth), min(worth), max(worth))],
            "groups": round(fmean(map(len, sizes)), 1),
            "largest": round(fmean(map(max, sizes)), 1),
            "seeds_alike": _alike(list(pairwise(found)), connected),
            f"as_{AGAINST}": _alike(list(zip(found, homes[AGAINST], strict=True)), connected),
        }
    return {"nodes": len(names), "connected": len(connected), "edges": len(edges), "methods": rows}


def _sizes(home: Home) -> list[int]:
    counts: dict[str, int] = {}
    for group in home.values():
        counts[group] = counts.get(group, 0) + 1
    return list(counts.values())


def _alike(pairs: Sequence[tuple[Home, Home]], names: Sequence[str]) -> dict[str, float]:
    """Mean normalised mutual information, and adjusted Rand index, of pairs of groupings; 1 of equal ones, where igraph may say nan."""
    labels = [[_numbered([home[name] for name in names]) for home in pair] for pair in pairs]
    return {how: round(fmean(1.0 if a == b else igraph.compare_communities(a, b, method=how) for a, b in labels), 3) for how in HOW}


def _numbered(groups: Sequence[str]) -> list[int]:
    number = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    return [number[group] for group in groups]


def main(
    data: Annotated[Path, typer.Argument(metavar="DATA", exists=True, file_okay=False, help="A folder with the sets.")],
    sets: Annotated[list[str] | None, typer.Option("--set", help="Folders in DATA with corpus.jsonl, or files of UltraDomain's.")] = None,
    out: Annotated[Path, typer.Option(dir_okay=False, help="File for the JSON, written over.")] = OUT,
) -> None:
    """Compare the libraries that know Leiden."""
    tokenizer, found = build_tokenizer(ModelSettings()), dict[str, Any]()
    versions = {name: version(name) for name in LIBRARIES}
    for name in sets or SETS:
        documents = read(data, name)
        compared = measured(asyncio.run(graphs(documents, tokenizer)), EdgeSettings().subgraph_entities)
        found[Path(name).stem] = {"documents": len(documents), **compared}
        result = {**code(), "machine": machine(), "versions": versions, "seeds": len(SEEDS), "sets": found}
        out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        typer.echo(json.dumps({name: found[Path(name).stem]}))


if __name__ == "__main__":
    typer.run(main)
