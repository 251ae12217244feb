"""The mailbox of clouds that share a PostgreSQL: an edge polls and replies at any of them, whichever asks (ADR 37)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from cloud_server.answering.mailbox import GRACE_S, Asker, already_answered
from cloud_server.database.letters import LetterTables, Presence, Taken, to_its_end
from cloud_server.database.notices import Notices
from cloud_server.registry.sealing import Sealer
from shared.errors import NotFound, StoreError
from shared.ports import Clock
from shared.records import EdgeId
from shared.wire import MAX_POLLED, EvidenceRequest

LOOK_S = 1.0  # what no notice has told is found as often
LOOK_WITHOUT_NOTICES_S = 0.25  # a question across sites takes two looks
ALIVE_S = 10.0  # a cloud that has said nothing for so long has ended
LOST = "what was asked of it was lost in the store"

log = logging.getLogger("dgrag.cloud.letters")


@dataclass(slots=True)
class _Box:
    poll: str = ""  # the poll held here; "": none
    begun: bool = False  # the other clouds know of it
    waiting: asyncio.Future[None] | None = None
    told: list[str] = field(default_factory=list)
    order: asyncio.Lock = field(default_factory=asyncio.Lock)  # polls begin and end in the tables as they do here, cancelled or not


class SharedMailbox:
    """Implements ``answering.mailbox.Mailbox`` over tables, which hold the truth, and notices, which make it fast.

    A notice that is lost costs a second: ``run`` looks into the tables as often. Bodies are sealed: the store cannot read them.
    """

    def __init__(
        self,
        tables: LetterTables,
        notices: Notices | None,
        sealer: Sealer,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._tables = tables
        self._sealer = sealer
        self._clock = clock
        self._new_id = new_id
        self._boxes: dict[EdgeId, _Box] = {}
        self._online: dict[EdgeId, float] = {}  # until when, in monotonic seconds
        self._counted: set[EdgeId] = set()  # since the last look began
        self._posted: dict[str, EdgeId] = {}  # letters of this cloud that wait for a reply
        self._work: set[asyncio.Task[None]] = set()
        self._asker: Asker | None = None
        self._gap = asyncio.Event()
        self._open = True
        self._look_s = LOOK_WITHOUT_NOTICES_S
        if notices is not None:
            self._look_s = LOOK_S
            self._subscribe(notices)

    def _subscribe(self, notices: Notices) -> None:
        notices.on("letter", lambda facts: self._wake(EdgeId(facts["edge"])))
        notices.on("release", lambda facts: self._release(EdgeId(facts["edge"]), facts["poll"]))
        notices.on("here", lambda facts: self._count(EdgeId(facts["edge"]), GRACE_S))
        notices.on("reply", lambda facts: self._soon(self._collect([facts["request"]])))
        notices.on("forget", lambda facts: self._forgotten(EdgeId(facts["edge"])))
        notices.on_gap(self._gap.set)

    def serve(self, asker: Asker) -> None:
        """As the port says."""
        self._asker = asker

    def online(self, edge: EdgeId) -> bool:
        """As the port says; what another cloud knows, a second later at most."""
        return self._online.get(edge, float("-inf")) >= self._clock.monotonic()

    async def poll(self, edge: EdgeId, *, wait_s: float) -> list[EvidenceRequest]:
        """As the port says. Raises StoreAway."""
        box = self._boxes.setdefault(edge, _Box())
        _end_wait(box)
        box.poll = poll = self._new_id()
        box.begun, box.waiting = False, (held := asyncio.get_running_loop().create_future())
        wait_s = wait_s if self._open else 0.0
        try:
            await to_its_end(self._begin(box, edge, poll, online_s=wait_s + GRACE_S))
            box.begun = True
            self._count(edge, wait_s + GRACE_S)
            requests, told = await self._take(edge, poll)
            if not requests and not told and wait_s > 0:
                await asyncio.wait({held}, timeout=wait_s)
                requests, told = await self._take(edge, poll) if box.poll == poll else ([], [])
            box.told = [*box.told, *told][-MAX_POLLED:]
            return requests
        finally:
            if box.poll == poll:
                box.poll, box.waiting = "", None
                self._count(edge, GRACE_S)
            self._soon(self._end(box, edge, poll))

    async def post(self, edge: EdgeId, request: EvidenceRequest) -> bool:
        """As the port says. Raises StoreAway."""
        sealed = self._sealer.sealed(request.model_dump_json().encode(), about=request.request_id)
        is_posted = await self._tables.post(edge, request.request_id, sealed, expires_s=request.deadline_ms / 1000)
        if is_posted:
            self._posted[request.request_id] = edge
        return is_posted

    async def forward(self, edge: EdgeId, request_id: str, reply: bytes, /) -> None:
        """As the port says. Raises StoreAway too."""
        if await self._tables.answer(edge, request_id, self._sealer.sealed(reply, about=f"{request_id} reply")):
            return
        if await self._tables.known(edge, request_id):
            raise already_answered(request_id)
        raise NotFound("request", request_id)

    def answered(self, request_id: str) -> None:
        """As the port says, a moment later."""
        self._soon(self._tables.mark(request_id))

    def settle(self, request_id: str) -> None:
        """As the port says, a moment later."""
        if self._posted.pop(request_id, None):
            self._soon(self._tables.settle(request_id))

    def withdraw(self, edge: EdgeId, request_id: str) -> None:
        """As the port says, a moment later."""
        self._posted.pop(request_id, None)
        self._soon(self._tables.withdraw(edge, request_id))

    def withdrawn(self, edge: EdgeId) -> list[str]:
        """As the port says."""
        box = self._boxes.get(edge, _Box())
        told, box.told = box.told, []
        return told

    async def forget(self, edge: EdgeId) -> None:
        """As the port says, at all clouds. Raises StoreAway."""
        self._forgotten(edge)
        await self._tables.forget(edge)

    def close(self) -> None:
        """As the port says."""
        self._open = False
        for box in self._boxes.values():
            _end_wait(box)

    async def open(self) -> None:
        """Connect, and tell the other clouds that this one lives."""
        await self._tables.open()
        await self._look()

    async def run(self) -> None:
        """Look into the tables, at once after notices were lost, until cancelled; then leave no trace in them."""
        try:
            while True:
                self._gap.clear()
                try:
                    async with asyncio.timeout(self._look_s):
                        await self._gap.wait()
                except TimeoutError:
                    pass
                await self._attempt(self._look())
        finally:
            if self._work:
                await asyncio.wait(self._work)
            await self._attempt(self._tables.close())

    async def _begin(self, box: _Box, edge: EdgeId, poll: str, *, online_s: float) -> None:
        async with box.order:
            await self._tables.begin(edge, poll, online_s=online_s)

    async def _end(self, box: _Box, edge: EdgeId, poll: str) -> None:
        async with box.order:
            await self._tables.end(edge, poll)

    async def _take(self, edge: EdgeId, poll: str) -> tuple[list[EvidenceRequest], list[str]]:
        """What waits for a poll, and the ids of what is withdrawn.

        A caller that goes while it is taken out leaves the letters to the edge's next poll.
        """
        taking = asyncio.ensure_future(self._tables.take(edge, poll))
        try:
            letters, told = await asyncio.shield(taking)
        except asyncio.CancelledError:
            self._soon(self._put_back(taking))
            raise
        return [request for letter in letters if letter.left_ms > 0 and (request := self._unsealed(letter))], told

    async def _put_back(self, taking: asyncio.Future[tuple[list[Taken], list[str]]]) -> None:
        for letter in (await taking)[0]:
            await self._tables.put_back(letter)

    def _unsealed(self, letter: Taken) -> EvidenceRequest | None:
        try:
            request = EvidenceRequest.model_validate_json(self._sealer.opened(letter.request, about=letter.request_id))
        except (StoreError, ValidationError) as error:  # damaged, or of a cloud of another release
            log.error("a request is left out: %s", type(error).__name__)
            return None
        return request.model_copy(update={"deadline_ms": letter.left_ms})

    async def _collect(self, request_ids: list[str]) -> None:
        """Hand the replies that other clouds took to who asked."""
        for request_id, edge, sealed in await self._tables.replies(request_ids):
            if self._asker is not None:
                try:
                    self._asker.arrived(EdgeId(edge), request_id, self._sealer.opened(sealed, about=f"{request_id} reply"))
                except (StoreError, ValidationError) as error:  # one reply keeps no other waiting
                    log.error("a reply cannot be read: %s", type(error).__name__)
                    self._asker.lost(EdgeId(edge), request_id, LOST)

    async def _look(self) -> None:
        """Say that this cloud lives, and bring it up to what the tables say."""
        await self._tables.live()
        held = {edge: box.poll for edge, box in self._boxes.items() if box.poll and box.begun}
        posted = dict(self._posted)
        self._counted.clear()
        presence = await self._tables.presence()
        now = self._clock.monotonic()
        since = {edge: self._online[edge] for edge in self._counted & self._online.keys()}
        self._online = {EdgeId(edge): now + seen.online_s for edge, seen in presence.items()} | since
        for edge, poll in held.items():
            self._compare(edge, poll, presence.get(edge))
        asked = await self._tables.asked()
        await self._collect([request_id for request_id in posted if asked.get(request_id)])
        for request_id in posted.keys() - asked.keys() & self._posted.keys():
            if self._asker is not None:
                self._asker.lost(posted[request_id], request_id, LOST)
        await self._tables.tidy()

    def _compare(self, edge: EdgeId, poll: str, seen: Presence | None) -> None:
        if seen is None or seen.poll != poll:
            self._release(edge, poll)
        elif seen.waits:
            self._wake(edge)

    def _forgotten(self, edge: EdgeId) -> None:
        self._online.pop(edge, None)
        if box := self._boxes.pop(edge, None):
            box.poll = ""
            _end_wait(box)
        if self._asker is not None:
            self._asker.give_up(edge)

    def _release(self, edge: EdgeId, poll: str) -> None:
        """End a poll that another one has followed."""
        box = self._boxes.get(edge)
        if box is not None and box.poll == poll:
            box.poll = ""
            _end_wait(box)

    def _wake(self, edge: EdgeId) -> None:
        if box := self._boxes.get(edge):
            _end_wait(box)

    def _count(self, edge: EdgeId, for_s: float) -> None:
        self._online[edge] = self._clock.monotonic() + for_s
        self._counted.add(edge)

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._attempt(work))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _attempt(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except StoreError as error:
            log.warning("the store does not pass letters on: %s", error)


def _end_wait(box: _Box) -> None:
    if box.waiting is not None and not box.waiting.done():
        box.waiting.set_result(None)
