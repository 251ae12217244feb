"""What every index-and-retrieval strategy of an edge offers, and what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from edge_node.store.documents import DocumentStore
from edge_node.store.graph import GraphStore
from shared.ports import Embedder, Generator
from shared.records import Chunk, ChunkId, EdgeId, Evidence


@dataclass(frozen=True, slots=True)
class Cost:
    """Model use of a step."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found for a question: passages, best first, and one-line relations."""

    evidence: tuple[Evidence, ...]
    facts: tuple[str, ...] = ()


class Progress(Protocol):
    """Is told how far a long step is."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """``done`` of ``total`` in the named step."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a strategy may use."""

    edge: EdgeId
    documents: DocumentStore
    graph: GraphStore
    embedder: Embedder
    generator: Generator  # remembers its replies in the store
    index: str = field(default="nano")  # name of the vector index


def silent(step: str, done: int, total: int) -> None:
    """A Progress that tells nobody."""


class IndexStrategy(Protocol):
    """Durable when ``add`` returns; derived parts are renewed by ``settle``. Retrieval is possible at any time between."""

    async def open(self) -> None:
        """Build the in-memory caches from the store."""

    async def add(self, chunks: Sequence[Chunk], progress: Progress) -> Cost:
        """Index chunks and commit what was learnt; adding twice equals adding once."""

    async def remove(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Forget chunks that are gone from the store."""

    async def settle(self, progress: Progress) -> Cost:
        """Bring graph, partition and summaries up to date with the chunks that are there."""

    @property
    def unfinished(self) -> bool:
        """The last settle went without the model and left plain texts where it should have written: another may do better."""

    async def retrieve(self, question: str, *, budget_tokens: int, top_k: int) -> Retrieval:
        """The passages that may answer, within a token budget."""

    def counts(self) -> dict[str, int]:
        """What was built: entities, relations, subgraphs, summaries."""

    def neighbourhood(self, entity: str, *, hops: int, limit: int) -> dict[str, Any]:
        """``{"entities": […], "relations": […]}`` around an entity, or of highest degree when ``entity`` is empty."""
