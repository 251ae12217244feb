"""Our edge behind the driver: its real store, write path, prompts and parsers, with the run's models in place of its own.

Spacy's place is taken by the shared extraction, which the peers get from their model; ``WithSpacy`` has its own. In the steps that
measure cost the model extracts every chunk and writes the summaries, as with the peers; in the one that measures quality neither, which
is the product's default.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.instant_edge import CHUNK_OVERLAP, CHUNK_TOKENS, add, indexed_of, running
from benchmarks.peers.wire import Wire
from benchmarks.stand_ins import DIMENSIONS, Said, chunk_entities, chunk_relations
from edge_node.build import Adapters, build_node
from edge_node.database.replies import ReplyCache
from edge_node.extraction.extractor import Extractor
from edge_node.extraction.language_packs import LanguagePacks
from edge_node.extraction.model_extraction import ModelExtractor
from edge_node.extraction.nlp import MODEL, Extraction, SpacyExtractor
from edge_node.node import EdgeNode
from edge_node.settings import EdgeSettings
from shared.models.build import build_tokenizer
from shared.models.settings import ModelSettings
from shared.ports import FloatArray, Prompt, Reply
from shared.records import Chunk, EntityMention, RelationMention

DEFAULT_TOTAL, TOP_K = 30_000, 40  # as LightRAG
BY_MODEL: dict[str, Any] = {"extraction_share": 1.0, "summaries": "model"}


class Adapter:
    """Implements System of ``driver``."""

    def __init__(self, wire: Wire, step: str) -> None:
        self._wire = wire
        self._by_model = step != "quality"
        self._open = AsyncExitStack()
        self._node: EdgeNode | None = None
        self._counts: dict[str, int] = {}

    async def open(self, folder: Path) -> None:
        """As the protocol says."""
        chosen = BY_MODEL if self._by_model else {}
        settings = EdgeSettings(state_dir=folder, chunk_tokens=CHUNK_TOKENS, chunk_overlap=CHUNK_OVERLAP, keywords="model", **chosen)
        parts = Adapters(WireGenerator(self._wire), WireEmbedder(self._wire), build_tokenizer(ModelSettings()), None)
        self._node = build_node(settings, parts)
        strategy, tagger = indexed_of(self._node), self._tagger()
        model = ModelExtractor(ReplyCache(parts.generator, self._node.documents.database, parts.clock), tagger)
        strategy.write_path.extractor = Extractor(tagger, model, settings.extraction_share, parts.retries)  # only benchmarks replace it
        await self._open.enter_async_context(running(self._node))

    async def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """As the protocol says."""
        await add(self._edge, documents)

    async def finish(self) -> None:
        """Until every summary is the model's."""
        strategy = self._edge.strategy
        await self._edge.worker.news.until(lambda: not strategy.stale)

    async def ask(self, question: str, budget_tokens: int) -> str:
        """As the product retrieves by default: by vectors, words and a walk over the graph; no model is asked for keywords."""
        found = await self._edge.strategy.retrieve(question, budget_tokens=budget_tokens or DEFAULT_TOTAL, top_k=TOP_K)
        return "\n".join([*found.facts, *(item.text for item in found.evidence)])

    async def ask_chunks(self, question: str, budget_tokens: int) -> None:
        """Its channels are set when it starts."""

    def counts(self) -> dict[str, int]:
        """As the protocol says, also after ``close``."""
        return self._counts

    async def close(self) -> None:
        """As the protocol says."""
        self._counts = self._edge.strategy.counts()
        await self._open.aclose()

    @property
    def _edge(self) -> EdgeNode:
        assert self._node is not None
        return self._node

    def _tagger(self) -> SpacyExtractor:
        return cast("SpacyExtractor", WireTagger(self._wire))


class WithSpacy(Adapter):
    """The same with the product's own spaCy, in this process: what an edge's indexing costs with the entities found."""

    def _tagger(self) -> SpacyExtractor:
        return SpacyExtractor(parser=LanguagePacks(MODEL))


class WireGenerator:
    """Implements the port Generator."""

    name = "stand-in"

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """The server's reply, as often as samples are wanted; it comes at once, so ``deadline_s`` is never reached."""
        del deadline_s
        text, asked, told = self._wire.chat([{"role": message.role, "content": message.content} for message in prompt.messages])
        return Reply((text,) * prompt.n, asked, told * prompt.n, truncated=(False,) * prompt.n)

    async def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """The same, in one piece."""
        yield (await self.generate(prompt, deadline_s=deadline_s)).texts[0]


class WireEmbedder:
    """Implements the port Embedder."""

    fingerprint = "stand-in"
    dimensions = DIMENSIONS

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, 384) unit rows."""
        if not texts:
            return np.empty((0, DIMENSIONS), dtype=np.float32)
        return np.stack([np.frombuffer(row, dtype="<f4") for row in self._wire.embed(texts)])


class WireTagger:
    """What the edge uses of SpacyExtractor. Normal forms of the names are the edge's own work."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def load(self) -> None:
        """There is nothing to load."""

    def extract(self, chunks: Sequence[Chunk], on_read: Callable[[int], None] | None = None) -> Extraction:
        """The shared extraction of the chunks."""
        entities: list[EntityMention] = []
        relations: list[RelationMention] = []
        for chunk, fields in zip(chunks, self._wire.said([chunk.text for chunk in chunks]), strict=True):
            said = Said(**fields)
            named = chunk_entities(said, chunk)
            entities += named.values()
            relations += chunk_relations(said, chunk, named)
        if on_read:
            on_read(len(chunks))
        return Extraction(tuple(entities), tuple(relations))
