"""Heads of the edges' egress ledgers, countersigned: an edge that cuts its ledger later is found out."""

from __future__ import annotations

import logging

from cloud_server.database.port import Database, Row
from shared.errors import Conflict, NotFound, Overloaded
from shared.identity import Identity
from shared.limits import Buckets
from shared.ports import Clock
from shared.records import EdgeId
from shared.wire import Countersigned, Head, head_message

NEW_PER_MINUTE = 6  # of one edge, and as many at once: a head is kept for ever
PAGE = 1000  # heads; some 300 bytes each
_HEADS = "SELECT epoch, seq, hash, at, signature FROM ledger_heads WHERE edge = ?"
log = logging.getLogger("dgrag.cloud.heads")


class LedgerFork(Conflict):
    """An edge tells another story than before: its ledger was changed, or cut and written anew."""

    code = "ledger_fork"

    def __init__(self, edge: EdgeId, *, seq: int) -> None:
        super().__init__(
            f"the ledger of {edge} had another hash at record {seq}",
            next_step="compare both with `dgrag audit verify --cloud`; a restored edge renews its epoch",
        )


class HeadStore:
    """The ledger_heads table."""

    def __init__(self, database: Database, identity: Identity, clock: Clock) -> None:
        self._database = database
        self._identity = identity
        self._clock = clock
        self._rate = Buckets(NEW_PER_MINUTE)

    def countersign(self, edge: EdgeId, head: Head) -> Countersigned:
        """Sign a head and keep it; the same head twice has one signature.

        Raises LedgerFork, Conflict for one that goes back, and Overloaded for too many new ones: a later one says more than they.
        """
        at = self._clock.now()
        signature = self._identity.sign(head_message(edge, head, at))
        with self._database.write() as tx:
            known = tx.execute(
                f"{_HEADS} AND epoch = ? AND seq >= ? ORDER BY seq",
                (edge, head.epoch, head.seq),
            ).fetchone()
            if known is None:
                if wait_s := self._rate.take(edge, now=self._clock.monotonic()):
                    raise Overloaded("too many heads of one ledger", retry_after_s=wait_s, of_caller=True)
                tx.execute("INSERT INTO ledger_heads VALUES (?, ?, ?, ?, ?, ?)", (edge, head.epoch, head.seq, head.hash, at, signature))
                return Countersigned(head=head, at=at, signature=signature)
        if known["seq"] == head.seq and known["hash"] == head.hash:
            return _countersigned(known)
        log.warning("%s: the ledger's head does not fit record %d, which is countersigned", edge, known["seq"])
        if known["seq"] == head.seq:
            raise LedgerFork(edge, seq=head.seq)
        raise Conflict(f"record {known['seq']} of this ledger is countersigned already", next_step="send the newest head")

    def newest(self, edge: EdgeId) -> Countersigned:
        """The head that was countersigned last. Raises NotFound when there is none."""
        row = self._database.row(f"{_HEADS} ORDER BY at DESC, seq DESC LIMIT 1", (edge,))
        if row is None:
            raise NotFound("ledger head", edge)
        return _countersigned(row)

    def page(self, edge: EdgeId, *, epoch: str = "", after: int = 0) -> list[Countersigned]:
        """Heads by epoch and number, from the one after record ``after`` of ``epoch``; at most ``PAGE``, none: that was all."""
        rows = self._database.rows(f"{_HEADS} AND (epoch, seq) > (?, ?) ORDER BY epoch, seq LIMIT ?", (edge, epoch, after, PAGE))
        return [_countersigned(row) for row in rows]

    def sequence_numbers(self) -> dict[EdgeId, int]:
        """The newest head's sequence number, by edge."""
        newest = "SELECT max(at) FROM ledger_heads AS one WHERE one.edge = ledger_heads.edge"
        rows = self._database.rows(f"SELECT edge, max(seq) AS seq FROM ledger_heads WHERE at = ({newest}) GROUP BY edge")
        return {EdgeId(row["edge"]): int(row["seq"]) for row in rows}


def _countersigned(row: Row) -> Countersigned:
    return Countersigned(head=Head(epoch=row["epoch"], seq=row["seq"], hash=row["hash"]), at=row["at"], signature=row["signature"])
