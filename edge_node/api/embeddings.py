"""``POST /v1/embeddings``: the edge's embedding model for OpenAI's clients."""

from __future__ import annotations

import asyncio
import base64
from typing import Annotated, Any, Literal

import numpy as np
import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from edge_node.api.access import Node
from edge_node.api.chat import EMBEDDING, OpenAIRoute
from edge_node.api.memories import CallerDep
from edge_node.node import EdgeNode
from shared.errors import InputError
from shared.http.middleware import while_connected
from shared.ports import FloatArray

MOST_TEXTS = 256  # in one request
MOST_CHARS = 20_000  # of a text; the model reads its first some hundred tokens only
Text = Annotated[str, Field(min_length=1, max_length=MOST_CHARS)]

router = APIRouter(prefix="/v1", route_class=OpenAIRoute)


class EmbeddingsBody(BaseModel):
    """The part of a request that we use; other fields are ignored, as its clients expect. Lists of tokens are not taken."""

    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MOST_TEXTS)]
    model: str = EMBEDDING
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


@router.post("/embeddings", response_model=dict[str, Any])
async def embeddings(body: EmbeddingsBody, node: Node, caller: CallerDep, request: Request) -> Response:
    """Unit vectors of texts, by the model that this edge searches with: some texts at a time, in turn with those of others."""
    if body.model != EMBEDDING:
        raise InputError(f"there is no embedding model {body.model[:80]!r}", next_step=f"use {EMBEDDING}")
    if body.dimensions not in (None, node.models.embedder.dimensions):
        raise InputError(f"the model's vectors have {node.models.embedder.dimensions} dimensions", next_step="leave `dimensions` away")
    texts = [body.input] if isinstance(body.input, str) else body.input
    vectors = await while_connected(request, node.embed(texts, asker=caller.asker))
    content = await asyncio.to_thread(_reply, node, texts, vectors, as_base64=body.encoding_format == "base64")
    return Response(content, media_type="application/json")


def _reply(node: EdgeNode, texts: list[str], vectors: FloatArray, *, as_base64: bool) -> bytes:
    tokens = sum(map(node.cutter.tokenizer.count, texts))
    found = encoded(vectors) if as_base64 else vectors.tolist()
    reply = {
        "object": "list",
        "data": [{"object": "embedding", "index": index, "embedding": one} for index, one in enumerate(found)],
        "model": EMBEDDING,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    return orjson.dumps(reply)


def encoded(vectors: FloatArray) -> list[str]:
    """Each row as the base64 of its float32 numbers, the lowest byte first.

    >>> encoded(np.array([[1.0]], dtype=np.float32))
    ['AACAPw==']
    """
    return [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in np.asarray(vectors)]
