"""Held polls: requests wait here for an edge, or an edge waits here for requests. The cloud never dials an edge."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from shared.errors import Conflict, NotFound
from shared.ports import Clock
from shared.records import EdgeId
from shared.wire import MAX_POLLED, EvidenceRequest

GRACE_S = 5.0  # an edge between two polls counts as online for so long


@dataclass(frozen=True, slots=True)
class _Letter:
    request: EvidenceRequest
    expires: float  # monotonic seconds


@dataclass(slots=True)
class _Box:
    letters: dict[str, _Letter] = field(default_factory=dict)  # by request id, oldest first
    withdrawn: dict[str, None] = field(default_factory=dict)  # ids of requests that the edge has, oldest first; each ends one poll …
    told: list[str] = field(default_factory=list)  # … and is told in the answer to it
    waiting: asyncio.Future[None] | None = None  # the poll held now
    last_poll: float = float("-inf")  # monotonic seconds, when the last poll ended


class Asker(Protocol):
    """Who posts requests; it is told what happens to them at other clouds. What it does not wait for, it ignores."""

    def arrived(self, edge: EdgeId, request_id: str, reply: bytes) -> None:
        """A reply, as another cloud has put it into ``Mailbox.forward``."""

    def lost(self, edge: EdgeId, request_id: str, reason: str) -> None:
        """No reply will come."""

    def give_up(self, edge: EdgeId) -> None:
        """An edge was expelled."""


class Mailbox(Protocol):
    """One box an edge. All methods belong to the event loop's thread; ``online``, which only looks, to any."""

    def serve(self, asker: Asker) -> None:
        """Tell this asker; before anything else."""

    def online(self, edge: EdgeId) -> bool:
        """Whether the edge holds a poll, or did within the last seconds."""

    async def poll(self, edge: EdgeId, *, wait_s: float) -> list[EvidenceRequest]:
        """The requests that wait for this edge, at once; else those that come within ``wait_s``; else none.

        What is ``withdrawn`` ends the wait too. A newer poll of the same edge releases this one, empty-handed: the older connection is
        likely dead.
        """

    async def post(self, edge: EdgeId, request: EvidenceRequest) -> bool:
        """Hand a request to an edge; False when it is offline, so that nobody waits for it."""

    async def forward(self, edge: EdgeId, request_id: str, reply: bytes, /) -> None:
        """Pass a reply on to the cloud that asked. Raises NotFound and Conflict as ``FanOut.deliver``."""

    def answered(self, request_id: str) -> None:
        """The reply came to the asker itself: no cloud takes a second one."""

    def settle(self, request_id: str) -> None:
        """Nobody waits for an answered request any more."""

    def withdraw(self, edge: EdgeId, request_id: str) -> None:
        """Take back a request that nobody waits for any more; an edge that has it already is told, of the last ``MAX_POLLED`` such ones."""

    def withdrawn(self, edge: EdgeId) -> list[str]:
        """Take out the ids that ended a poll; should the line break then, the edge's own deadline ends what it does for nobody."""

    async def forget(self, edge: EdgeId) -> None:
        """Release an expelled edge's poll and drop its box; nobody waits for it any longer."""

    def close(self) -> None:
        """Release every held poll at once and hold no more: the cloud stops."""

    async def open(self) -> None:
        """Begin. Raises StoreError."""

    async def run(self) -> None:
        """Keep in step with other clouds, until cancelled."""


class LocalMailbox:
    """In memory, for a cloud that is one process. Implements ``Mailbox``."""

    def __init__(self, clock: Clock, *, grace_s: float = GRACE_S) -> None:
        self._clock = clock
        self._grace_s = grace_s
        self._boxes: dict[EdgeId, _Box] = {}
        self._open = True
        self._asker: Asker | None = None

    def serve(self, asker: Asker) -> None:
        """As the port says."""
        self._asker = asker

    def online(self, edge: EdgeId) -> bool:
        """As the port says."""
        box = self._boxes.get(edge)
        return box is not None and (box.waiting is not None or self._clock.monotonic() - box.last_poll <= self._grace_s)

    async def poll(self, edge: EdgeId, *, wait_s: float) -> list[EvidenceRequest]:
        """As the port says."""
        box = self._boxes.setdefault(edge, _Box())
        _release(box)
        if not box.letters and not box.withdrawn and self._open and wait_s > 0:
            box.waiting = held = asyncio.get_running_loop().create_future()
            try:
                await asyncio.wait({held}, timeout=wait_s)
            finally:
                if box.waiting is held:
                    box.waiting = None
                    box.last_poll = self._clock.monotonic()
            if box.waiting is not None or self._boxes.get(edge) is not box:
                return []
        box.last_poll = self._clock.monotonic()
        box.told = [*box.told, *box.withdrawn][-MAX_POLLED:]
        box.withdrawn.clear()
        return self._empty(box)

    async def post(self, edge: EdgeId, request: EvidenceRequest) -> bool:
        """As the port says."""
        if not self.online(edge):
            return False
        box = self._boxes[edge]
        box.letters[request.request_id] = _Letter(request, self._clock.monotonic() + request.deadline_ms / 1000)
        _wake(box)
        return True

    async def forward(self, _edge: EdgeId, request_id: str, _reply: bytes, /) -> None:
        """There is no other cloud that might have asked. Raises NotFound."""
        raise NotFound("request", request_id)

    def answered(self, request_id: str) -> None:
        """The asker knows."""

    def settle(self, request_id: str) -> None:
        """Nothing is kept of it."""

    def withdraw(self, edge: EdgeId, request_id: str) -> None:
        """As the port says."""
        box = self._boxes.get(edge)
        if box is None:
            return
        if request_id in box.letters:
            del box.letters[request_id]
            return
        box.withdrawn[request_id] = None
        if len(box.withdrawn) > MAX_POLLED:
            del box.withdrawn[next(iter(box.withdrawn))]
        _wake(box)

    def withdrawn(self, edge: EdgeId) -> list[str]:
        """As the port says."""
        box = self._boxes.get(edge)
        if box is None:
            return []
        told, box.told = box.told, []
        return told

    async def forget(self, edge: EdgeId) -> None:
        """As the port says."""
        if box := self._boxes.pop(edge, None):
            _release(box)
        if self._asker is not None:
            self._asker.give_up(edge)

    def close(self) -> None:
        """As the port says."""
        self._open = False
        for box in self._boxes.values():
            _release(box)

    async def open(self) -> None:
        """There is nothing to begin."""

    async def run(self) -> None:
        """There is no other cloud."""

    def _empty(self, box: _Box) -> list[EvidenceRequest]:
        """Take out as many as one answer holds; each tells the time that is left now, and one whose time has passed is dropped."""
        now = self._clock.monotonic()
        taken = [box.letters.pop(request_id) for request_id in list(box.letters)[:MAX_POLLED]]
        left = [(letter.request, int((letter.expires - now) * 1000)) for letter in taken]
        return [request.model_copy(update={"deadline_ms": ms}) for request, ms in left if ms > 0]


def _wake(box: _Box) -> None:
    if box.waiting is not None and not box.waiting.done():
        box.waiting.set_result(None)


def _release(box: _Box) -> None:
    _wake(box)
    box.waiting = None


def already_answered(request_id: str) -> Conflict:
    """What the second reply to a request gets."""
    return Conflict(f"request {request_id!r} is already answered", next_step="send each reply once")
