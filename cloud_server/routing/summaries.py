"""The truth about summaries: text, counts and the cloud's own vectors."""

from __future__ import annotations

from collections.abc import Sequence

from cloud_server.database.port import Row, Transaction
from cloud_server.routing.replica import Columns, Replica, Value
from shared.errors import TooLarge
from shared.records import EdgeId, Summary, SummaryDelta, SummaryId

SYNCS_KEPT = 1000  # rows of history, for each edge


class SummaryStore(Replica[Summary, SummaryDelta]):
    """The replica of summaries, with a history of what each edge sent."""

    columns = Columns("summaries", "summary_id", ("text", "entities", "relations", "titles"), "epoch", "version", "embedding")

    def key_of(self, body: Summary) -> str:
        """As the replica says."""
        return body.summary_id

    def _values(self, body: Summary) -> tuple[Value, ...]:
        return body.text, body.entities, body.relations, body.titles

    def _body(self, row: Row) -> Summary:
        return Summary(SummaryId(row["summary_id"]), row["text"], row["entities"], row["relations"], bytes(row["titles"]))

    def _checksum(self, said: Sequence[Value], vector: bytes) -> int:
        *told, titles, held_back = said
        newer = [said for said in (titles, held_back) if said]
        return super()._checksum([*told, *newer], vector)  # as in stores that are older than marks and verdicts

    def _embedded(self, body: Summary) -> str:
        return body.text

    def _too_many(self, edge: EdgeId) -> TooLarge:
        return TooLarge(f"what {edge} tells of itself", limit=self._max_per_edge, unit="summaries")

    def text(self, edge: EdgeId, summary_id: SummaryId) -> str:
        """The text of one summary; "" for one that is gone."""
        row = self._database.row("SELECT text FROM summaries WHERE edge = ? AND summary_id = ?", (edge, summary_id))
        return str(row["text"]) if row else ""

    def synced(self) -> dict[EdgeId, float]:
        """When summaries of each edge were last stored, of those that are held now; in seconds since the epoch."""
        newest = "SELECT at FROM syncs WHERE syncs.edge = edges.edge AND syncs.epoch = edges.epoch ORDER BY at DESC LIMIT 1"
        rows = self._database.rows(f"SELECT edge, ({newest}) AS at FROM edges")
        return {EdgeId(edge): at for edge, at in rows if at is not None}

    def _note(self, tx: Transaction, edge: EdgeId, delta: SummaryDelta, *, held_back: int) -> None:
        tx.execute("UPDATE edges SET withheld = ? WHERE edge = ?", (delta.withheld, edge))
        tx.execute(
            "INSERT INTO syncs (edge, at, epoch, version, upserts, removals, held_back) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (edge, self._clock.now(), delta.epoch, delta.version, len(delta.upserts), len(delta.removals), held_back),
        )
        tx.execute(
            "DELETE FROM syncs WHERE edge = ? AND rowid <= (SELECT rowid FROM syncs WHERE edge = ? ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
            (edge, edge, SYNCS_KEPT),
        )
