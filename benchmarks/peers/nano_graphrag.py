"""nano-graphrag behind the driver, with its default settings; imported only in its own environment."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import graspologic.partition
import graspologic.utils  # noqa: F401 - it imports both at first use: two seconds that are not indexing
from nano_graphrag import GraphRAG, QueryParam
from nano_graphrag._utils import wrap_embedding_func_with_attrs

from benchmarks.peers.callables import DIMENSIONS, chat_function, embed_function
from benchmarks.peers.wire import Wire

DEFAULT_TOTAL, DEFAULT_TEXTS, DEFAULT_GRAPH, DEFAULT_REPORTS = 12_000, 4_000, 4_800, 3_200
logging.getLogger("nano-graphrag").setLevel(logging.ERROR)


class Adapter:
    """Implements System of ``driver``."""

    def __init__(self, wire: Wire, step: str) -> None:
        self._wire = wire
        self._chunks_too = step == "quality"  # vectors of chunks, which its own mode does without, are no part of what it costs
        self._rag: Any = None

    async def open(self, folder: Path) -> None:
        """As the protocol says."""
        embed = wrap_embedding_func_with_attrs(embedding_dim=DIMENSIONS, max_token_size=8192)(embed_function(self._wire))
        chat = chat_function(self._wire)
        models = {"best_model_func": chat, "cheap_model_func": chat, "embedding_func": embed}
        self._rag = GraphRAG(working_dir=str(folder), enable_naive_rag=self._chunks_too, **models)

    async def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """As the protocol says; it names no documents."""
        await self._rag.ainsert([text for _, text in documents])

    async def finish(self) -> None:
        """Nothing is left."""

    async def ask(self, question: str, budget_tokens: int) -> str:
        """Mode "local": entities, their relations, reports and texts."""
        param = QueryParam(mode="local", only_need_context=True)
        if budget_tokens:
            param.local_max_token_for_text_unit = budget_tokens * DEFAULT_TEXTS // DEFAULT_TOTAL
            param.local_max_token_for_local_context = budget_tokens * DEFAULT_GRAPH // DEFAULT_TOTAL
            param.local_max_token_for_community_report = budget_tokens * DEFAULT_REPORTS // DEFAULT_TOTAL
        return str(await self._rag.aquery(question, param=param))

    async def ask_chunks(self, question: str, budget_tokens: int) -> str:
        """Mode "naive"."""
        param = QueryParam(mode="naive", only_need_context=True)
        if budget_tokens:
            param.naive_max_token_for_text_unit = budget_tokens
        return str(await self._rag.aquery(question, param=param))

    def counts(self) -> dict[str, int]:
        """As the protocol says."""
        graph = self._rag.chunk_entity_relation_graph._graph
        return {"entities": graph.number_of_nodes(), "relations": graph.number_of_edges()}

    async def close(self) -> None:
        """It saves with each insert."""
