"""The egress ledger as values: a record of every body that leaves, chained by SHA-256, and what is wrong with a chain (goal P1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

START = "0" * 64  # what the first record follows
COLUMNS = "seq, at, kind, recipient, requester, purpose, rule, subject, items, bytes, sha256, previous, hash"
DEPARTURES = ("enrolment", "rotation", "summaries", "memories", "evidence", "refusal", "question", "head", "restored")
TEXTS = frozenset({"kind", "recipient", "requester", "purpose", "rule", "subject", "items", "sha256", "previous", "hash"})
# A damaged text may be no text any more: as bytes it can still be read, and be named.
RECORDS = (
    "SELECT " + ", ".join(f"CAST({name} AS BLOB) AS {name}" if name in TEXTS else name for name in COLUMNS.split(", ")) + " FROM egress"
)


@dataclass(frozen=True, slots=True)
class Departure:
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


def follow(last: Entry | None, departure: Departure, *, at: float) -> Entry:
    """The record of a departure, after the ``last`` one; None: the first.

    >>> first = follow(None, Departure("question", "http://cloud", b"{}"), at=1.5)
    >>> first.seq, first.bytes, first.sha256[:8], first.hash == hash_of(first)
    (1, 2, '44136fa3', True)
    >>> follow(first, Departure("head", "http://cloud", b""), at=2.0).previous == first.hash
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

    >>> one = follow(None, Departure("question", "http://cloud", b"{}"), at=1.0)
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
