"""What rests on the embedding model, and what takes over where another model does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from edge_node.answering.answerer import Answerer
from edge_node.answering.fast_path import FastPath
from edge_node.answering.feedback import FeedbackDesk
from edge_node.answering.for_others import EvidenceForOthers
from edge_node.answering.overview import GlobalAnswerer
from edge_node.change import EmbedderChange
from edge_node.database.prepared import PreparedEmbedder
from edge_node.documents.worker import Worker
from edge_node.strategies.index import Index
from shared.ports import Adaptable, Embedder, Generator, Reachable, Shortfall


@dataclass(frozen=True, slots=True)
class Models:
    """Which models the edge works with."""

    generator: Generator
    embedder: Embedder
    server: Reachable | None  # the generator's
    untuned: tuple[str, ...] = ()  # settings that are off, as nobody knows what suits this embedder

    async def watch(self) -> None:
        """Learn what the generator's server can, until cancelled."""
        if isinstance(self.server, Adaptable):
            await self.server.watch()

    def shortfalls(self) -> Sequence[Shortfall]:
        """What the generator's server lacks, as far as is known."""
        return self.server.shortfalls() if isinstance(self.server, Adaptable) else ()

    def view(self) -> dict[str, Any]:
        """The generator as it is shown."""
        return {"name": self.generator.name, "shortfalls": [asdict(shortfall) for shortfall in self.shortfalls()]}


@dataclass(frozen=True, slots=True)
class Searching:
    """What rests on the embedding model: an index, what asks it, and what keeps it up to date."""

    strategy: Index
    worker: Worker
    answerer: Answerer
    for_others: EvidenceForOthers
    fast_path: FastPath
    feedback: FeedbackDesk
    overview: GlobalAnswerer
    models: Models


@dataclass(frozen=True, slots=True)
class Renewal:
    """Another embedding model takes over. ``change``: None where it has, and only what rests on the vectors is missing."""

    embedder: PreparedEmbedder
    change: EmbedderChange | None
    searching: Callable[[], Searching]  # with that model
