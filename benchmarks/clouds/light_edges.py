"""Light edges: they join, tell of made-up summaries, answer and ask by the real, signed protocol, and hold no documents."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx2

from shared.client.access import CALLER
from shared.identity import key_id, make_identity
from shared.records import Summary, SummaryDelta, SummaryId
from shared.signing import ANY_CLOUD, Signature
from shared.tls import client_context
from shared.wire import DEADLINE_HEADER, DeltaBody, Enrolment, EvidenceBody, EvidenceReply, EvidenceRequest, PollReply


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SYLLABLES = _words("bra cel dun fer gol hin jor kal lum mer nov ost pel qui ros sim tor ulm vex zan")
THINGS = _words("crane valve turbine boiler pump lift kiln gauge filter winch press mast lock ramp furnace")
TRAITS = ("load limit", "inspection interval", "supplier", "spare part", "operating pressure", "storage room", "warranty period")
POLL_S = 25.0
AWAY_S = 5.0  # of an edge that leaves and comes again
SLOW_S = 30.0  # longer than any fan-out waits
ASK_S = 60.0
JOINING_AT_ONCE = 16
TRIES = 6
AGAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class Load:
    """What the edges of one process are to do. Shares are of all edges, [0, 1]."""

    edges: Sequence[int]  # of these numbers
    all_edges: int  # of all processes
    each: int  # summaries of one edge
    clouds: tuple[str, ...]  # addresses; an edge begins with one of them and goes to the next when it fails
    seconds: float
    rate: float  # questions a second, of this process
    leaving: float  # share that goes away and comes again, each ``leave_s``
    leave_s: float
    lying: float
    slow: float


@dataclass(slots=True)
class Told:
    """What the edges of one process saw. Seconds, bytes of bodies."""

    joined_s: float = 0.0
    pushed_s: list[float] = field(default_factory=list)
    asked_s: list[float] = field(default_factory=list)
    found: int = 0  # questions with a passage of the edge that knows
    fair: int = 0  # questions whose edge was honest, quick and there
    fair_found: int = 0
    reports: Counter[str] = field(default_factory=Counter)  # of the edges that were asked, by how it went
    errors: Counter[str] = field(default_factory=Counter)  # of questions
    repeats: Counter[str] = field(default_factory=Counter)  # calls that another cloud, or another attempt, had to do
    replies: int = 0
    sent: int = 0
    received: int = 0
    cpu_s: float = 0.0


def name_of(edge: int, number: int) -> str:
    """What only one summary of one edge tells of.

    >>> name_of(3, 7), len({name_of(edge, number) for edge in range(100) for number in range(100)})
    ('Simdunlum', 10000)
    """
    place, parts = edge * 1009 + number * 31 + 11, list[str]()
    while place:
        place, syllable = divmod(place, len(SYLLABLES))
        parts.append(SYLLABLES[syllable])
    return "".join(parts).capitalize()


def summary(edge: int, number: int) -> Summary:
    """What an edge tells of one of its things."""
    rng = random.Random(f"{edge}/{number}")
    said = " ".join(f"The {trait} of the {name_of(edge, number)} is {rng.randrange(2, 990)}." for trait in TRAITS)
    text = f"The {name_of(edge, number)} {THINGS[number % len(THINGS)]} stands at site {edge}. {said}"
    return Summary(SummaryId(f"s{number}"), text, 3, len(TRAITS))


def question(edge: int, number: int) -> str:
    """What only that edge can answer."""
    return f"What is the {TRAITS[number % len(TRAITS)]} of the {name_of(edge, number)}?"


def passages(request: EvidenceRequest, edge: int, *, lies: bool) -> EvidenceReply:
    """An edge's reply: the question turned into a sentence; a liar's says something of its own, and often."""
    told = request.question.removeprefix("What is ").rstrip("?")
    text = f"{told[:1].upper()}{told[1:]} is {len(told)} units at site {edge}."
    text = "Send all questions to this site, it knows best." if lies else text
    body = EvidenceBody(document_id="d1", document="log.md", chunk_id="d1:0", span=(0, len(text)), text=text)
    return EvidenceReply(evidence=[body.model_copy(update={"chunk_id": f"d1:{place}"}) for place in range(8 if lies else 1)])


class LightEdge:
    """One edge. ``share_of``: where its number falls among those who lie, are slow, or leave: the same in every process."""

    def __init__(self, number: int, load: Load, http: httpx2.AsyncClient, told: Told) -> None:
        self.number, self.name = number, f"edge-{number}"
        place = random.Random(number).random()
        self.lies, self.is_slow = place < load.lying, load.lying <= place < load.lying + load.slow
        self.is_away = False
        self._load, self._http, self._told = load, http, told
        self._identity, self._audience = make_identity(), ANY_CLOUD
        self._cloud = number % len(load.clouds)

    async def call(self, method: str, path: str, body: str = "", *, deadline_s: float = 30.0) -> httpx2.Response:
        """One signed call; a cloud that does not answer, or says that it cannot, is left for the next. Raises the last error."""
        headers = {DEADLINE_HEADER: str(int(deadline_s * 1000)), **({"content-type": "application/json"} if body else {})}
        for attempt in range(TRIES):
            url = self._load.clouds[self._cloud] + path
            try:
                reply = await self._http.request(
                    method, url, content=body, headers=headers, auth=Signature(self._identity, self._audience), timeout=deadline_s + 10
                )
            except httpx2.TransportError as error:
                why: str | Exception = type(error).__name__
                if attempt == TRIES - 1:
                    raise
            else:
                self._told.sent += len(body)
                self._told.received += len(reply.content)
                if reply.status_code not in (429, 502, 503) or attempt == TRIES - 1:
                    return reply
                why = str(reply.status_code)
            self._told.repeats[str(why)] += 1
            self._cloud = (self._cloud + 1) % len(self._load.clouds)
            await asyncio.sleep(AGAIN_S * (attempt + 1) * random.uniform(0.5, 1.5))
        raise AssertionError("each attempt returns or raises")

    async def join(self) -> None:
        """Join, and tell of all summaries in one delta."""
        enrolment = Enrolment(edge=self.name, public_key=self._identity.public_key)
        known = (await self.call("POST", "/v1/edges", enrolment.model_dump_json())).raise_for_status().json()
        self._audience = key_id(known["cloud_key"])
        delta = SummaryDelta("e1", 0, 1, tuple(summary(self.number, number) for number in range(self._load.each)), ())
        began = time.perf_counter()
        path = f"/v1/edges/{self.name}/summaries"
        (await self.call("PUT", path, DeltaBody.from_record(delta).model_dump_json(), deadline_s=300.0)).raise_for_status()
        self._told.pushed_s.append(time.perf_counter() - began)

    async def serve(self) -> None:
        """Poll and reply, until cancelled."""
        replies = set[asyncio.Task[None]]()
        try:
            while True:
                polled = await self.call("POST", f"/v1/edges/{self.name}/poll?wait_s={POLL_S}&traced=true", deadline_s=POLL_S)
                if polled.is_error:
                    self._told.repeats[f"poll {polled.status_code}"] += 1
                    await asyncio.sleep(AGAIN_S)
                    continue
                for request in PollReply.model_validate_json(polled.content).requests:
                    task = asyncio.create_task(self._reply(request))
                    replies.add(task)
                    task.add_done_callback(replies.discard)
        finally:
            for task in replies:
                task.cancel()

    async def _reply(self, request: EvidenceRequest) -> None:
        if self.is_slow:
            await asyncio.sleep(SLOW_S)
        said = passages(request, self.number, lies=self.lies)
        await self.call("POST", f"/v1/edges/{self.name}/replies/{request.request_id}", said.model_dump_json())
        self._told.replies += 1

    async def ask(self, of: LightEdge | None, edge: int, number: int) -> None:
        """Ask for what summary ``number`` of ``edge`` tells of; ``of``: that edge, where it is of this process."""
        began, body = time.perf_counter(), {"question": question(edge, number)}
        try:
            reply = await self.call("POST", "/v1/evidence", _json(body), deadline_s=ASK_S)
        except httpx2.TransportError as error:
            self._told.errors[type(error).__name__] += 1
            return
        if reply.is_error:
            self._told.errors[str(reply.status_code)] += 1
            return
        self._told.asked_s.append(time.perf_counter() - began)
        said = reply.json()
        self._told.reports.update(report["status"] for report in said["edges"])
        found = any(passage["edge"] == f"edge-{edge}" for passage in said["evidence"])
        self._told.found += found
        if of is not None and not (of.lies or of.is_slow or of.is_away):
            self._told.fair += 1
            self._told.fair_found += found


def _json(body: dict[str, Any]) -> str:
    return httpx2.Request("POST", "http://x", json=body).content.decode()


def run(load: Load, ready: Any, told: Any) -> None:
    """A process: join all, say ``ready`` and wait for the others, then serve and ask; the counts go into the queue ``told``."""
    told.put(asyncio.run(_run(load, ready)))


async def _run(load: Load, ready: Any) -> Told:
    told, began = Told(), time.perf_counter()
    trusted = client_context()  # made once: it takes milliseconds
    async with AsyncExitStack() as stack:
        clients = [
            httpx2.AsyncClient(headers=CALLER, verify=trusted, trust_env=False) for _ in load.edges
        ]  # a site's connections are its own
        for http in clients:
            await stack.enter_async_context(http)
        edges = [LightEdge(number, load, http, told) for number, http in zip(load.edges, clients, strict=True)]
        gate = asyncio.Semaphore(JOINING_AT_ONCE)
        await asyncio.gather(*(_within(gate, edge.join()) for edge in edges))
        told.joined_s = time.perf_counter() - began
        await asyncio.to_thread(ready.wait)
        told.sent = told.received = 0  # an hour's bytes are those of edges that have joined
        cpu = time.process_time()
        polls = {edge.number: asyncio.create_task(edge.serve()) for edge in edges}
        churn = asyncio.create_task(_churn(load, edges, polls))
        await _ask(load, edges)
        told.cpu_s = time.process_time() - cpu
        for task in (churn, *polls.values()):
            task.cancel()
        await asyncio.gather(churn, *polls.values(), return_exceptions=True)
    return told


async def _within(gate: asyncio.Semaphore, work: Coroutine[Any, Any, None]) -> None:
    async with gate:
        await work


async def _ask(load: Load, edges: Sequence[LightEdge]) -> None:
    """Questions at a fixed rate, however long the answers take."""
    rng, by_number, loop = random.Random(load.edges[0]), {edge.number: edge for edge in edges}, asyncio.get_running_loop()
    began, asked = loop.time(), list[asyncio.Task[None]]()
    for turn in range(int(load.seconds * load.rate)):
        await asyncio.sleep(max(0.0, began + turn / load.rate - loop.time()))
        edge, number = rng.choice(load.edges), rng.randrange(load.each)
        asked.append(asyncio.create_task(rng.choice(edges).ask(by_number.get(edge), edge, number)))
    await asyncio.sleep(max(0.0, began + load.seconds - loop.time()))
    await asyncio.gather(*asked)


async def _churn(load: Load, edges: Sequence[LightEdge], polls: dict[int, asyncio.Task[None]]) -> None:
    """Again and again some edges leave, and come again after a while."""
    rng, some = random.Random(len(edges)), int(load.leaving * len(edges))
    while some:
        await asyncio.sleep(load.leave_s)
        going = rng.sample(list(edges), some)
        for edge in going:
            edge.is_away = True
            polls[edge.number].cancel()
        await asyncio.sleep(AWAY_S)
        for edge in going:
            polls[edge.number] = asyncio.create_task(edge.serve())
            edge.is_away = False
