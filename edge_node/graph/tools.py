"""What the parts of an edge from the graph upwards are given: stores, models, and what may leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from edge_node.database.public_ids import PublicIds
from edge_node.documents.store import DocumentStore
from edge_node.graph.release import SummaryRelease
from edge_node.graph.store import GraphStore
from edge_node.records import CachedGenerator
from shared.limits import RetryBudget
from shared.ports import Embedder, Tokenizer
from shared.records import EdgeId


class Releases(Protocol):
    """What may leave this site at this moment, as its sharing policy says; ``egress.sharing.Sharing`` is it."""

    @property
    def outside_ids(self) -> PublicIds:
        """The ids that other sites know."""

    def tell_languages(self) -> None:
        """Note the languages of the chunks that came since the last time. Raises DiskFull and DiskFailed."""

    def summaries(self) -> SummaryRelease:
        """What summaries may tell now."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What a part may use."""

    edge: EdgeId
    documents: DocumentStore
    graph: GraphStore
    embedder: Embedder
    generator: CachedGenerator
    releases: Releases
    tokenizer: Tokenizer
    index: str = field(default="nano")  # name of the vector index
    retries: RetryBudget = field(default_factory=RetryBudget)
