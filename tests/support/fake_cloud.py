"""A cloud as an edge's link sees it, which remembers what it was told; and a link to it."""

import asyncio
import contextlib

from edge_node.cloud.link import CloudConnection
from edge_node.cloud.sync import LedgerReplicator, LinkState, SummaryReplicator
from edge_node.egress.ledger import Ledger
from edge_node.egress.memory_outbox import SharedMemories
from edge_node.egress.sharing import Served
from shared.errors import CloudRefused, CloudUnavailable
from shared.identity import make_identity
from shared.ports import SystemClock
from shared.wire import Countersigned, Enrolled, EvidenceReply, EvidenceRequest, PollReply, head_message

REQUEST = EvidenceRequest(request_id="r1", question="which lot?", budget_tokens=100, deadline_ms=2000)


class FakeCloud:
    """Implements what CloudLink and Sync call of CloudClient; remembers what it was told."""

    edge = "ward"

    def __init__(self, requests=()):
        self.requests = list(requests)
        self.deltas = []
        self.rules = []
        self.replies = {}
        self.said = {}
        self.refuse_deltas = []
        self.heads = []
        self.refuse_heads = []
        self.identity = make_identity()
        self.known = {}  # what it says to a greeting
        self.away = self.expelled = self.strange = False
        self.greetings = 0
        self.replied = asyncio.Event()
        self.pushed = asyncio.Event()

    async def greet(self):
        self.greetings += 1
        if self.strange:
            raise CloudRefused("who are you?", status=401, reason="unknown_key")
        if self.expelled:
            raise CloudRefused("ward was expelled", status=403, reason="expelled")
        if self.away:
            raise CloudUnavailable("away")
        return Enrolled(edge="ward", **self.known)

    async def push(self, delta, *, rule, **_):
        self.deltas.append(delta)
        self.rules.append(rule)
        if self.refuse_deltas:
            raise self.refuse_deltas.pop()
        self.pushed.set()
        return Enrolled(edge="ward", epoch=delta.epoch, version=delta.version, cloud_key=self.identity.public_key), 10

    async def poll(self, *, wait_s):
        if not self.requests:
            await asyncio.sleep(3600)
        return PollReply(requests=[self.requests.pop()])

    async def reply(self, request_id, reply, **said):
        self.replies[request_id] = reply
        self.said[request_id] = said
        self.replied.set()

    def countersign(self, head):
        message = head_message("ward", head, 5.0)
        return Countersigned(head=head, at=5.0, signature=self.identity.sign(message))

    async def head(self, head):
        if self.refuse_heads:
            raise self.refuse_heads.pop()
        self.heads.append(head)
        return self.countersign(head)

    async def newest_head(self):
        return self.countersign(self.heads[-1]) if self.heads else None


class Policy:
    """Implements Release."""

    def __init__(self):
        self.in_force = True

    def is_told(self):
        return self.in_force

    def rule(self):
        return "summaries; policy 1"


def link_of(cloud, graph, serve=None, *, points=None, join=None, policy=None, **more):
    """A link, and the ledger of its store."""
    state, ledger = LinkState(), Ledger(graph.database, SystemClock())
    sync = SummaryReplicator(cloud, graph, policy or Policy(), state)
    heads = LedgerReplicator(cloud, ledger, graph, SharedMemories(graph.database), lambda: cloud.identity.public_key)
    return CloudConnection(cloud, [sync], heads, serve or found, join or not_invited, state, points=points or found, **more)


async def not_invited():
    raise CloudRefused("ask for an invitation", status=401, reason="not_joined")


@contextlib.asynccontextmanager
async def running(link):
    task = asyncio.create_task(link.run())
    try:
        async with asyncio.timeout(10):
            yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def found(request):
    return Served(EvidenceReply(refused="nothing here"), "labels.public")


def about_reports(request_id, deadline_ms=60_000):
    return REQUEST.model_copy(update={"request_id": request_id, "requester": request_id, "task": "reports", "deadline_ms": deadline_ms})


class Lingering:
    """Hangs, and goes on for a while once it is cancelled."""

    def __init__(self, told):
        self.told, self.asked, self.may_end = told, asyncio.Event(), asyncio.Event()

    async def __call__(self, request):
        self.asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.told.append("cancelled")
            await self.may_end.wait()
            self.told.append("ended")
