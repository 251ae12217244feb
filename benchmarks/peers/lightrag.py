"""LightRAG behind the driver, with its default settings; imported only in its own environment."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from lightrag import LightRAG, QueryParam
from lightrag.utils import EmbeddingFunc, logger

from benchmarks.peers.callables import DIMENSIONS, chat_function, embed_function
from benchmarks.peers.wire import Wire

# Its budget counts its own answer prompt too, which is no context: about so many tokens, with its reserve of 200.
PROMPT_TOKENS = 900
DEFAULT_TOTAL, DEFAULT_ENTITIES, DEFAULT_RELATIONS = 30_000, 6_000, 8_000
logger.setLevel(logging.ERROR)


class Adapter:
    """Implements System of ``driver``."""

    def __init__(self, wire: Wire, step: str) -> None:
        del step  # it has one way to index
        self._wire = wire
        self._rag: Any = None

    async def open(self, folder: Path) -> None:
        """As the protocol says."""
        embedding = EmbeddingFunc(embedding_dim=DIMENSIONS, max_token_size=8192, func=embed_function(self._wire))
        self._rag = LightRAG(working_dir=str(folder), llm_model_func=chat_function(self._wire), embedding_func=embedding)
        await self._rag.initialize_storages()

    async def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """As the protocol says."""
        names, texts = [name for name, _ in documents], [text for _, text in documents]
        await self._rag.ainsert(texts, ids=names, file_paths=[f"{name}.txt" for name in names])
        if failed := (await self._rag.doc_status.get_status_counts()).get("failed"):  # it says so nowhere else
            raise RuntimeError(f"LightRAG failed at {failed} documents")

    async def finish(self) -> None:
        """Nothing is left."""

    async def ask(self, question: str, budget_tokens: int) -> str:
        """Mode "mix", its default: graph and chunks."""
        return await self._asked("mix", question, budget_tokens)

    async def ask_chunks(self, question: str, budget_tokens: int) -> str:
        """Mode "naive"."""
        return await self._asked("naive", question, budget_tokens)

    async def _asked(self, mode: Literal["mix", "naive"], question: str, budget_tokens: int) -> str:
        param = QueryParam(mode=mode, only_need_context=True, enable_rerank=False)
        if budget_tokens:
            param.max_total_tokens = budget_tokens + PROMPT_TOKENS
            param.max_entity_tokens = budget_tokens * DEFAULT_ENTITIES // DEFAULT_TOTAL
            param.max_relation_tokens = budget_tokens * DEFAULT_RELATIONS // DEFAULT_TOTAL
        return str(await self._rag.aquery(question, param=param))

    def counts(self) -> dict[str, int]:
        """As the protocol says."""
        graph = self._rag.chunk_entity_relation_graph._graph
        return {"entities": graph.number_of_nodes(), "relations": graph.number_of_edges()}

    async def close(self) -> None:
        """As the protocol says."""
        await self._rag.finalize_storages()
