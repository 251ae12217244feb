"""Does what a scenario says, to a cluster that runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx2

from deploy.cluster.control import Command, Rows
from deploy.cluster.control import told as told_links
from deploy.cluster.errors import ClusterError
from deploy.cluster.runtimes import Fault
from deploy.lab.links import Hop, Last, Way, transfers
from deploy.lab.scenario import ALL, OF_LINKS, OF_SERVICES, QUESTIONS, Event, Scenario, steps
from deploy.lab.story import EventOutcome, Versions, answer_fault, answer_told

LOOK_S = 0.05
IN_STEP_S = 300.0  # documents are indexed and told within that time
ANSWER_S = 600.0  # an edge has its own, shorter deadline
SETTLED = "indexed"


@dataclass(frozen=True, slots=True)
class Stage:
    """A running cluster: its folder, where its services answer, and how a service is killed or paused."""

    folder: Path
    cloud: str
    edges: Mapping[str, str]  # URL by edge id
    inflict: Callable[[Fault, str], None]


@dataclass(slots=True)
class Played:
    """What has happened so far."""

    told: list[EventOutcome] = field(default_factory=list)
    acknowledged: list[tuple[str, str, str]] = field(default_factory=list)  # edge, document's id, name
    lost: list[str] = field(default_factory=list)  # names of those that are not indexed in the end
    in_step: dict[str, list[Versions]] = field(default_factory=dict)
    looks: dict[str, list[Versions]] = field(default_factory=dict)


class Player:
    """Plays one scenario on a stage. ``base``: the folder of its file."""

    def __init__(
        self, scenario: Scenario, stage: Stage, http: httpx2.AsyncClient, base: Path, tell: Callable[[EventOutcome], None]
    ) -> None:
        self._scenario, self._stage, self._http, self._base, self._tell = scenario, stage, http, base, tell
        self._began = 0.0
        self.played = Played()

    async def play(self) -> Played:
        """Wait until all edges are in step, let every event happen at its time, and see what is left of what was acknowledged."""
        await self._in_step(Event(do="in-step"))
        self._began = time.monotonic()
        for step in steps(self._scenario.event):
            async with asyncio.TaskGroup() as beside:
                for event in step:
                    beside.create_task(self._happen(event))
        for edge, document, name in self.played.acknowledged:
            row = await self._get(f"{self._stage.edges[edge]}/v1/documents/{document}")
            self.played.lost += [name] if row.get("status") != SETTLED else []
        return self.played

    async def _happen(self, event: Event) -> None:
        await asyncio.sleep(event.wait)
        doing: dict[str, Callable[[Event], Awaitable[EventOutcome | str]]] = {
            "add": self._add, "in-step": self._in_step, "look": self._look,
            **dict.fromkeys(OF_LINKS, self._shape), **dict.fromkeys(OF_SERVICES, self._befall), **dict.fromkeys(QUESTIONS, self._ask),
        }  # fmt: skip
        try:
            await self._once(event.once_sent, event.edge, "up", "bytes")
            await self._once(event.once_swallowed, event.edge, "down", "cut")
            for _ in range(event.times):
                began = time.monotonic()
                said = await doing[event.do](event)
                self._add_told(
                    said if isinstance(said, EventOutcome) else EventOutcome(event, began - self._began, time.monotonic() - began, said)
                )
        except (httpx2.HTTPError, ClusterError, TimeoutError) as error:
            began = time.monotonic()
            self._add_told(EventOutcome(event, began - self._began, 0.0, "failed", str(error) or type(error).__name__))

    def _add_told(self, told: EventOutcome) -> None:
        self.played.told.append(told)
        self._tell(told)

    async def _links(self, command: Command) -> Rows:
        return await asyncio.to_thread(told_links, self._stage.folder, command)

    async def _once(self, more: int, edge: str, way: Way, what: str) -> None:
        """Wait until the edge's link has counted so many more of what it counts that way."""
        if more:
            wanted = await self._count(edge, way, what) + more
            async with asyncio.timeout(IN_STEP_S):
                while await self._count(edge, way, what) < wanted:  # noqa: ASYNC110 - the links tell when they are asked
                    await asyncio.sleep(LOOK_S)

    async def _count(self, edge: str, way: Way, what: str) -> int:
        return int((await self._links(Command("stats", edge)))[0][way][what])

    async def _shape(self, event: Event) -> str:
        verb = cast("Any", event.do)
        rows = await self._links(Command(verb, event.edge, tuple(event.link.split())))
        return str(rows[0]["shape"]) + (", cut" if rows[0]["cut"] else "")

    async def _befall(self, event: Event) -> str:
        await asyncio.to_thread(self._stage.inflict, cast("Fault", event.do), event.edge)
        return "done"

    async def _ask(self, event: Event) -> EventOutcome:
        url, began = self._stage.edges[event.edge], time.monotonic()
        path, body = ("retrieve", {"mode": "cloud"}) if event.do == "retrieve" else ("query", {"mode": "auto"})
        reply = await self._post(f"{url}/v1/{path}", {"question": event.question, **body})
        seconds = time.monotonic() - began
        found = [Hop(**row) for row in await self._links(Command("hops", since=began))]
        said, fault = answer_told(reply, seconds), answer_fault(event.expect, reply, seconds)
        last: Last = "passages back" if event.do == "retrieve" else "answer send"
        return EventOutcome(event, began - self._began, seconds, said, fault, tuple(transfers(found, event.edge, last=last)))

    async def _add(self, event: Event) -> str:
        file = self._base / event.document
        name, text = file.name, file.read_text(encoding="utf-8")
        reply = await self._post(f"{self._stage.edges[event.edge]}/v1/documents", {"name": name, "text": text})
        if "error" in reply:
            raise ClusterError(str(reply["error"]))
        self.played.acknowledged.append((event.edge, str(reply["document_id"]), name))
        return f"{name} is acknowledged"

    async def _in_step(self, event: Event) -> str:
        """Wait until the cloud has of each edge what the edge has."""
        waiting = list(self._stage.edges) if event.edge == ALL else [event.edge]
        async with asyncio.timeout(IN_STEP_S):
            while waiting:
                for edge in [edge for edge in waiting if await self._is_in_step(edge)]:
                    waiting.remove(edge)
                await asyncio.sleep(LOOK_S)
        return "the cloud has what the edges have"

    async def _is_in_step(self, edge: str) -> bool:
        try:
            status = await self._get(f"{self._stage.edges[edge]}/v1/status")
            seen = await self._versions(edge)
        except httpx2.HTTPError:  # one that was killed is away for a while
            return False
        if not (status.get("settled") and seen.edge == seen.cloud):
            return False
        self.played.in_step.setdefault(edge, []).append(seen)
        return True

    async def _look(self, event: Event) -> str:
        edges = list(self._stage.edges) if event.edge == ALL else [event.edge]
        said = []
        for edge in edges:
            seen = await self._versions(edge)
            self.played.looks.setdefault(edge, []).append(seen)
            said.append(f"{edge} has version {seen.edge[0]}, the cloud {seen.cloud[0]}")
        return "; ".join(said)

    async def _versions(self, edge: str) -> Versions:
        own = await self._get(f"{self._stage.edges[edge]}/v1/summaries")
        rows = {row["edge"]: row for row in (await self._get(f"{self._stage.cloud}/v1/edges")).get("edges", ())}
        known = rows.get(edge, {"version": 0, "summaries": 0})
        return Versions((int(own["version"]), len(own["summaries"])), (int(known["version"]), int(known["summaries"])))

    async def _get(self, url: str) -> dict[str, Any]:
        return dict((await self._http.get(url)).raise_for_status().json())

    async def _post(self, url: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The reply, or as ``error`` what was refused and why."""
        response = await self._http.post(url, json=body, timeout=ANSWER_S)
        said = dict(response.json())
        return said if response.is_success else {"error": f"HTTP {response.status_code}: {said.get('detail', said.get('title', ''))}"}
