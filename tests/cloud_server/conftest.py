import asyncio
from contextlib import asynccontextmanager
from itertools import count
from types import SimpleNamespace

import httpx2
import pytest

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app
from cloud_server.build import build_cloud
from cloud_server.database.opening import open_database
from cloud_server.settings import CloudSettings
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from tests.support import signed as support
from tests.support.skipping_loop import LoopClock, SkippingLoop, run_sync
from tests.support.waiting import until


class ManualClock:
    """Stands still until told otherwise."""

    def __init__(self):
        self.seconds = 1000.0

    def now(self):
        return self.seconds

    def monotonic(self):
        return self.seconds


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def database(tmp_path, database_url):
    """An empty store."""
    opened = open_database(tmp_path, database_url)
    yield opened
    opened.close()


def answer_with_first_passage(prompt):
    """Says what passage 1 says, and nothing where it is not asked for an answer."""
    listed = prompt.messages[-1].content.partition("Passages:\n")[2]
    return "" if not listed else listed.splitlines()[2].removeprefix("[1] ").rstrip(".") + " [1]."


def settings_for(folder, **changes):
    thresholds = {"match_threshold": 0.3, "match_lead": 0.0, "evidence_threshold": 0.3}
    return CloudSettings(**{"state_dir": folder, **thresholds, "edges_k": 5, "deadline_s": 5.0, "verify": False, **changes})


@pytest.fixture
def on_skipping_loop(monkeypatch):
    """Runs what a deadline decides on a loop whose time only waiting takes; it is given that loop's clock."""
    monkeypatch.setattr("anyio.to_thread.run_sync", run_sync)

    def run(main):
        async def on_loop():
            return await main(LoopClock(asyncio.get_running_loop()))

        with asyncio.Runner(loop_factory=SkippingLoop) as runner:
            return runner.run(on_loop())

    return run


@asynccontextmanager
async def running(folder, *, generator=None, embedder=None, clock=None, **changes):
    """A cloud with fake models, and a client that speaks to it in this process."""
    models = Models(embedder or HashEmbedder(256), generator or ScriptedGenerator(answer_with_first_passage), WordTokenizer())
    numbers = count(1)
    cloud = build_cloud(settings_for(folder, **changes), models, clock=clock, new_id=lambda: f"id-{next(numbers)}")
    app = create_app(cloud)
    transport = httpx2.ASGITransport(app=app)
    auth = support.AsEdges(cloud.credentials.identity.key_id)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(headers=CALLER, transport=transport, base_url=support.URL, auth=auth) as http,
    ):
        yield SimpleNamespace(cloud=cloud, http=http, app=app)


@pytest.fixture
async def service(tmp_path):
    async with running(tmp_path) as running_service:
        yield running_service


def summary(summary_id, text, entities=3, relations=2):
    return {"summary_id": summary_id, "text": text, "entities": entities, "relations": relations}


def delta(base, version, *upserts, removals=(), epoch="e1"):
    return {"epoch": epoch, "base_version": base, "version": version, "upserts": list(upserts), "removals": list(removals)}


def evidence(text, *, document="doc.md", chunk="d1:0", start=0):
    return {
        "document_id": "d1",
        "document": document,
        "chunk_id": chunk,
        "span": [start, start + len(text)],
        "text": text,
    }


def signed(http, edge):
    """Signs as this edge does."""
    return http.auth.of(edge)


async def join(http, edge):
    """Make an edge known, as open mode lets it."""
    return await support.join(http, edge, http.auth.identity(edge))


async def enrol(http, edge, *texts):
    """Make an edge known with one summary a text."""
    assert (await join(http, edge)).status_code == 201
    body = delta(0, 1, *(summary(f"s{i}", text) for i, text in enumerate(texts)))
    assert (await http.put(f"/v1/edges/{edge}/summaries", json=body, auth=signed(http, edge))).status_code == 200


async def serve_once(http, edge, *passages, refused=""):
    """Poll once and reply to what comes; returns the request and the reply's response."""
    polled = (await http.post(f"/v1/edges/{edge}/poll?wait_s=5&titled=true", auth=signed(http, edge))).json()["requests"]
    for request in polled:
        body = {"evidence": list(passages), "refused": refused}
        response = await http.post(f"/v1/edges/{edge}/replies/{request['request_id']}", json=body, auth=signed(http, edge))
        return request, response
    return None, None


@pytest.fixture
def kit():
    """The helpers above, for tests that have no package to import them from."""
    return SimpleNamespace(
        running=running,
        summary=summary,
        delta=delta,
        evidence=evidence,
        enrol=enrol,
        join=join,
        signed=signed,
        serve_once=serve_once,
        until=until,
        settings_for=settings_for,
    )
