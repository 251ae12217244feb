"""The tables by which clouds that share a PostgreSQL hand each other requests and replies: one statement for each step."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from cloud_server.database.notices import CHANNEL, EVERYBODY
from cloud_server.database.port import SharedDatabase
from cloud_server.database.postgres import (
    CONNECT_S,
    READERS,
    URL,
    WRITERS,
    connection_options,
    storable,
    told,
    transaction_start,
)
from shared.errors import SettingsError
from shared.wire import MAX_POLLED

T = TypeVar("T")

log = logging.getLogger("dgrag.cloud.letters")

LINES = 4  # connections of one cloud for letters: they wait for no writer
CONNECTIONS = READERS + 1 + LINES + 1  # that one cloud takes at most; the last one is for notices
TIDIERS = WRITERS + 2  # key of the advisory lock of whoever tidies
KEPT_S = 60.0  # a letter past its time goes, should nobody have taken it back
OLD_S = 3600.0  # the same for who has not polled

IN = "clock_timestamp() + make_interval(secs => {})"
ADMITTED = "NOT EXISTS (SELECT 1 FROM expelled WHERE edge = %(edge)s)"  # a poll that was let in just before may begin just after


def telling(to: str, kind: str, **facts: str) -> str:
    """SQL of a notice, as ``notices.Notices`` reads it; all but ``kind`` and the facts' names are SQL too."""
    named = ", ".join(f"'{name}', {fact}" for name, fact in facts.items())
    return f"json_build_object('to', {to}, 'kind', '{kind}', {named})::text"


BEGIN = f"""
WITH former AS (SELECT * FROM polls WHERE edge = %(edge)s),
begun AS (
    INSERT INTO polls SELECT %(edge)s, %(replica)s, %(poll)s, TRUE, {IN.format("%(online_s)s")} WHERE {ADMITTED}
    ON CONFLICT (edge) DO UPDATE SET replica = excluded.replica, poll = excluded.poll, held = TRUE, until = excluded.until
),
notices (notice) AS (
    SELECT {telling("replica", "release", edge="edge", poll="poll")} FROM former WHERE held AND replica != %(replica)s
    UNION ALL
    SELECT {telling(f"'{EVERYBODY}'", "here", edge="%(edge)s::text")}
    WHERE NOT EXISTS (SELECT 1 FROM former WHERE until > clock_timestamp())
)
SELECT pg_notify('{CHANNEL}', notice) FROM notices
"""
END = f"UPDATE polls SET held = FALSE, until = {IN.format('%(grace_s)s')} WHERE edge = %(edge)s AND poll = %(poll)s"
TAKE = """
WITH mine AS (SELECT 1 FROM polls WHERE edge = %(edge)s AND poll = %(poll)s),
taken AS (
    SELECT seq, request_id, request, expires FROM letters
    WHERE edge = %(edge)s AND request IS NOT NULL AND EXISTS (SELECT 1 FROM mine)
    ORDER BY seq LIMIT %(most)s FOR UPDATE SKIP LOCKED
),
emptied AS (UPDATE letters SET request = NULL FROM taken WHERE letters.request_id = taken.request_id),
told AS (DELETE FROM withdrawals WHERE edge = %(edge)s AND EXISTS (SELECT 1 FROM mine) RETURNING seq, request_id)
SELECT seq, request_id, request, (extract(epoch FROM expires - clock_timestamp()) * 1000)::int FROM taken
UNION ALL SELECT seq, request_id, NULL, 0 FROM told ORDER BY seq
"""
PUT_BACK = "UPDATE letters SET request = %(request)s WHERE request_id = %(request_id)s AND NOT answered"
# The share lock makes a poll that begins just now wait: either it sees the letter, or the letter sees where it is held.
POST = f"""
WITH holder AS (SELECT edge, replica FROM polls WHERE edge = %(edge)s AND until > clock_timestamp() AND {ADMITTED} FOR SHARE),
letter AS (
    INSERT INTO letters (request_id, edge, asker, expires, request)
    SELECT %(request_id)s, edge, %(replica)s, {IN.format("%(expires_s)s")}, %(request)s FROM holder RETURNING edge
)
SELECT pg_notify('{CHANNEL}', {telling("replica", "letter", edge="edge")}) FROM holder JOIN letter USING (edge)
"""
ANSWER = f"""
WITH answered AS (
    UPDATE letters SET answered = TRUE, request = NULL, reply = %(reply)s
    WHERE request_id = %(request_id)s AND edge = %(edge)s AND NOT answered RETURNING request_id, asker
)
SELECT pg_notify('{CHANNEL}', {telling("asker", "reply", request="request_id")}) FROM answered
"""
MARK = "UPDATE letters SET answered = TRUE, request = NULL WHERE request_id = %(request_id)s"
KNOWN = "SELECT 1 FROM letters WHERE request_id = %(request_id)s AND edge = %(edge)s"
REPLIES = "SELECT request_id, edge, reply FROM letters WHERE request_id = ANY(%(request_ids)s) AND reply IS NOT NULL"
SETTLE = "DELETE FROM letters WHERE request_id = %(request_id)s"


def withdrawing(which: str) -> str:
    """SQL that takes letters back, and tells the edges that have them already."""
    return f"""
WITH gone AS (DELETE FROM letters WHERE {which} RETURNING edge, request_id, request IS NULL AND NOT answered AS begun),
told AS (
    INSERT INTO withdrawals (edge, request_id, until) SELECT edge, request_id, {IN.format("600")} FROM gone WHERE begun RETURNING edge
)
SELECT pg_notify('{CHANNEL}', {telling("replica", "letter", edge="edge")}) FROM polls WHERE held AND edge IN (SELECT edge FROM told)
"""


WITHDRAW = withdrawing("request_id = %(request_id)s AND edge = %(edge)s")
FORGET = f"""
WITH a AS (DELETE FROM polls WHERE edge = %(edge)s),
b AS (DELETE FROM letters WHERE edge = %(edge)s),
c AS (DELETE FROM withdrawals WHERE edge = %(edge)s)
SELECT pg_notify('{CHANNEL}', {telling(f"'{EVERYBODY}'", "forget", edge="%(edge)s::text")})
"""
LIVE = f"""
INSERT INTO replicas VALUES (%(replica)s, {IN.format("%(alive_s)s")}) ON CONFLICT (replica) DO UPDATE SET until = excluded.until
"""
PRESENCE = """
SELECT edge, poll, extract(epoch FROM until - clock_timestamp())::float8,
    edge IN (SELECT edge FROM letters WHERE request IS NOT NULL UNION ALL SELECT edge FROM withdrawals)
FROM polls WHERE until > clock_timestamp()
"""
ASKED = "SELECT request_id, reply IS NOT NULL FROM letters WHERE asker = %(replica)s"
ROOM = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (SELECT count(*) FROM replicas WHERE until > clock_timestamp())
"""
TIDY = "SELECT pg_try_advisory_xact_lock(%(key)s)"
DEAD = "NOT IN (SELECT replica FROM replicas WHERE until > clock_timestamp())"
TIDIED = (
    f"UPDATE polls SET held = FALSE, until = {IN.format('%(grace_s)s')} WHERE held AND replica {DEAD}",
    withdrawing(f"asker {DEAD} OR expires < {IN.format(f'-{KEPT_S}')}"),
    "DELETE FROM withdrawals WHERE until < clock_timestamp()",
    f"DELETE FROM polls WHERE until < {IN.format(f'-{OLD_S}')}",
    f"DELETE FROM replicas WHERE until < {IN.format(f'-{OLD_S}')}",
)
LEAVE = (
    "DELETE FROM replicas WHERE replica = %(replica)s",
    f"UPDATE polls SET held = FALSE, until = {IN.format('%(grace_s)s')} WHERE held AND replica = %(replica)s",
    withdrawing("asker = %(replica)s"),
)


@dataclass(frozen=True, slots=True)
class Taken:
    """A letter for the edge that polls."""

    request_id: str
    request: bytes
    left_ms: int


@dataclass(frozen=True, slots=True)
class Presence:
    """An edge that counts as online."""

    poll: str
    online_s: float  # from now
    waits: bool  # something waits for it


def check_room(database: SharedDatabase) -> None:
    """Whether PostgreSQL takes as many connections as all clouds may want with this one; too few for all are logged.

    Raises SettingsError for too few for this one alone. A pooler has a limit of its own, which it does not report.
    """
    if database.is_pooled:
        return
    room, others = database.row(ROOM) or (0, 0)
    wanted = CONNECTIONS * (others + 1)
    if room < CONNECTIONS:
        step = f"raise max_connections of PostgreSQL to {CONNECTIONS} for each cloud and some for others, or name another server in {URL}"
        raise SettingsError(f"PostgreSQL takes {room} connections, and a cloud wants up to {CONNECTIONS}", next_step=step)
    if room < wanted:
        log.warning(
            "PostgreSQL takes %d connections, and %d clouds want up to %d: some requests will get 503; raise its max_connections",
            *(room, others + 1, wanted),
        )


def check_forgetting(database: SharedDatabase) -> None:
    """Whether a cloud that holds no memories may delete those of the store: no other cloud that lives may find with them.

    Raises SettingsError where there are some, and another cloud lives or has died a moment ago.
    """
    _, others = database.row(ROOM) or (0, 0)
    if others and database.row("SELECT 1 FROM edges WHERE memory_epoch != ''") is not None:
        step = "stop all clouds of this store, and start them with this setting; or take it away here"
        raise SettingsError("DGRAG_CLOUD_MEMORY_BANK=false would delete the memories that other clouds of this store hold", next_step=step)


def to_its_end(work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
    """Await this: ``work`` goes on where the caller is cancelled, and its error then is nobody's, for ``told`` has logged it."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
    return asyncio.shield(task)


class LetterTables:
    """Raises StoreAway and DiskFull as ``PostgresDatabase``. ``replica``: this cloud's name, which no other process may have.

    All times are PostgreSQL's: the clocks of clouds may differ. ``pooled``: a pooler answers at ``url``.
    """

    def __init__(self, url: str, replica: str, *, pooled: bool, grace_s: float, alive_s: float) -> None:
        self._always = {
            "replica": replica,
            "grace_s": grace_s,
            "alive_s": alive_s,
            "most": MAX_POLLED,
            "key": TIDIERS,
        }
        self._start = transaction_start(pooled=pooled)
        self._pool = AsyncConnectionPool(
            url,
            kwargs=connection_options(pooled=pooled),
            min_size=1,
            max_size=LINES,
            timeout=CONNECT_S,
            check=AsyncConnectionPool.check_connection,
            open=False,
        )

    async def open(self) -> None:
        """Connect, in the background."""
        await self._pool.open()

    async def close(self) -> None:
        """Say that this cloud is gone, if that can be said, and close the connections."""
        try:
            for statement in LEAVE:
                await self._run(statement)
        finally:
            await self._pool.close()

    async def begin(self, edge: str, poll: str, *, online_s: float) -> None:
        """An edge polls here from now on; whoever held its poll is told."""
        await self._run(BEGIN, edge=edge, poll=poll, online_s=online_s)

    async def end(self, edge: str, poll: str) -> None:
        """That poll ended."""
        await self._run(END, edge=edge, poll=poll)

    async def take(self, edge: str, poll: str) -> tuple[list[Taken], list[str]]:
        """The letters that wait for an edge, oldest first, and ids of withdrawn ones; none for a poll that is not its newest."""
        rows = await self._run(TAKE, edge=edge, poll=poll)
        taken = [Taken(request_id, request, left_ms) for _, request_id, request, left_ms in rows if request is not None]
        return taken, [request_id for _, request_id, request, _ in rows if request is None][-MAX_POLLED:]

    async def put_back(self, letter: Taken) -> None:
        """Nobody got it after all."""
        await self._run(PUT_BACK, request_id=letter.request_id, request=letter.request)

    async def post(self, edge: str, request_id: str, request: bytes, *, expires_s: float) -> bool:
        """Leave a letter for an edge, and tell who holds its poll; False when nobody does or did."""
        return bool(await self._run(POST, edge=edge, request_id=request_id, request=request, expires_s=expires_s))

    async def answer(self, edge: str, request_id: str, reply: bytes) -> bool:
        """Leave a reply for who asked, and tell it; False for a letter that is none, another edge's, or answered."""
        return bool(await self._run(ANSWER, edge=edge, request_id=request_id, reply=reply))

    async def mark(self, request_id: str) -> None:
        """The reply came to who asked."""
        await self._run(MARK, request_id=request_id)

    async def known(self, edge: str, request_id: str) -> bool:
        """Whether somebody asked that of this edge, and has not ended."""
        return bool(await self._run(KNOWN, edge=edge, request_id=request_id))

    async def replies(self, request_ids: Sequence[str]) -> list[tuple[str, str, bytes]]:
        """Request, edge and reply of each of these that has one."""
        return [(request_id, edge, reply) for request_id, edge, reply in await self._run(REPLIES, request_ids=list(request_ids))]

    async def settle(self, request_id: str) -> None:
        """Delete an answered letter."""
        await self._run(SETTLE, request_id=request_id)

    async def withdraw(self, edge: str, request_id: str) -> None:
        """Take a letter back; an edge that has it already is told."""
        await self._run(WITHDRAW, edge=edge, request_id=request_id)

    async def forget(self, edge: str) -> None:
        """Drop all that there is of an edge, and tell every cloud."""
        await self._run(FORGET, edge=edge)

    async def live(self) -> None:
        """Tell that this cloud lives."""
        await self._run(LIVE)

    async def presence(self) -> dict[str, Presence]:
        """The edges that count as online at any cloud."""
        return {edge: Presence(poll, online_s, waits) for edge, poll, online_s, waits in await self._run(PRESENCE)}

    async def asked(self) -> dict[str, bool]:
        """The ids of what this cloud asked, and whether a reply waits here."""
        return dict(await self._run(ASKED))

    async def tidy(self) -> None:
        """End what clouds that died have left, unless another cloud is at it: the lock ends with its transaction or its connection."""
        with told():
            async with self._transaction() as connection:
                turn = await (await connection.execute(TIDY, self._always)).fetchone()
                for statement in TIDIED if turn and turn[0] else ():
                    await connection.execute(statement, self._always)

    async def _run(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run to its end, whoever is cancelled meanwhile: within psycopg a cancellation may be swallowed (``wait_for`` of Python 3.11)."""
        return await to_its_end(self._rows(statement, {**self._always, **values}))

    async def _rows(self, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        with told(), storable():
            async with self._transaction() if self._start else self._pool.connection() as connection:
                cursor = await connection.execute(statement, values)
                return await cursor.fetchall() if cursor.description else []

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncConnection]:
        async with self._pool.connection() as connection, connection.transaction():
            if self._start:
                await connection.execute(self._start)
            yield connection
