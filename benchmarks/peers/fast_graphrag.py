"""fast-graphrag behind the driver, with its default settings; imported only in its own environment."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import instructor
import numpy as np
from fast_graphrag import GraphRAG, QueryParam
from fast_graphrag._llm import OpenAIEmbeddingService, OpenAILLMService
from fast_graphrag._utils import TOKEN_TO_CHAR_RATIO
from openai.types.chat import ChatCompletion

from benchmarks.peers.callables import DIMENSIONS, embed_function
from benchmarks.peers.wire import Wire

DEFAULT_TOTAL, DEFAULT_ENTITIES, DEFAULT_RELATIONS, DEFAULT_CHUNKS = 16_000, 4_000, 3_000, 9_000
# It has no defaults of these: a domain in words, a question as one may be asked, and the types that the shared extraction tells
DOMAIN = "Identify the persons, places, organizations and works that a passage names, and how they belong together."
EXAMPLE = "Who founded the company that built the ship?"
TYPES = ["person", "group", "place", "organization", "product", "event", "work", "law", "language", "concept"]
logging.getLogger("graphrag").setLevel(logging.CRITICAL)  # it says that it switches from reading to writing as errors


class Adapter:
    """Implements System of ``driver``."""

    def __init__(self, wire: Wire, step: str) -> None:
        del step  # it has one way to index
        self._chat, self._embedder = Chat(wire), Embedder(wire)
        self._rag: Any = None

    async def open(self, folder: Path) -> None:
        """As the protocol says."""
        models = GraphRAG.Config(llm_service=self._chat, embedding_service=self._embedder)
        self._rag = GraphRAG(str(folder), DOMAIN, EXAMPLE, TYPES, config=models)
        await self._rag.state_manager.query_start()

    async def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """As the protocol says."""
        await self._rag.state_manager.query_done()
        await self._rag.async_insert([text for _, text in documents], [{"name": name} for name, _ in documents], show_progress=False)
        if self._chat.unanswered:  # it leaves such documents out and goes on
            raise RuntimeError(f"fast-graphrag failed at {self._chat.unanswered} calls")
        await self._rag.state_manager.query_start()

    async def finish(self) -> None:
        """Nothing is left."""

    async def ask(self, question: str, budget_tokens: int) -> str:
        """Entities, relations and the chunks that these were read from, by PageRank from the entities nearest to the question."""
        tokens = budget_tokens or DEFAULT_TOTAL
        most = {
            "entities": tokens * DEFAULT_ENTITIES // DEFAULT_TOTAL,
            "relations": tokens * DEFAULT_RELATIONS // DEFAULT_TOTAL,
            "chunks": tokens * DEFAULT_CHUNKS // DEFAULT_TOTAL,
        }
        param = QueryParam(only_context=True, **{f"{part}_max_tokens": size for part, size in most.items()})
        found = await self._rag.async_query(question, param)
        return str(found.context.truncate({part: TOKEN_TO_CHAR_RATIO * size for part, size in most.items()}, output_context_str=True))

    async def ask_chunks(self, question: str, budget_tokens: int) -> None:
        """It has no mode without a graph: chunks have no vectors."""

    def counts(self) -> dict[str, int]:
        """As the protocol says."""
        graph = self._rag.state_manager.graph_storage._graph
        return {"entities": graph.vcount(), "relations": graph.ecount()}

    async def close(self) -> None:
        """It saves with each insert."""


class Chat(OpenAILLMService):  # type: ignore[misc]
    """Its own client, with its checks of replies, over the wire that all systems have."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(model="stand-in", base_url="http://stand-in", api_key="none")
        self.unanswered = 0

        async def create(messages: Any, **_: Any) -> ChatCompletion:
            return ChatCompletion.model_validate(wire.post("/v1/chat/completions", {"model": "stand-in", "messages": messages}))

        self.llm_async_client = instructor.from_litellm(create, mode=self.mode)

    async def send_message(self, *given: Any, **named: Any) -> Any:
        """As its own; a call that fails stays counted."""
        self.unanswered += 1
        reply = await super().send_message(*given, **named)
        self.unanswered -= 1
        return reply


class Embedder(OpenAIEmbeddingService):  # type: ignore[misc]
    """The same of its embedder: so many texts a request as there."""

    def __init__(self, wire: Wire) -> None:
        super().__init__(embedding_dim=DIMENSIONS, base_url="http://stand-in", api_key="none")
        self._embed = embed_function(wire)

    async def encode(self, texts: list[str], model: str | None = None) -> Any:
        """(n, 384) float32 rows."""
        del model  # there is one
        size = self.max_elements_per_request
        return np.concatenate([await self._embed(texts[start : start + size]) for start in range(0, len(texts), size)])
