"""Whose rows have changed since: by this log each cloud brings what it holds in memory up to date (ADR 37)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cloud_server.database.port import Database, Transaction
from shared.records import EdgeId

Kind = Literal["summaries", "memories", "reliability"]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a store, which no other one is: a store that was restored uses numbers again, and never a token."""

    seq: int
    token: str  # of `change_log`, whose triggers make one for each change


UNREAD = Change(-1, "")  # what a cloud knows that has read nothing; no store knows it


@dataclass(frozen=True, slots=True)
class Changes:
    """What has changed since a change."""

    edges: tuple[EdgeId, ...]  # in the order of their last changes
    last: Change  # of any kind, for the log keeps the newest tokens only
    is_known: bool  # whether the store knows that change; False: it was restored, or is 100,000 changes ahead, or nothing was read


# One statement, and so of one moment.
SINCE = """
SELECT edge, seq, NULL AS token FROM changes WHERE kind = ? AND seq > ?
UNION ALL SELECT NULL, seq, token FROM change_log WHERE seq = ? OR seq = (SELECT max(seq) FROM change_log)
ORDER BY seq
"""


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


def changes(database: Database, kind: Kind, *, after: Change) -> Changes:
    """What has changed after a change."""
    rows = database.rows(SINCE, (kind, after.seq, after.seq))
    tokens = {int(row["seq"]): str(row["token"]) for row in rows if row["token"]} or {0: ""}
    is_known = after.seq == 0 or tokens.get(after.seq) == after.token
    newest = max(tokens)
    return Changes(tuple(EdgeId(row["edge"]) for row in rows if row["edge"]), Change(newest, tokens[newest]), is_known)
