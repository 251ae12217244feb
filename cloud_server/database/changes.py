"""Whose rows have changed since: by this log each cloud brings what it holds in memory up to date (ADR 37)."""

from __future__ import annotations

from typing import Literal

from cloud_server.database.port import Database, Transaction
from shared.records import EdgeId

Kind = Literal["summaries", "memories", "reliability"]


def note_change(tx: Transaction, edge: EdgeId, kind: Kind) -> int:
    """Say in ``Database.write``'s transaction that it changes rows of an edge; returns the change's number.

    As nobody else writes meanwhile, numbers grow in the order of the commits: who has seen one has seen all before it.
    """
    (seq,) = tx.execute(
        "INSERT INTO changes (edge, kind, seq) SELECT ?, ?, coalesce(max(seq), 0) + 1 FROM changes WHERE true"
        " ON CONFLICT (edge, kind) DO UPDATE SET seq = excluded.seq RETURNING seq",
        (edge, kind),
    ).fetchone()
    return int(seq)


def changes(database: Database, kind: Kind, *, after: int) -> dict[EdgeId, int]:
    """The edges that have changed after a number, in the order of their last changes, and the numbers of these."""
    rows = database.rows("SELECT edge, seq FROM changes WHERE kind = ? AND seq > ? ORDER BY seq", (kind, after))
    return {EdgeId(row["edge"]): int(row["seq"]) for row in rows}
