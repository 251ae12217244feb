"""The truth about memories that edges told: texts and the cloud's own vectors of their questions."""

from __future__ import annotations

from cloud_server.database.changes import note_change
from cloud_server.database.port import Row
from cloud_server.routing.replica import Columns, Replica, Value
from shared.errors import TooLarge
from shared.records import EdgeId
from shared.wire import MemoryBody, MemoryDelta


class MemoryStore(Replica[MemoryBody, MemoryDelta]):
    """The replica of memories, which an operator may switch off."""

    columns = Columns(
        *("memories", "memory_id", ("question", "answer", "direct"), "memory_epoch", "memory_version"),
        embedder="memory_embedding",
        questions=True,
    )

    def key_of(self, body: MemoryBody) -> str:
        """As the replica says."""
        return body.memory_id

    def _values(self, body: MemoryBody) -> tuple[Value, ...]:
        return body.question, body.answer, int(body.direct)

    def _body(self, row: Row) -> MemoryBody:
        return MemoryBody(memory_id=row["memory_id"], question=row["question"], answer=row["answer"], direct=bool(row["direct"]))

    def _embedded(self, body: MemoryBody) -> str:
        return body.question

    def _too_many(self, edge: EdgeId) -> TooLarge:
        return TooLarge(f"what {edge} remembers", limit=self._max_per_edge, unit="memories")

    def clear(self) -> None:
        """Forget all memories of all edges; they are asked for a snapshot should they be wanted again."""
        if self._database.row("SELECT 1 FROM edges WHERE memory_epoch != ''") is not None:
            with self._database.write() as tx:
                for edge in self.edges():
                    note_change(tx, edge, "memories")
                tx.execute("DELETE FROM memories")
                tx.execute("UPDATE edges SET memory_epoch = '', memory_version = 0")
            self._on_removed()
