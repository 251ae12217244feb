"""Who may speak for an edge: its public keys, and until when each is taken."""

from __future__ import annotations

from dataclasses import dataclass

from cloud_server.database.port import Database, Transaction
from shared.errors import Conflict, Expelled, Unauthenticated
from shared.identity import key_id as id_of
from shared.ports import Clock
from shared.records import EdgeId


@dataclass(frozen=True, slots=True)
class EdgeKey:
    """One public key of an edge."""

    key_id: str
    edge: EdgeId
    public_key: str  # base64


class KeyStore:
    """The edge_keys table. It is read at every request, so that a key that ends is refused at the next one."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def find(self, key_id: str) -> EdgeKey:
        """A key that is taken now. Raises Unauthenticated (``unknown_key``), and Expelled for a key of an edge that was shut out."""
        row = self._database.row(
            "SELECT edge, public_key, ends, (SELECT 1 FROM expelled WHERE expelled.edge = edge_keys.edge) AS expelled"
            " FROM edge_keys WHERE key_id = ?",
            (key_id,),
        )
        if row is not None and row["expelled"]:
            raise Expelled(row["edge"])
        if row is None or (row["ends"] is not None and row["ends"] <= self._clock.now()):
            raise Unauthenticated(
                "this cloud does not know the key that signed the request, or takes it no longer",
                code="unknown_key",
                next_step="join with an invitation: `dgrag edge join`",
            )
        return EdgeKey(key_id, EdgeId(row["edge"]), row["public_key"])

    def live(self, edge: EdgeId) -> list[EdgeKey]:
        """The keys of an edge that are taken now, newest first."""
        rows = self._database.rows(
            "SELECT key_id, public_key FROM edge_keys WHERE edge = ? AND (ends IS NULL OR ends > ?) ORDER BY ends IS NULL DESC, added DESC",
            (edge, self._clock.now()),
        )
        return [EdgeKey(row["key_id"], edge, row["public_key"]) for row in rows]

    def replace_in(self, tx: Transaction, edge: EdgeId, public_key: str) -> None:
        """Make ``public_key`` the edge's only key, as part of a transaction. Raises Conflict when it is another edge's."""
        end_keys_in(tx, edge, self._clock.now())
        self._add_in(tx, edge, public_key)

    def rotate(self, edge: EdgeId, *, present: str, public_key: str, grace_s: float) -> None:
        """Take a further key; the present one (an id) ends after ``grace_s`` seconds, an older one at once.

        Doing it twice is doing it once. Raises Conflict for a present key that has been rotated away, and for another edge's key.
        """
        now = self._clock.now()
        if public_key in {key.public_key for key in self.live(edge)}:
            return
        with self._database.write() as tx:
            if not tx.execute(
                "UPDATE edge_keys SET ends = ? WHERE key_id = ? AND edge = ? AND ends IS NULL", (now + grace_s, present, edge)
            ).rowcount:
                raise Conflict("a newer key has taken this key's place", next_step="sign with the newer key")
            tx.execute(
                "UPDATE edge_keys SET ends = ? WHERE edge = ? AND key_id != ? AND (ends IS NULL OR ends > ?)", (now, edge, present, now)
            )
            self._add_in(tx, edge, public_key)

    def _add_in(self, tx: Transaction, edge: EdgeId, public_key: str) -> None:
        key_id = id_of(public_key)
        added = tx.execute(
            "INSERT INTO edge_keys VALUES (?, ?, ?, ?, NULL) ON CONFLICT (key_id)"
            " DO UPDATE SET added = excluded.added, ends = NULL WHERE edge_keys.edge = excluded.edge",
            (key_id, edge, public_key, self._clock.now()),
        )
        if not added.rowcount:
            raise Conflict("this key belongs to another edge", next_step="make a key for each edge: delete its identity folder and join")


def end_keys_in(tx: Transaction, edge: EdgeId, now: float) -> None:
    """End all keys of an edge at ``now``, as part of a transaction."""
    tx.execute("UPDATE edge_keys SET ends = ? WHERE edge = ? AND (ends IS NULL OR ends > ?)", (now, edge, now))
