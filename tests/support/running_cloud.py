"""A cloud in this process: real SQLite, real HTTP routes over ASGI, fake models."""

import contextlib
from types import SimpleNamespace

import httpx2

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from tests.support.signed import URL


class ShiftedClock:
    """The system's clock, some seconds off."""

    def __init__(self, clock):
        self._clock = clock
        self.shift_s = 0.0

    def now(self):
        return self._clock.now() + self.shift_s

    def monotonic(self):
        return self._clock.monotonic() + self.shift_s


@contextlib.asynccontextmanager
async def running_cloud(folder, *, answer="-", clock=None, recorder=None, **settings):
    """A cloud in ``folder``; started twice on one folder, it continues. ``http`` is an operator on the same machine."""
    models = Models(HashEmbedder(), ScriptedGenerator(lambda _: answer, lambda _: {"Yes": -0.1}), WordTokenizer())
    chosen = {"state_dir": folder, "match_threshold": -1.0, "requests_per_minute": 1_000_000, **settings}
    cloud = build_cloud(CloudSettings(**chosen), models, clock=clock)
    app = create_app(cloud, recorder)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url=URL) as http,
    ):
        yield SimpleNamespace(cloud=cloud, app=app, http=http)
