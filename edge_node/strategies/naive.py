"""Naive RAG: the chunks nearest the question (DGRAG §IV-B, baseline 1)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from edge_node.graph.tools import Tools
from edge_node.records import Retrieval
from edge_node.strategies.method import Method, MethodQuery
from edge_node.strategies.write_path import WritePath

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings


class Naive(Method):
    """Chunks alone; there are no summaries, so no other edge finds it."""

    def __init__(self, tools: Tools, write_path: WritePath, settings: EdgeSettings) -> None:
        del tools, settings
        self._passages = write_path.passages

    async def search(self, asked: MethodQuery) -> Retrieval:
        """The chunks nearest the question."""
        ranked = await asyncio.to_thread(self._passages.top, asked.vector, asked.top_k, asked.shown.withheld)
        return Retrieval(await asyncio.to_thread(self._passages.read, ranked, budget_tokens=asked.budget_tokens))
