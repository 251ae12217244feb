"""What a question may see where some documents are withheld from who asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.records import ChunkId, Entity, Relation, is_withheld


@dataclass(frozen=True, slots=True)
class Shown:
    """The documents and single chunks that are withheld, by id, and what is left without them."""

    withheld: frozenset[str]

    def some(self, item: Entity | Relation | None) -> bool:
        """Whether a document that is not withheld tells of it. What is gone from the graph counts, as its index follows soon."""
        return item is None or not self.withheld or any(not is_withheld(chunk_id, self.withheld) for chunk_id in item.chunk_ids)

    def visible(self, chunk_ids: Sequence[ChunkId]) -> Sequence[ChunkId]:
        """Those of documents that are not withheld."""
        return [chunk_id for chunk_id in chunk_ids if not is_withheld(chunk_id, self.withheld)] if self.withheld else chunk_ids

    def chunks(self, support: Mapping[str, float]) -> dict[str, float]:
        """Without the chunks of the withheld documents."""
        return {chunk_id: score for chunk_id, score in support.items() if not is_withheld(chunk_id, self.withheld)}
