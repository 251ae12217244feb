"""One folder a paper; ``STRATEGIES`` names the class of each, imported on use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings
    from edge_node.strategies.base import IndexStrategy, Tools

STRATEGIES = {
    "naive": "edge_node.strategies.naive.strategy:Naive",
    "dgrag": "edge_node.strategies.dgrag.strategy:DGRAG",
}


def open_strategy(name: str, tools: Tools, settings: EdgeSettings) -> IndexStrategy:
    """Make the named strategy. Raises KeyError for an unknown name."""
    module, _, kind = STRATEGIES[name].partition(":")
    strategy: IndexStrategy = getattr(import_module(module), kind).from_settings(tools, settings)
    return strategy
