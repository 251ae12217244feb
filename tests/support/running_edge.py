"""An edge in this process: real SQLite, real HTTP routes over ASGI, a scripted model and a hashing embedder."""

import contextlib
import math

import httpx2

from edge_node.api.app import create_app
from edge_node.build import Adapters, build_node
from edge_node.documents.readers.pool import ReadsHere
from edge_node.settings import EdgeSettings
from shared.http.open_mode import CALLER
from shared.limits import RetryBudget
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from tests.support.waiting import until


def scripted(answer="Juniper Ward reported it [1].", *, sufficient=0.9):
    """A model that always gives this answer, and finds the passages sufficient with this probability."""

    def first_token(prompt):
        return {"Yes": math.log(sufficient), "No": math.log(1 - sufficient)}

    return ScriptedGenerator(lambda prompt: [answer] * prompt.n, first_token)


class Edge:
    """A running edge and a client of it."""

    def __init__(self, node, http):
        self.node = node
        self.http = http

    async def settled(self):
        """Wait until everything that was accepted is indexed or parked."""
        await until(lambda: self.node.status()["settled"], limit_s=120)  # the first document of a language waits for its pack

    async def add(self, name, text, **fields):
        response = await self.http.post("/v1/documents", json={"name": name, "text": text, **fields})
        assert response.status_code == 202, response.text
        await self.settled()
        return response.json()

    async def ask(self, question, **fields):
        response = await self.http.post("/v1/query", json={"question": question, **fields})
        assert response.status_code == 200, response.text
        return response.json()


@contextlib.asynccontextmanager
async def running_edge(
    folder,
    *,
    generator=None,
    embedder=None,
    cloud=None,
    retries=None,
    recorder=None,
    reads=None,
    model_server=None,
    former=None,
    **settings,
):
    """An edge in ``folder``; started twice on one folder, it continues. ``former``: finds the embedder that the folder was made with."""
    usual = {"id": "ward", "strategy": "naive", "min_nearness": -1.0, "cloud_patience_s": 60.0}  # a busy machine is no absent cloud
    chosen = EdgeSettings(**{**usual, "state_dir": folder, **settings})
    models = generator or scripted(), embedder or HashEmbedder(), WordTokenizer()
    others = {"retries": retries or RetryBudget(), "recorder": recorder, "model_server": model_server, "former": former}
    node = build_node(chosen, Adapters(*models, cloud, reads or ReadsHere(), **others))
    app = create_app(node)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as http,
    ):
        await until(lambda: not node.failed)
        yield Edge(node, http)
