"""Who is known: each edge, when it was last seen, and which version of its summaries the cloud holds."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Literal

from cloud_server.database.changes import note_change
from cloud_server.database.port import Database, Row, Transaction
from cloud_server.registry.keys import end_keys_in
from shared.errors import Expelled, NotFound, Quarantined
from shared.ports import Clock
from shared.records import EdgeId

DECISIONS_SHOWN = 20
SEEN_STEP_S = 60.0  # last_seen is written at most this often: a poll should not cost a disk sync


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One known edge."""

    edge: EdgeId
    epoch: str  # "": no summaries yet
    version: int
    last_seen: float  # seconds since the epoch
    quarantined: str = ""  # why the edge is set aside: it keeps its line, but neither asks nor is asked, and its summaries match nothing
    memory_epoch: str = ""  # "": no memories yet
    memory_version: int = 0
    withheld: int = 0  # summaries that its sharing policy keeps there


Verdict = Literal["set aside", "released", "expelled", "readmitted"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What an operator decided about an edge."""

    at: float  # seconds since the epoch
    who: str  # name of the API key; "local": somebody at the cloud's machine, where there are no keys; "": nobody told
    what: Verdict
    why: str  # "": no reason was given


class EdgeRegistry:
    """The edges table, and what was decided about each."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._seen: dict[EdgeId, float] = {}

    def enrol(self, edge: EdgeId) -> EdgeRow:
        """Make an edge known, or greet it again; returns what the cloud holds of it. Raises Expelled."""
        with self._database.write() as tx:
            self.enrol_in(tx, edge)
        return self.get(edge)

    def enrol_in(self, tx: Transaction, edge: EdgeId) -> None:
        """As ``enrol``, as part of a transaction."""
        self.admit(edge)
        tx.execute(
            "INSERT INTO edges (edge, last_seen) VALUES (?, ?) ON CONFLICT (edge) DO UPDATE SET last_seen = excluded.last_seen",
            (edge, self._clock.now()),
        )

    def get(self, edge: EdgeId) -> EdgeRow:
        """The row. Raises Expelled, and NotFound for an edge that never enrolled."""
        found = self._database.rows("SELECT * FROM edges WHERE edge = ?", (edge,))
        if not found:
            self.admit(edge)
            raise NotFound("edge", edge)
        return self._row(found[0])

    def admit(self, edge: EdgeId) -> None:
        """Let pass whoever is not shut out, known or not. Raises Expelled."""
        if self._database.row("SELECT 1 FROM expelled WHERE edge = ?", (edge,)) is not None:
            raise Expelled(edge)

    def admit_asking(self, edge: EdgeId) -> None:
        """Let pass whoever may ask other sites. Raises Expelled, and Quarantined for an edge that is set aside."""
        self.admit(edge)
        for row in self._database.rows("SELECT quarantined FROM edges WHERE edge = ? AND quarantined != ''", (edge,)):
            raise Quarantined(edge, row["quarantined"])

    def all(self) -> list[EdgeRow]:
        """All edges, by name."""
        return [self._row(row) for row in self._database.rows("SELECT * FROM edges ORDER BY edge")]

    def seen(self, edge: EdgeId) -> None:
        """Note that an edge spoke. Raises as ``get``."""
        stored, now = self.get(edge), self._clock.now()
        if now - stored.last_seen >= SEEN_STEP_S:
            with self._database.write() as tx:
                tx.execute("UPDATE edges SET last_seen = ? WHERE edge = ?", (now, edge))
        self._seen[edge] = now

    def expel(self, edge: EdgeId, *, by: str = "") -> int:
        """Shut an edge out, end its keys and purge its summaries, in one transaction; returns how many. Raises as ``get``.

        What it sent when, the heads of its ledger and what was decided about it stay. ``by``: who decided this, here and below.
        """
        self.get(edge)
        with self._database.write() as tx:
            (purged,) = tx.execute("SELECT count(*) FROM summaries WHERE edge = ?", (edge,)).fetchone()
            tx.execute("DELETE FROM edges WHERE edge = ?", (edge,))
            note_change(tx, edge, "summaries")
            note_change(tx, edge, "memories")
            tx.execute("DELETE FROM invites WHERE edge = ?", (edge,))
            end_keys_in(tx, edge, self._clock.now())
            said = "INSERT INTO expelled VALUES (?, ?) ON CONFLICT (edge) DO UPDATE SET at = excluded.at"
            tx.execute(said, (edge, self._clock.now()))
            self._decide(tx, edge, "expelled", by=by)
        self._seen.pop(edge, None)
        return int(purged)

    def readmit(self, edge: EdgeId, *, by: str = "") -> None:
        """Let an expelled edge join again; its former keys are not taken any more. Raises NotFound for one that was not expelled."""
        with self._database.write() as tx:
            if not tx.execute("DELETE FROM expelled WHERE edge = ?", (edge,)).rowcount:
                raise NotFound("expelled edge", edge)
            self._decide(tx, edge, "readmitted", by=by)

    def expelled(self) -> list[tuple[EdgeId, float]]:
        """The edges that are shut out, by name, and since when, in seconds since the epoch."""
        return [(EdgeId(row["edge"]), row["at"]) for row in self._database.rows("SELECT * FROM expelled ORDER BY edge")]

    def quarantine(self, edge: EdgeId, reason: str, *, by: str = "") -> None:
        """Set an edge aside, until it is released. Raises as ``get``."""
        self._set_aside(edge, reason, by=by)

    def release(self, edge: EdgeId, *, by: str = "") -> None:
        """Ask an edge again. Raises as ``get``."""
        self._set_aside(edge, "", by=by)

    def decisions(self, edge: EdgeId) -> list[Decision]:
        """What was decided about an edge, the newest first; the last ``DECISIONS_SHOWN`` of it."""
        query = "SELECT at, who, what, why FROM decisions WHERE edge = ? ORDER BY at DESC, rowid DESC LIMIT ?"
        return [Decision(*row) for row in self._database.rows(query, (edge, DECISIONS_SHOWN))]

    def quarantined(self) -> frozenset[EdgeId]:
        """The edges that are set aside."""
        return frozenset(EdgeId(row["edge"]) for row in self._database.rows("SELECT edge FROM edges WHERE quarantined != ''"))

    def barred(self) -> frozenset[EdgeId]:
        """The edges that match nothing: those that are set aside, and those that are shut out, which an index may still hold.

        An index of this cloud learns of an expulsion at another cloud by a notice, some moments later.
        """
        rows = self._database.rows("SELECT edge FROM edges WHERE quarantined != '' UNION SELECT edge FROM expelled")
        return frozenset(EdgeId(row["edge"]) for row in rows)

    def _set_aside(self, edge: EdgeId, reason: str, *, by: str) -> None:
        self.get(edge)
        with self._database.write() as tx:
            tx.execute("UPDATE edges SET quarantined = ? WHERE edge = ?", (reason, edge))
            self._decide(tx, edge, "set aside" if reason else "released", by=by, why=reason)

    def _decide(self, tx: Transaction, edge: EdgeId, what: Verdict, *, by: str, why: str = "") -> None:
        tx.execute("INSERT INTO decisions (edge, at, who, what, why) VALUES (?, ?, ?, ?, ?)", (edge, self._clock.now(), by, what, why))

    def _row(self, row: Row) -> EdgeRow:
        fields = {field.name: row[field.name] for field in fields_of(EdgeRow)}
        return EdgeRow(**fields | {"last_seen": max(row["last_seen"], self._seen.get(row["edge"], 0.0))})
