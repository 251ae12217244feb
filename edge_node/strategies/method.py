"""What one paper makes of an edge's chunks, and how it finds passages in it. Everything that methods have in common is ``WritePath``'s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from edge_node.database.vectors import VectorRows
from edge_node.graph.passages import ChunkDraft
from edge_node.graph.tools import Tools
from edge_node.graph.view import Visibility
from edge_node.records import Cost, Needs, Progress, Retrieval
from shared.ports import FloatArray
from shared.records import Chunk, ChunkId

if TYPE_CHECKING:
    from edge_node.settings import EdgeSettings
    from edge_node.strategies.write_path import WritePath


FACTS_SHARE = 0.03  # of the candidates' tokens, for one-line relations or facts: ADR 10


@dataclass(frozen=True, slots=True)
class MethodQuery:
    """A question with its vector (d,), what its asker may see, and how much may be found for it."""

    question: str
    vector: FloatArray
    shown: Visibility
    budget_tokens: int
    top_k: int


class Method(Protocol):
    """One folder a paper. The bodies below are for methods that derive nothing of their own from the chunks."""

    def __init__(self, tools: Tools, write_path: WritePath, settings: EdgeSettings) -> None:
        """Opened by ``open``, before anything else is called."""

    @staticmethod
    def needs(settings: EdgeSettings) -> Needs:
        """What the common write path must keep, with these settings."""
        del settings
        return Needs()

    async def open(self) -> None:
        """Build caches from the store; ``WritePath`` is open by then."""

    async def drafts(self, chunks: Sequence[Chunk], rows: VectorRows, progress: Progress) -> Sequence[ChunkDraft]:
        """What is to be committed with the chunks of a document, whose vectors are ``rows``."""
        del chunks, rows, progress
        return ()

    async def forget(self, chunk_ids: Sequence[ChunkId]) -> None:
        """Hide what was derived from chunks that are gone from the store."""

    async def renew(self, progress: Progress) -> None:
        """Bring what is derived up to date with the chunks that are there, without a language model; ``WritePath`` is settled by then."""

    async def improve(self, progress: Progress) -> Cost:
        """Let the language model do a few of the things that it should, each committed by itself. Raises ModelError."""
        del progress
        return Cost()

    @property
    def stale(self) -> int:
        """How many things the language model should still do."""
        return 0

    def counts(self) -> dict[str, int]:
        """What this method adds to ``WritePath.counts``."""
        return {}

    async def search(self, asked: MethodQuery) -> Retrieval:
        """The passages that may answer, best first, and lines beside them, within the budget together; nothing of what is withheld."""
