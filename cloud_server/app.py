"""The cloud's REST API (design §11): routes translate, and do nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from cloud_server.build import Cloud
from cloud_server.metrics import CloudReadings
from cloud_server.routes import edges, operators, questions, service
from cloud_server.routes.access import GuardedRoute
from shared.access_log import AccessLog
from shared.admission import Admission
from shared.correlation import Correlation, Recorder
from shared.docs import docs_router
from shared.http_problems import install_problems
from shared.keyring import KeyRing
from shared.metrics import Scrape
from shared.service import TELEMETRY_OFF, doorkeeper

access = logging.getLogger("dgrag.cloud.access")


def create_app(cloud: Cloud, recorder: Recorder | None = None) -> FastAPI:
    """The app of one cloud, behind a doorkeeper; its index is filled when the app starts, its store closed when it stops.

    ``recorder``: of spans; it is closed too.
    """
    settings = cloud.settings
    door = doorkeeper(settings, KeyRing(settings.state_dir), cloud.roll.authenticator)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await cloud.open()
        app.state.ready = True
        erasing = asyncio.create_task(cloud.eraser.run(), name="eraser")
        yield
        app.state.ready = False
        erasing.cancel()
        await asyncio.wait([erasing])
        cloud.mailbox.close()
        await asyncio.to_thread(cloud.close)
        door.close()
        if recorder is not None:
            await asyncio.to_thread(recorder.close)

    app = FastAPI(title="DGRAG cloud", lifespan=lifespan, redoc_url=None, redirect_slashes=False, openapi_url=None, telemetry=TELEMETRY_OFF)
    app.state.cloud, app.state.ready, app.state.guard = cloud, False, door
    app.state.admission = Admission(at_once=settings.questions_at_once, waiting=settings.questions_waiting)
    app.state.global_admission = Admission(at_once=settings.global_questions_at_once, waiting=settings.questions_waiting)
    turns = {"question": app.state.admission, "global": app.state.global_admission}
    app.state.scrape = Scrape(cloud.meter, CloudReadings(cloud, turns, cloud.clock).read, cloud.clock)
    app.include_router(docs_router(GuardedRoute))
    for router in (edges.router, edges.replies, operators.router, questions.router, service.router):
        app.include_router(router)
    install_problems(app, max_body_bytes=settings.max_body_bytes)
    app.add_middleware(AccessLog, meter=cloud.meter, log=access)
    app.add_middleware(Correlation, recorder=recorder)
    return app
