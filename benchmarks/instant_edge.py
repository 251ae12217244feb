"""An edge in this process with its real store and write path, without HTTP and with instant models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.stand_ins import InstantEmbedder, InstantExtractor, InstantGenerator, InstantKeywords, Models
from edge_node.build import Adapters, build_node
from edge_node.node import EdgeNode
from edge_node.records import Offered, document_id
from edge_node.settings import EdgeSettings
from edge_node.strategies.dgrag.strategy import DGRAG
from edge_node.strategies.index import Index
from shared.models.build import build_tokenizer
from shared.models.settings import ModelSettings

CHUNK_TOKENS, CHUNK_OVERLAP = 1200, 100  # as the other systems that are measured


def indexed_of(node: EdgeNode) -> Index:
    """The strategy, by its own type."""
    assert isinstance(node.strategy, Index)
    return node.strategy


@asynccontextmanager
async def instant_edge(folder: Path, models: Models, **settings: Any) -> AsyncIterator[EdgeNode]:
    """A running edge in ``folder``, ready when it is yielded. ``settings``: of EdgeSettings, on top of the defaults."""
    chosen: dict[str, Any] = {"chunk_tokens": CHUNK_TOKENS, "chunk_overlap": CHUNK_OVERLAP, "state_dir": folder, "share": "full"} | settings
    node = build_node(
        EdgeSettings(**chosen), Adapters(InstantGenerator(models), InstantEmbedder(models), build_tokenizer(ModelSettings()), None)
    )
    strategy = indexed_of(node)
    strategy.write_path.extractor = InstantExtractor(
        models
    )  # the composition root has no place for these two: only benchmarks replace them
    for method in strategy.methods:
        if isinstance(method, DGRAG):
            method.keywords = InstantKeywords(models)
    async with running(node):
        yield node


@asynccontextmanager
async def running(node: EdgeNode) -> AsyncIterator[None]:
    """The background work of a node, ready when this is entered; the store is closed at the end."""
    work = asyncio.create_task(node.run())
    try:
        await settled(node)
        yield
    finally:
        work.cancel()
        await asyncio.wait([work])
        await asyncio.to_thread(node.close)


async def settled(node: EdgeNode) -> None:
    """Wait until all that was accepted is indexed."""
    await node.worker.news.until(lambda: not node.failed and node.worker.idle and not node.documents.counts()["queued"])


async def add(node: EdgeNode, documents: Sequence[tuple[str, str]]) -> None:
    """Offer documents, (name, text), and wait until they are indexed. Raises AssertionError if one is not."""
    for name, text in documents:
        raw = text.encode()
        await node.accept(Offered(document_id(name, raw), name, raw, reader="a.txt"))
    await settled(node)
    counts = node.documents.counts()
    assert not counts["parked"], counts
