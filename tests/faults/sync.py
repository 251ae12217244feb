"""R4: whatever befalls the messages between a real edge's store and a real cloud, the cloud ends with what the edge has.

``asyncio.run(campaign(folder, points))`` returns what was wrong at which point. Faults come at the nth message that is not a poll.
"""

import asyncio
import contextlib
import random
from functools import partial

import httpx2

from edge_node.cloud.client import CloudClient
from edge_node.cloud.link import CloudConnection
from edge_node.cloud.membership import Membership, rejoin
from edge_node.cloud.sync import LedgerReplicator, LinkState, SummaryReplicator
from edge_node.database.backup import back_up
from edge_node.database.schema import Database
from edge_node.egress.ledger import Ledger
from edge_node.egress.memory_outbox import SharedMemories
from edge_node.graph.store import GraphStore
from edge_node.maintenance import restore
from shared.http.open_mode import CALLER
from shared.limits import Breaker, RetryBudget
from shared.ports import SystemClock
from tests.support.federation import federation_cloud
from tests.support.partition import commit_texts
from tests.support.waiting import until

FAULTS = ("drop request", "drop response", "duplicate", "delay", "cut", "restart edge", "restart cloud", "restore edge")
CUT = 4  # messages that are lost when the line is cut
LATE = (3, 8, 1000)  # messages that overtake a delayed one; the last: all of them
STEPS = 8


class Everything:
    """Implements Release: a policy that never changes."""

    def is_told(self):
        return True

    def rule(self):
        return "all"


class Wire(httpx2.AsyncBaseTransport):
    """Delivers to the cloud that runs now; ``plan`` says what befalls the nth message."""

    def __init__(self, world, rng):
        self.world = world
        self.rng = rng
        self.plan = {}
        self.count = 0
        self.cut = 0
        self.delayed = []  # (after which message, request)

    async def handle_async_request(self, request):
        self.count += 1
        await self.late(self.count)
        fault = self.plan.pop(self.count, "")
        self.cut = CUT if fault == "cut" else self.cut
        if self.cut or fault == "drop request":
            self.cut = max(0, self.cut - 1)
            raise httpx2.ConnectError("lost", request=request)
        if fault == "delay":
            self.delayed.append((self.count + self.rng.choice(LATE), await copy_of(request)))
            raise httpx2.ReadTimeout("late", request=request)
        if fault.startswith("re"):
            self.world.wanted.append(fault)
        copy = await copy_of(request)
        response = await self.world.deliver(request)
        if fault == "duplicate":
            await self.world.deliver(copy)
        if fault == "drop response":
            raise httpx2.ReadError("lost", request=request)
        return response

    async def late(self, now):
        """Deliver what is overdue."""
        due = [request for after, request in self.delayed if after <= now]
        self.delayed = [(after, request) for after, request in self.delayed if after > now]
        for request in due:
            await self.world.deliver(request)


async def copy_of(request):
    return httpx2.Request(request.method, request.url, headers=request.headers, content=await request.aread())


class World:
    """One cloud, and the edge of this trial; both can be ended and started again on their folders."""

    def __init__(self, folder):
        self.folder = folder
        self.wanted = []
        self.cloud_stack = contextlib.AsyncExitStack()

    async def start_cloud(self):
        await self.cloud_stack.aclose()
        self.cloud, app = await self.cloud_stack.enter_async_context(federation_cloud(self.folder / "cloud"))
        self._transport = httpx2.ASGITransport(app)

    async def deliver(self, request):
        return await self._transport.handle_async_request(request)

    def start_edge(self, name, wire):
        self.name, self.wire, self.home = name, wire, self.folder / name
        self.database = Database(self.home / "edge.db")
        self.graph, state = GraphStore(self.database), LinkState()
        ledger, membership = Ledger(self.database, SystemClock()), Membership(self.home)
        http = httpx2.AsyncClient(headers=CALLER, transport=wire, base_url="http://127.0.0.1", auth=membership)
        client = CloudClient(http, name, ledger, Breaker(3, 30.0, SystemClock()), patience_s=0.9, retries=RetryBudget(reserve=100))
        client.poll = held
        sync = SummaryReplicator(client, self.graph, Everything(), state)
        heads = LedgerReplicator(client, ledger, self.graph, SharedMemories(self.database), membership.cloud_key)
        self.link = CloudConnection(client, [sync], heads, None, partial(rejoin, client, membership), state, points=None)
        self.task = asyncio.create_task(self.link.run())

    async def stop_edge(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        self.database.close()

    async def befall(self, fault):
        if fault == "restart cloud":
            await self.start_cloud()
            return
        await self.stop_edge()
        if fault == "restore edge" and (self.home / "backup").exists():
            restore(self.home / "backup", self.home)
        self.start_edge(self.name, self.wire)

    def there(self):
        """What the cloud has of the edge."""
        rows = self.cloud.database.rows("SELECT summary_id, text FROM summaries WHERE edge = ?", (self.name,))
        return {row[0]: row[1] for row in rows}

    def here(self):
        return {summary.summary_id: summary.text for summary in self.graph.summaries()}


async def held(**_):
    await asyncio.Event().wait()


async def trial(world, name, rng, faults, each):
    """A life with faults at up to ``each`` messages; returns what is wrong after it has healed."""
    wire = Wire(world, rng)
    wire.plan = {rng.randrange(1, 25): rng.choice(faults) for _ in range(each)}
    world.start_edge(name, wire)
    texts = {}
    for step in range(STEPS):
        key = f"s{rng.randrange(5)}"
        texts = dict(world.here())
        texts[key] = f"{name} {step} {key} tells of something"
        if rng.random() < 0.4:
            texts.pop(rng.choice(sorted(texts)))
        commit_texts(world.graph, texts)
        if step == 1:
            back_up(world.home, world.home / "backup")
        world.link.wake()
        if rng.random() < 0.7:
            await until(lambda: world.link.in_sync or world.wanted)
        while world.wanted:
            await world.befall(world.wanted.pop())
    wire.plan, wire.cut = {}, 0
    world.link.wake()
    await until(lambda: world.link.in_sync)
    await wire.late(10**9)
    await until(lambda: world.link.in_sync)
    return verdict(world)


def verdict(world):
    here, there = world.here(), world.there()
    row = world.cloud.registry.get(world.name)
    found = []
    if here != there:
        found.append(f"the cloud has {sorted(there.items())}, the edge {sorted(here.items())}")
    if (row.epoch, row.version) != (world.graph.epoch(), world.graph.version()):
        found.append(f"the cloud knows {row.version} of {row.epoch}, the edge has {world.graph.version()} of {world.graph.epoch()}")
    found += [f"ledger: {fault}" for fault in Ledger(world.database, SystemClock()).verify()]
    return found


async def campaign(folder, points, *, seed=7, faults=FAULTS, each=4):
    """What was wrong, by point; nothing: the goal is met."""
    world, rng, wrong = World(folder), random.Random(seed), {}
    await world.start_cloud()
    try:
        for point in range(points):
            found = await trial(world, f"edge-{point}", rng, faults, each)
            await world.stop_edge()
            if found:
                wrong[point] = found
    finally:
        await world.cloud_stack.aclose()
    return wrong
