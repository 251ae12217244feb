"""From settings to a strategy: which methods, over one write path that keeps what any of them needs."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from importlib import import_module
from operator import or_

from edge_node.communities.store import ReportStore
from edge_node.extraction.extractor import Extracts
from edge_node.graph.tools import Tools
from edge_node.memory.store import IncidenceStore, MemoryStore
from edge_node.settings import EdgeSettings
from edge_node.strategies.erarag.store import TreeStore
from edge_node.strategies.index import Index
from edge_node.strategies.method import Method
from edge_node.strategies.write_path import WritePath

METHODS = {
    "naive": "edge_node.strategies.naive:Naive",
    "ketrag": "edge_node.strategies.ketrag.strategy:KETRAG",
    "erarag": "edge_node.strategies.erarag.strategy:EraRAG",
    "graphrag": "edge_node.strategies.graphrag:GraphRAG",
    "fdrag": "edge_node.strategies.fdrag:FDRAG",
    "dgrag": "edge_node.strategies.dgrag.strategy:DGRAG",
}


def open_strategy(tools: Tools, settings: EdgeSettings, extractor: Extracts | None = None) -> Index:
    """The strategy that the settings name. ``extractor`` takes the place of spaCy and model."""
    kinds = {_method(name): share for name, share in settings.methods.items()}
    needs = reduce(or_, (kind.needs(settings) for kind in kinds))
    facts = settings.memory != "off" and (needs.facts or needs.mentions)  # where nothing is parsed, they are found in idle time
    hyperedges = settings.memory == "model" or (settings.memory != "off" and needs.hyperedges)  # a model writes from them too
    needs = replace(needs, facts=facts, hyperedges=hyperedges)
    write_path = WritePath(tools, settings, needs, extractor)
    database = tools.graph.database  # what nobody keeps up to date says sentences of documents that may be deleted
    unused = [] if "erarag" in settings.methods else [TreeStore(database).clear]
    unused += [] if needs.graph and settings.reports == "model" else [ReportStore(database).clear]
    if write_path.memories.is_off:
        unused.append(MemoryStore(database, tools.embedder.dimensions).clear)
    if not write_path.memories.is_grouped:
        unused.append(IncidenceStore(database).clear)
    return Index(write_path, {kind(tools, write_path, settings): share for kind, share in kinds.items()}, tools, unused)


def _method(name: str) -> type[Method]:
    """The class of a method, imported on use. Raises KeyError for an unknown name."""
    module, _, kind = METHODS[name].partition(":")
    method: type[Method] = getattr(import_module(module), kind)
    return method
