"""The egress ledger on disk: a body may leave once its record is committed (goal P1)."""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from edge_node.database.schema import Database
from shared.errors import NotFound, StoreError
from shared.ports import Clock
from shared.sqlite import RAISED, connect, store_error
from shared.wire import Countersigned, Head

_HEADS = "SELECT seq, hash FROM egress_heads"
_BY_REQUESTER = (
    "SELECT requester, count(DISTINCT value) AS n FROM egress, json_each(items) WHERE at >= ? AND kind = 'evidence' GROUP BY requester"
)
_TOGETHER = "SELECT count(DISTINCT value) FROM egress, json_each(items) WHERE at >= ? AND kind = 'evidence'"

START = "0" * 64  # what the first record follows
COLUMNS = "seq, at, kind, recipient, requester, purpose, rule, subject, items, bytes, sha256, previous, hash"

_INSERT = f"INSERT INTO egress ({COLUMNS}) VALUES ({', '.join('?' * len(COLUMNS.split(', ')))})"

DEPARTURES = ("enrolment", "rotation", "summaries", "memories", "evidence", "refusal", "question", "head", "restored")
TEXTS = frozenset({"kind", "recipient", "requester", "purpose", "rule", "subject", "items", "sha256", "previous", "hash"})
# A damaged text may be no text any more: as bytes it can still be read, and be named.
RECORDS = (
    "SELECT " + ", ".join(f"CAST({name} AS BLOB) AS {name}" if name in TEXTS else name for name in COLUMNS.split(", ")) + " FROM egress"
)


@dataclass(frozen=True, slots=True)
class EgressRecord:
    """A body that is about to leave. ``items`` are ids of chunks, summaries or memories, never a text."""

    kind: str  # one of DEPARTURES
    recipient: str  # the cloud's URL
    body: bytes
    requester: str = ""  # for whom: an edge, "operator:<name>"; "": the cloud itself
    purpose: str = ""
    rule: str = ""  # of the sharing policy that lets it go, with the policy's version
    subject: str = ""  # request id, query id, or version of summaries or memories
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One record, its columns in their order; ``hash`` is over all the others, so also over the record before."""

    seq: int
    at: float  # seconds since the epoch
    kind: str
    recipient: str
    requester: str
    purpose: str
    rule: str
    subject: str
    items: str  # JSON list of ids
    bytes: int  # of the body
    sha256: str  # of the body
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that cannot be in an untouched ledger; ``seq`` is the record where it shows."""

    seq: int
    what: str


def hash_of(entry: Entry) -> str:
    """SHA-256 over the JSON list of a record's columns but the last, as ``json.dumps`` writes it without spaces, in hexadecimal."""
    return hashlib.sha256(json.dumps(astuple(entry)[:-1], separators=(",", ":")).encode()).hexdigest()


def follow(last: Entry | None, departure: EgressRecord, *, at: float) -> Entry:
    """The record of a departure, after the ``last`` one; None: the first.

    >>> first = follow(None, EgressRecord("question", "http://cloud", b"{}"), at=1.5)
    >>> first.seq, first.bytes, first.sha256[:8], first.hash == hash_of(first)
    (1, 2, '44136fa3', True)
    >>> follow(first, EgressRecord("head", "http://cloud", b""), at=2.0).previous == first.hash
    True
    """
    seq, previous = (last.seq + 1, last.hash) if last else (1, START)
    entry = Entry(
        seq=seq,
        at=float(at),  # as it will be read
        kind=departure.kind,
        recipient=departure.recipient,
        requester=departure.requester,
        purpose=departure.purpose,
        rule=departure.rule,
        subject=departure.subject,
        items=json.dumps(departure.items),
        bytes=len(departure.body),
        sha256=hashlib.sha256(departure.body).hexdigest(),
        previous=previous,
        hash="",
    )
    return replace(entry, hash=hash_of(entry))


def entry_of(row: Iterable[Any]) -> Entry:
    """A row of ``RECORDS``; bytes that are no text show as such."""
    texts: list[Any] = [value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value for value in row]
    return Entry(*texts)


def faults(entries: Iterable[Entry], heads: Mapping[int, str]) -> Iterator[Fault]:
    """What was edited, deleted, put in another order or cut off; ``entries`` by number.

    ``heads`` are the hashes that the cloud has countersigned, by number: without them nobody sees that the last records are gone.

    >>> one = follow(None, EgressRecord("question", "http://cloud", b"{}"), at=1.0)
    >>> list(faults([one], {1: one.hash}))
    []
    >>> [fault.what for fault in faults([replace(one, purpose="other")], {2: one.hash})]
    ['the record was changed', 'the cloud has countersigned record 2, and the ledger ends at 1']
    """
    seq, previous = 0, START
    for entry in entries:
        if entry.seq != seq + 1:
            yield Fault(seq + 1, f"records {seq + 1} to {entry.seq - 1} are missing")
        elif entry.previous != previous:
            yield Fault(entry.seq, "the record does not follow the one before it")
        if _forged(entry):
            yield Fault(entry.seq, "the record was changed")
        elif heads.get(entry.seq, entry.hash) != entry.hash:
            yield unlike(entry.seq, entry.seq)
        seq, previous = entry.seq, entry.hash
    if heads and max(heads) > seq:
        yield unlike(max(heads), seq)


def unlike(seen: int, last: int) -> Fault:
    """The fault of a ledger that ends at record ``last``, and has not the record ``seen`` that the cloud has countersigned."""
    if seen > last:
        return Fault(last + 1, f"the cloud has countersigned record {seen}, and the ledger ends at {last}")
    return Fault(seen, "the record is not the one that the cloud has countersigned")


def _forged(entry: Entry) -> bool:
    if not isinstance(entry.at, int | float) or not isinstance(entry.bytes, int):
        return True
    return hash_of(entry) != entry.hash


@dataclass(frozen=True, slots=True)
class Spent:
    """What one requester was sent: replies with evidence, passages in them, and their bytes; one sent twice counts twice."""

    replies: int
    passages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Disclosed:
    """Different passages: that there are, that all requesters together were sent, and that each of some was, most first."""

    passages: int
    together: int
    disclosed: dict[str, int]


class Ledger:
    """Table egress, which is only ever added to, and the heads of it that the cloud has countersigned."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def record(self, departure: EgressRecord) -> Entry:
        """Note a body that is about to leave; when this returns, the record is on disk. Raises as ``Database.write``."""
        with self._database.write() as tx:
            return append(tx, departure, at=self._clock.now())

    def restored(self) -> None:
        """The store is an older one than the cloud has seen: begin a new history, and say so in the ledger."""
        with self._database.write() as tx:
            renew_history(tx, at=self._clock.now())

    def spent(self, requester: str | None, *, since: float) -> Spent:
        """What a requester, or all of them together (None), were sent since a time (seconds since the epoch)."""
        where, values = _evidence(requester, since)
        row = self._database.row(
            f"SELECT count(*), coalesce(sum(json_array_length(items)), 0), coalesce(sum(bytes), 0) FROM egress {where}", values
        )
        return Spent(*row) if row else Spent(0, 0, 0)

    def disclosed(self, requester: str | None, *, since: float) -> frozenset[str]:
        """The ids of the different passages that a requester, or all of them together (None), were sent since a time."""
        where, values = _evidence(requester, since)
        rows = self._database.rows(f"SELECT DISTINCT value FROM egress, json_each(items) {where}", values)
        return frozenset(row["value"] for row in rows)

    def most_disclosed(self, *, since: float) -> tuple[int, int]:
        """How many different passages were sent since a time: to the requester that has had most, and to all of them together."""
        row = self._database.row(f"SELECT (SELECT max(n) FROM ({_BY_REQUESTER})), ({_TOGETHER})", (since, since))
        return (int(row[0] or 0), int(row[1])) if row else (0, 0)

    def departed(self, *, after: int = 0) -> tuple[int, dict[str, int]]:
        """Number of the newest record, and bytes by kind of all behind record ``after``."""
        rows = self._database.rows("SELECT kind, sum(bytes) AS bytes, max(seq) AS newest FROM egress WHERE seq > ? GROUP BY kind", (after,))
        return max((int(row["newest"]) for row in rows), default=after), {str(row["kind"]): int(row["bytes"]) for row in rows}

    def entries(self, *, after: int = 0, limit: int = 100) -> list[Entry]:
        """Records by number, from the one after ``after``."""
        return [entry_of(row) for row in self._database.rows(f"{RECORDS} WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))]

    def verify(self) -> list[Fault]:
        """What is wrong with the ledger; empty: nothing that can be seen here. Reads all of it, one record at a time."""
        heads = _heads(self._database.rows(_HEADS))
        return list(faults(map(entry_of, self._database.stream(f"{RECORDS} ORDER BY seq")), heads))

    def count(self) -> int:
        """How many records there are."""
        row = self._database.row("SELECT count(*) FROM egress")
        return int(row[0]) if row else 0

    def unseen(self) -> Head | None:
        """Where the chain ends, if the cloud has not seen that; what tells the cloud of an end is no news itself."""
        last = self._database.row("SELECT seq, hash FROM egress ORDER BY seq DESC LIMIT 1")
        epoch = self._database.meta("epoch")
        news = self._database.row(
            "SELECT 1 FROM egress WHERE kind <> 'head' AND seq > (SELECT coalesce(max(seq), 0) FROM egress_heads WHERE epoch = ?)", (epoch,)
        )
        return Head(epoch=epoch, seq=last["seq"], hash=last["hash"]) if last and news else None

    def countersigned(self, seen: Countersigned) -> None:
        """Keep the cloud's word that it has seen a head."""
        with self._database.write() as tx:
            tx.execute(
                "INSERT OR IGNORE INTO egress_heads (epoch, seq, hash, at, signature) VALUES (?, ?, ?, ?, ?)",
                (seen.head.epoch, seen.head.seq, seen.head.hash, seen.at, seen.signature),
            )

    def holds(self, head: Head) -> bool:
        """Whether this store can be the one whose head this is: of another history, or with that very record."""
        if head.epoch != self._database.meta("epoch"):
            return True
        return self._database.row("SELECT 1 FROM egress WHERE seq = ? AND hash = ?", (head.seq, head.hash)) is not None


def _evidence(requester: str | None, since: float) -> tuple[str, tuple[object, ...]]:
    """A condition, and its values. By a name the index finds it: a cloud that makes up a name for each request has none of them scanned."""
    if requester is None:
        return "WHERE at >= ? AND kind = 'evidence'", (since,)
    return "WHERE requester = ? AND at >= ? AND kind = 'evidence'", (requester, since)


def append(tx: sqlite3.Connection, departure: EgressRecord, *, at: float) -> Entry:
    """Add a record, part of the caller's transaction."""
    last = tx.execute(f"{RECORDS} ORDER BY seq DESC LIMIT 1").fetchone()
    entry = follow(entry_of(last) if last else None, departure, at=at)
    tx.execute(_INSERT, astuple(entry))
    return entry


def renew_history(tx: sqlite3.Connection, *, at: float) -> None:
    """Give a restored store an epoch of its own, part of the caller's transaction; the ledger goes on, and says where."""
    epoch = secrets.token_hex(8)
    tx.execute("UPDATE meta SET value = ? WHERE key = 'epoch'", (epoch,))
    append(tx, EgressRecord("restored", "", b"", subject=epoch), at=at)


@contextmanager
def ledger_of(store: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads a store's file, also while an edge uses it. Raises NotFound, StoreError."""
    if not store.is_file():
        raise NotFound("store", str(store))
    with closing(sqlite3.connect(f"{store.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        try:
            yield connection
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{store} cannot be read: {error}", next_step="`dgrag edge check` says what is wrong with it") from error


def read_entries(connection: sqlite3.Connection, *, after: int = 0) -> Iterator[Entry]:
    """The records of a connection of ``ledger_of``, by number, from the one after ``after``."""
    return map(entry_of, connection.execute(f"{RECORDS} WHERE seq > ? ORDER BY seq", (after,)))


def read_newest(connection: sqlite3.Connection, *, limit: int, since: float = 0.0, requester: str = "") -> list[Entry]:
    """The newest ``limit`` records by number, of those since a time (seconds since the epoch) and for a requester ("": for any)."""
    where = "WHERE at >= :since AND (:requester = '' OR requester = :requester)"
    rows = connection.execute(f"{RECORDS} {where} ORDER BY seq DESC LIMIT :limit", {"since": since, "requester": requester, "limit": limit})
    return [entry_of(row) for row in rows][::-1]


def read_disclosed(connection: sqlite3.Connection, *, since: float, limit: int) -> Disclosed:
    """How many different passages were sent since a time, to all requesters and to the ``limit`` that have had most."""
    rows = connection.execute(f"{_BY_REQUESTER} ORDER BY n DESC, requester LIMIT ?", (since, limit))
    had = {row["requester"]: row["n"] for row in rows}
    (together,) = connection.execute(_TOGETHER, (since,)).fetchone()
    (there,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
    return Disclosed(int(there), int(together), had)


def read_faults(connection: sqlite3.Connection, seen: Iterable[Head] = ()) -> list[Fault]:
    """As ``Ledger.verify``; ``seen`` are all heads that the cloud itself shows, by epoch and number."""
    found = list(faults(read_entries(connection), _heads(connection.execute(_HEADS))))
    for _, heads in groupby(seen, key=lambda head: head.epoch):
        found += islice((fault for head in heads if (fault := _unlike(connection, head))), 1)  # what follows follows from it
    return list(dict.fromkeys(found))


def _unlike(connection: sqlite3.Connection, head: Head) -> Fault | None:
    """What is wrong where the cloud has countersigned a head; after a restore records are lost by right, and the ledger says where."""
    if connection.execute("SELECT 1 FROM egress WHERE seq = ? AND hash = ?", (head.seq, head.hash)).fetchone():
        return None
    (restored,) = connection.execute(
        "SELECT min(seq) FROM egress WHERE kind = 'restored' AND seq >"
        " (SELECT coalesce(max(seq), 0) FROM egress WHERE kind = 'restored' AND subject = ?)",
        (head.epoch,),
    ).fetchone()
    if restored:
        return Fault(restored, f"record {head.seq} of the time before is not here: lost when the store was restored, as this record says")
    (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM egress").fetchone()
    return unlike(head.seq, last)


def _heads(rows: Iterable[sqlite3.Row]) -> dict[int, str]:
    return {int(row["seq"]): str(row["hash"]) for row in rows}


class GuestLedger:
    """Implements ``edge_node.cloud.client.Records`` on the store in a state folder, which is made where there is none."""

    def __init__(self, state_dir: Path, clock: Clock) -> None:
        self._path = state_dir / "edge.db"
        self._clock = clock
        if not self._path.exists():
            Database(self._path).close()

    def record(self, departure: EgressRecord) -> None:
        """Note a body that is about to leave; on disk when this returns. Raises StoreError."""
        try:
            with closing(connect(self._path)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                append(connection, departure, at=self._clock.now())
                connection.execute("COMMIT")
        except RAISED as error:
            if told := store_error(self._path, error):
                raise told from error
            raise
