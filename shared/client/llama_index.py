"""An edge's passages for LlamaIndex: ``RetrieverQueryEngine.from_args(DgragRetriever(Client(url)))``. Takes the extra ``llama-index``."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from shared.client.clients import Client
from shared.client.passages import metadata_of, readable


class DgragRetriever(BaseRetriever):
    """The passages nearest a question; with ``mode="cloud"`` those of all sites that may know and let them be quoted."""

    def __init__(self, client: Client, *, top_k: int = 8, mode: Literal["local", "cloud"] = "local", **others: Any) -> None:
        super().__init__(**others)
        self._client = client
        self._top_k = top_k
        self._mode = mode

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._client.retrieve(query_bundle.query_str, top_k=self._top_k, mode=self._mode)
        return [
            NodeWithScore(node=TextNode(id_=one.chunk_id, text=one.text, metadata=metadata_of(one)), score=one.score)
            for one in readable(found)
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
