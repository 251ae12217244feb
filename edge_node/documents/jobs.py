"""The queue: one job a document that is to be indexed, taken with a lease that whoever works on it renews."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from edge_node.database.schema import Database
from edge_node.records import Offered, Reason
from shared.errors import Conflict, DgragError, NotFound, OriginalDropped
from shared.ports import Clock
from shared.records import DocumentId

if TYPE_CHECKING:
    from edge_node.records import Cost, Shortfall


LEASE_S = 60.0
LONGEST_WAIT_S = 3600.0  # of a job that was put back; a later time is of a clock that was set back since
DAMAGED = Reason("damaged", "its bytes or its name are damaged on disk", "send the document again")
NO_ORIGINAL = Reason("original_dropped", "its file is no longer kept at this site", "send the document again")
CANCELLED = Reason("cancelled", "its job was cancelled", "retry the job, or send the document again")
CRASHED = Reason(
    "crashed",
    "the edge's process died three times while it was indexed",
    "see the edge's log; retry the job once the cause (memory, a kill from outside) is gone, or send the document in smaller parts",
)
# Codes of shortfalls that another try may mend: the model failed, or a program or a pack was missing that may be there by now.
MENDABLE = frozenset({"model_error", "model_reply_error", "model_timeout", "model_unavailable", "pages_unread", "unread_language"})
MAX_CRASHES = 3  # then a document is set aside, so that it cannot keep the edge from all others
JOB_COLUMNS = "job_id, document_id, tokens_in, tokens_out, calls, attempts, crashes, jobs.created_at, ended_at, committed"

_UNDER_WAY = (
    "SELECT document_id FROM jobs JOIN documents USING (document_id) WHERE ended_at IS NULL AND NOT committed AND status = 'running'"
)
_OF_OPEN_JOB = "document_id = (SELECT document_id FROM jobs WHERE job_id = ? AND ended_at IS NULL)"


def reason_of(error: BaseException) -> Reason:
    """What to say of an error; of one that nobody foresaw only its type, as its text may hold the document's content.

    >>> reason_of(ValueError("secret")).reason
    'an error inside the edge (ValueError)'
    """
    if not isinstance(error, DgragError):
        step = "retry it; if it fails again, report it with the edge's log"
        return Reason("internal", f"an error inside the edge ({type(error).__name__})", step)
    code = getattr(error, "reason", "") or error.code  # an unreadable document has a word of its own
    next_step = error.next_step or "mend the document and send it again"
    return Reason(code, error.message, next_step, getattr(error, "chunk_id", ""))


@dataclass(frozen=True, slots=True)
class Job:
    """A document that is to be indexed, as it was sent; ``attempts`` counts this one, ``crashes`` those that ended the process."""

    job_id: str
    attempts: int
    crashes: int
    document: Offered
    is_reread: bool = False  # nothing is indexed where its text is what it was


class JobQueue:
    """Table jobs, and the status of the documents that they are for."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self.clock = clock

    def recover(self) -> tuple[str, ...]:
        """After a start, when nobody works on anything: jobs that only miss a settle are returned.

        What was under way when the process died waits again, and is parked where that happened MAX_CRASHES times.
        """
        with self.database.write() as tx:
            tx.execute("UPDATE jobs SET lease_until = 0 WHERE ended_at IS NULL AND lease_until > 0")
            committed = tuple(
                str(row["job_id"])
                for row in tx.execute(
                    "SELECT job_id FROM jobs JOIN documents USING (document_id)"
                    " WHERE ended_at IS NULL AND committed AND status = 'running' ORDER BY jobs.rowid"
                )
            )
            tx.execute(f"UPDATE jobs SET crashes = crashes + 1 WHERE ended_at IS NULL AND document_id IN ({_UNDER_WAY})")
            tx.execute(f"UPDATE documents SET status = 'queued' WHERE document_id IN ({_UNDER_WAY})")
            given_up = "SELECT job_id FROM jobs WHERE ended_at IS NULL AND NOT committed AND crashes >= ?"
            for row in tx.execute(given_up, (MAX_CRASHES,)).fetchall():
                _end(tx, self.clock.now(), row["job_id"], "parked", CRASHED)
            open_jobs = "SELECT document_id FROM jobs WHERE ended_at IS NULL"
            jobless = f"SELECT document_id FROM documents WHERE status IN ('queued', 'running') AND document_id NOT IN ({open_jobs})"
            for row in tx.execute(jobless).fetchall():
                open_job(tx, DocumentId(row["document_id"]), self.clock.now())
        return committed

    def release(self) -> None:
        """At an orderly end, when nobody works on anything any more: what was under way waits again, and that was no attempt."""
        with self.database.write() as tx:
            tx.execute(f"UPDATE jobs SET attempts = attempts - 1, lease_until = 0 WHERE ended_at IS NULL AND document_id IN ({_UNDER_WAY})")
            tx.execute(f"UPDATE documents SET status = 'queued' WHERE document_id IN ({_UNDER_WAY})")

    def take_next(self, held: Collection[str] = (), *, least_crashes: int = 0) -> Job | None:
        """Lease the oldest job that is due, or whose lease ran out though it is not ``held`` here; None if there is none.

        A document that is damaged on disk is parked, and the next one taken.
        """
        now, marks = self.clock.now(), ", ".join("?" * len(held))
        due = (
            "SELECT documents.*, job_id, attempts, crashes, reread,"
            " crc(raw) = raw_crc AND crc(document_id, name, title, labels, reader) = row_crc AS whole"
            " FROM jobs JOIN documents USING (document_id) WHERE ended_at IS NULL AND NOT committed"
            " AND crashes >= ? AND ((status = 'queued' AND NOT not_before BETWEEN ? AND ?) OR (status = 'running' AND lease_until <= ?))"
            f" AND job_id NOT IN ({marks}) ORDER BY jobs.rowid LIMIT 1"
        )
        with self.database.write() as tx:
            while True:
                row = tx.execute(due, (least_crashes, now + 1e-6, now + LONGEST_WAIT_S, now, *held)).fetchone()
                if row is None:
                    return None
                if row["whole"] and row["dropped_bytes"] is None:
                    break
                _end(tx, now, row["job_id"], "parked", NO_ORIGINAL if row["whole"] else DAMAGED)
            tx.execute("UPDATE documents SET status = 'running' WHERE document_id = ?", (row["document_id"],))
            tx.execute("UPDATE jobs SET attempts = attempts + 1, lease_until = ? WHERE job_id = ?", (now + LEASE_S, row["job_id"]))
        return _taken(row)

    def has_more(self) -> bool:
        """Whether documents wait or are read."""
        return self.database.row("SELECT 1 FROM documents WHERE status IN ('queued', 'running') LIMIT 1") is not None

    def due_in_s(self) -> float | None:
        """Seconds until the next job that was put back is due, 0 if one is; None if none was put back."""
        now = self.clock.now()
        row = self.database.row(
            "SELECT min(not_before) AS due FROM jobs JOIN documents USING (document_id)"
            " WHERE ended_at IS NULL AND status = 'queued' AND not_before > 0 AND not_before <= ?",
            (now + LONGEST_WAIT_S,),
        )
        return None if row is None or row["due"] is None else max(0.0, row["due"] - now)

    def renew(self, job_ids: Iterable[str]) -> None:
        """Whoever holds these jobs is alive."""
        until = self.clock.now() + LEASE_S
        with self.database.write() as tx:
            tx.executemany("UPDATE jobs SET lease_until = ? WHERE job_id = ? AND ended_at IS NULL", [(until, job_id) for job_id in job_ids])

    def requeue(self, job_id: str, *, wait_s: float, code: str, reason: str, counts: bool = True) -> None:
        """Let a job that is under way wait for ``wait_s`` seconds, and say why; then it is due before younger ones.

        ``counts``: this was one of its attempts.
        """
        with self.database.write() as tx:
            back = tx.execute(
                f"UPDATE documents SET status = 'queued', code = ?, reason = ? WHERE status = 'running' AND {_OF_OPEN_JOB}",
                (code, reason, job_id),
            )
            if back.rowcount:
                not_before = self.clock.now() + min(wait_s, LONGEST_WAIT_S)
                tx.execute(
                    "UPDATE jobs SET not_before = ?, lease_until = 0, attempts = attempts - ? WHERE job_id = ?",
                    (not_before, int(not counts), job_id),
                )

    def record(self, job_id: str, cost: Cost, shortfalls: Sequence[Shortfall], parsers: Sequence[str] = ()) -> None:
        """What a job has used of the model, what was not done as well as asked, and the version tags of what has read the document."""
        listed = json.dumps([asdict(shortfall) for shortfall in shortfalls])
        with self.database.write() as tx:
            tx.execute(
                "UPDATE jobs SET calls = calls + ?, tokens_in = tokens_in + ?, tokens_out = tokens_out + ? WHERE job_id = ?",
                (cost.calls, cost.tokens_in, cost.tokens_out, job_id),
            )
            tx.execute(f"UPDATE documents SET shortfalls = ?, parsers = ? WHERE {_OF_OPEN_JOB}", (listed, ", ".join(parsers), job_id))

    def finish(self, job_ids: Iterable[str]) -> None:
        """These jobs' documents are part of the graph. A job that has ended meanwhile stays as it is."""
        now = self.clock.now()
        with self.database.write() as tx:
            for job_id in job_ids:
                _end(tx, now, job_id, "indexed", Reason("", "", ""))

    def park(self, job_id: str, why: Reason) -> None:
        """Set the document of a job aside, with a reason a person can act on. A job that has ended meanwhile stays as it is."""
        with self.database.write() as tx:
            _end(tx, self.clock.now(), job_id, "parked", why)

    def cancel(self, job_id: str) -> None:
        """Park the document of a job that waits or is under way. Raises NotFound, and Conflict where it is too late."""
        with self.database.write() as tx:
            job = _job(tx, job_id)
            if job["ended_at"] is not None or job["committed"]:
                raise Conflict(f"job {job_id!r} has ended", next_step="delete the document if it is not wanted")
            _end(tx, self.clock.now(), job_id, "parked", CANCELLED)

    def retry(self, job_id: str) -> str:
        """Queue the document of a job again where another try may help; returns the new job.

        Raises NotFound, Conflict, and OriginalDropped where its file is gone.
        """
        with self.database.write() as tx:
            job = _job(tx, job_id)
            if job["status"] in ("queued", "running"):
                raise Conflict("the document waits or is under way already", next_step="wait for it")
            if not can_retry(job["status"], json.loads(job["shortfalls"])):
                raise Conflict("the document is indexed, and another try would do no better", next_step="send it again if it has changed")
            if job["dropped_bytes"] is not None:
                raise OriginalDropped(job["name"])
            return open_job(tx, DocumentId(job["document_id"]), self.clock.now())

    def get(self, job_id: str) -> dict[str, Any]:
        """One job with its document's status. Raises NotFound."""
        row = self.database.row(
            f"SELECT {JOB_COLUMNS}, name, status, code, reason, next_step, failed_chunk FROM jobs JOIN documents USING (document_id)"
            " WHERE job_id = ?",
            (job_id,),
        )
        if row is None:
            raise NotFound("job", job_id)
        return dict(row) | {"committed": bool(row["committed"])}


def can_retry(status: str, shortfalls: Sequence[Mapping[str, Any]]) -> bool:
    """Whether another try at a document may do better.

    >>> can_retry("indexed", [{"code": "part_unread"}]), can_retry("indexed", [{"code": "model_timeout"}])
    (False, True)
    """
    return status == "parked" or (status == "indexed" and any(each["code"] in MENDABLE for each in shortfalls))


def open_job(tx: sqlite3.Connection, document_id: DocumentId, now: float) -> str:
    """Queue a document with a new job, which takes the place of one that has not ended; part of the caller's transaction."""
    end_jobs(tx, document_id, now)
    job_id = secrets.token_hex(8)
    tx.execute("INSERT INTO jobs (job_id, document_id, created_at) VALUES (?, ?, ?)", (job_id, document_id, now))
    tx.execute(
        "UPDATE documents SET status = 'queued', code = '', reason = '', next_step = '', failed_chunk = '' WHERE document_id = ?",
        (document_id,),
    )
    return job_id


def end_jobs(tx: sqlite3.Connection, document_id: DocumentId, now: float) -> tuple[str, ...]:
    """End the jobs of a document that have not ended, part of the caller's transaction; returns them."""
    ended = tx.execute("UPDATE jobs SET ended_at = ? WHERE document_id = ? AND ended_at IS NULL RETURNING job_id", (now, document_id))
    return tuple(str(row["job_id"]) for row in ended.fetchall())


def mark_committed(tx: sqlite3.Connection, document_id: DocumentId) -> None:
    """The chunks of a document that is under way are written in the caller's transaction: its job can be cancelled no more."""
    tx.execute(
        "UPDATE jobs SET committed = 1 WHERE document_id = ? AND ended_at IS NULL"
        " AND (SELECT status FROM documents WHERE document_id = jobs.document_id) = 'running'",
        (document_id,),
    )


def _job(tx: sqlite3.Connection, job_id: str) -> sqlite3.Row:
    row: sqlite3.Row | None = tx.execute(
        "SELECT jobs.*, status, shortfalls, name, dropped_bytes FROM jobs JOIN documents USING (document_id) WHERE job_id = ?", (job_id,)
    ).fetchone()
    if row is None:
        raise NotFound("job", job_id)
    return row


def _end(tx: sqlite3.Connection, now: float, job_id: str, status: str, why: Reason) -> None:
    """End a job with its document. Nothing happens to a job that has ended."""
    tx.execute(
        f"UPDATE documents SET status = ?, code = ?, reason = ?, next_step = ?, failed_chunk = ? WHERE {_OF_OPEN_JOB}",
        (status, why.code, why.reason, why.next_step, why.failed_chunk, job_id),
    )
    tx.execute("UPDATE jobs SET ended_at = ?, lease_until = 0 WHERE job_id = ? AND ended_at IS NULL", (now, job_id))


def _taken(row: sqlite3.Row) -> Job:
    labels = tuple(json.loads(row["labels"]))
    offered = Offered(DocumentId(row["document_id"]), row["name"], row["raw"], row["reader"], row["title"], labels)
    return Job(row["job_id"], row["attempts"] + 1, row["crashes"], offered, bool(row["reread"]))
