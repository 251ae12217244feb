"""The cloud's REST API (design §11): routes translate, and do nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI

from cloud_server.api import edges, operators, questions, service
from cloud_server.api.access import GuardedRoute
from cloud_server.api.console import federation, invite, match
from cloud_server.api.console.access import KEYS, ConsoleRoute, cloud_pages
from cloud_server.build import Cloud
from cloud_server.database.opening import ring_in
from cloud_server.database.port import SharedDatabase
from cloud_server.registry.sealing import Sealer
from cloud_server.registry.sessions import SharedSessions
from shared.admission import SEARCH_GUESS_S, Admission
from shared.http.background import at_work
from shared.http.caching import CacheHeaders
from shared.http.console.keys import key_pages
from shared.http.console.routes import console_problem, console_router
from shared.http.console.sessions import SharedSignIn
from shared.http.docs import docs_router
from shared.http.keyring import KeyRing
from shared.http.keys import keys_router
from shared.http.middleware import AccessLog
from shared.http.problems import install_problems
from shared.http.service import TELEMETRY_OFF, browser_sessions, doorkeeper
from shared.ports import Clock, SystemClock
from shared.telemetry.correlation import Correlation, Recorder
from shared.telemetry.metrics import MetricReading, Scrape, each, single, turns_of
from shared.wire import EdgeView

access = logging.getLogger("dgrag.cloud.access")
STATES = ("online", "offline", "quarantined")


class CloudReadings:
    """Gauges of one cloud. The ids of edges that joined are the only labels that are not ours; who is expelled is gone from them."""

    def __init__(self, cloud: Cloud, turns: Mapping[str, Admission], clock: Clock) -> None:
        """``clock``: the one that says when an edge was seen."""
        self._cloud = cloud
        self._turns = turns
        self._clock = clock

    async def read(self) -> tuple[MetricReading, ...]:
        """All gauges. Raises as the store."""
        edges = await asyncio.to_thread(self._cloud.edges)
        stored = await asyncio.to_thread(self._cloud.database.size)
        return (
            *readings_of(edges, now=self._clock.now()),
            single("dgrag_store_bytes", "Bytes of the store.", stored),
            turns_of(self._turns),
        )


def readings_of(edges: list[EdgeView], *, now: float) -> tuple[MetricReading, ...]:
    """What can be said of the edges; ``now`` in seconds since the epoch."""
    states = [_state(edge) for edge in edges]
    seen = {edge.edge: max(0.0, now - edge.last_seen) for edge in edges}
    told = sum(edge.memories for edge in edges)
    return (
        each("dgrag_edges", "Edges that joined.", "state", {state: states.count(state) for state in STATES}),
        single("dgrag_summaries", "Summaries of all edges.", sum(edge.summaries for edge in edges)),
        each("dgrag_memories", "Memories that edges told of.", "kind", {"told": told}),
        each("dgrag_edge_seconds_since_seen", "Since an edge spoke last.", "edge", seen),
    )


def _state(edge: EdgeView) -> str:
    return "quarantined" if edge.quarantined else "online" if edge.online else "offline"


def shared_sign_in(cloud: Cloud) -> SharedSignIn | None:
    """Who has signed in at one cloud is known to all of its store; None: there is no other."""
    if not isinstance(cloud.database, SharedDatabase):
        return None
    return SharedSignIn(SharedSessions(cloud.database), Sealer(cloud.credentials.identity).key_for("console"))


def create_app(cloud: Cloud, recorder: Recorder | None = None) -> FastAPI:
    """The app of one cloud, behind a doorkeeper; its index is filled when the app starts, its store closed when it stops.

    ``recorder``: of spans; it is closed too.
    """
    settings = cloud.settings
    ring = ring_in(settings.state_dir, cloud.database)
    key_id, shared = cloud.credentials.identity.key_id, shared_sign_in(cloud)
    sessions = browser_sessions(settings, ring, kind="cloud", name="dgrag", key_id=key_id, shared=shared)
    door = doorkeeper(settings, ring, cloud.credentials.authenticator, sessions=sessions)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await cloud.open()
        app.state.ready = True
        async with at_work(app, cloud.background):
            yield
            app.state.ready = False
            cloud.mailbox.close()
        await asyncio.to_thread(cloud.close)
        door.close()
        if recorder is not None:
            await asyncio.to_thread(recorder.close)

    app = FastAPI(title="DGRAG cloud", lifespan=lifespan, redoc_url=None, redirect_slashes=False, openapi_url=None, telemetry=TELEMETRY_OFF)
    app.state.cloud, app.state.ready, app.state.healthy, app.state.guard = cloud, False, True, door
    app.state.sessions, app.state.pages = sessions, cloud_pages(settings, sessions)
    app.state.admission = Admission(at_once=settings.questions_at_once, waiting=settings.questions_waiting)
    app.state.search_admission = Admission(
        at_once=settings.searches_at_once, waiting=settings.questions_waiting, first_guess_s=SEARCH_GUESS_S
    )
    app.state.global_admission = Admission(at_once=settings.global_questions_at_once, waiting=settings.questions_waiting)
    turns = {"question": app.state.admission, "search": app.state.search_admission, "global": app.state.global_admission}
    app.state.scrape = Scrape(cloud.meter, CloudReadings(cloud, turns, cloud.clock).read, cloud.clock)
    _include_routes(app, ring)
    install_problems(app, max_body_bytes=settings.max_body_bytes, page=console_problem)
    app.add_middleware(CacheHeaders)
    app.add_middleware(AccessLog, meter=cloud.meter, log=access)
    app.add_middleware(Correlation, recorder=recorder)
    return app


def _include_routes(app: FastAPI, ring: KeyRing) -> None:
    clock = SystemClock()
    app.include_router(docs_router(GuardedRoute))
    app.include_router(keys_router(GuardedRoute, ring, clock))
    for router in (edges.router, edges.replies, operators.router, questions.router, service.router):
        app.include_router(router)
    for pages in (federation.router, match.router, invite.router):
        app.include_router(pages)
    for pages in (console_router(ConsoleRoute), key_pages(ConsoleRoute, KEYS, ring, clock)):
        app.include_router(pages)
