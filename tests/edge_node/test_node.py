"""A node that cannot start or go on says why, and still closes its store."""

import httpx
import pytest

from edge_node.app import create_app
from edge_node.build import Parts, build_node
from edge_node.settings import EdgeSettings
from shared.errors import StoreError
from shared.models.fake import HashEmbedder, WordTokenizer
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until


@pytest.fixture
def node(tmp_path):
    settings = EdgeSettings(id="ward", strategy="naive", state_dir=tmp_path)
    return build_node(settings, Parts(scripted(), HashEmbedder(), WordTokenizer(), None))


async def damaged():
    raise StoreError("the vectors are damaged", next_step="restore a backup")


async def test_a_store_that_cannot_be_opened_is_the_reason_why_the_node_is_not_ready(node, monkeypatch):
    monkeypatch.setattr(node.strategy, "open", damaged)
    app = create_app(node)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://edge") as http:
        await until(lambda: node.failed != "starting")
        ready = await http.get("/ready")
        assert (ready.status_code, ready.json()["reason"]) == (503, "the vectors are damaged – restore a backup")
        status = (await http.get("/v1/status")).json()
        assert (status["failed"], status["settled"]) == ("the vectors are damaged – restore a backup", False)
    with pytest.raises(StoreError, match="is closed"):
        node.documents.counts()


async def test_background_work_that_ends_is_the_reason_and_the_store_is_closed(node, monkeypatch):
    async def ends():
        raise ValueError("content of a document")

    monkeypatch.setattr(node.worker, "run", ends)
    app = create_app(node)
    async with app.router.lifespan_context(app):
        await until(lambda: node.failed != "starting" and node.failed != "")
        assert node.failed == "background work ended: ValueError"
    with pytest.raises(StoreError, match="is closed"):
        node.documents.counts()


async def test_a_node_that_works_says_so_in_its_status(tmp_path):
    async with running_edge(tmp_path) as edge:
        assert (await edge.http.get("/v1/status")).json()["failed"] == ""
