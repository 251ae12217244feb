"""A node that cannot start or go on says why, and still closes its store."""

import asyncio
import contextlib

import httpx2
import pytest

from edge_node.api.app import create_app
from edge_node.build import Adapters, build_node
from edge_node.documents import progress
from edge_node.documents.estimate import estimate
from edge_node.settings import EdgeSettings
from shared.errors import DiskFailed, DiskFull, ModelReplyError, StoreDamaged, StoreError
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, WordTokenizer
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until


@pytest.fixture
def node(tmp_path):
    settings = EdgeSettings(id="ward", strategy="naive", state_dir=tmp_path)
    return build_node(settings, Adapters(scripted(), HashEmbedder(), WordTokenizer(), None))


@contextlib.asynccontextmanager
async def served(node):
    app = create_app(node)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as http,
    ):
        yield http


def failing(node, *errors):
    """Let ``open`` raise these errors in turn; then it does what it does."""
    left, opens = list(errors), node.strategy.open

    async def fails():
        if left:
            raise left.pop(0)
        await opens()

    return fails


async def test_a_damaged_store_is_the_reason_why_the_node_is_not_ready_and_nothing_is_indexed(node, monkeypatch):
    monkeypatch.setattr(node.strategy, "open", failing(node, StoreDamaged("the vectors are damaged")))
    async with served(node) as http:
        await until(lambda: node.failed != "starting")
        ready, reason = await http.get("/ready"), "nothing is indexed: the vectors are damaged – restore a backup"
        assert (ready.status_code, ready.json()["reason"]) == (503, reason)
        status = (await http.get("/v1/status")).json()
        assert (status["failed"], status["settled"]) == (reason, False)
    with pytest.raises(StoreError, match="is closed"):
        node.documents.counts()


@pytest.mark.parametrize("error", [DiskFull("/state"), DiskFailed("edge.db", "I/O error"), ModelReplyError("no number"), ValueError("?")])
async def test_a_start_that_fails_is_tried_again_and_what_was_accepted_meanwhile_is_indexed(node, monkeypatch, error):
    monkeypatch.setattr(progress, "FIRST_WAIT_S", 0.05)
    monkeypatch.setattr(node.strategy, "open", failing(node, error, error))
    async with served(node) as http:
        await until(lambda: node.failed != "starting")
        assert (await http.get("/ready")).json()["reason"].startswith("nothing is indexed yet")
        assert (await http.post("/v1/documents", json={"name": "a", "text": "The pump stopped."})).status_code == 202
        await until(lambda: node.documents.counts()["indexed"] == 1)
        assert (await http.get("/ready")).status_code == 200


async def test_a_document_that_is_deleted_before_the_caches_are_built_is_settled_after(node, monkeypatch):
    monkeypatch.setattr(progress, "FIRST_WAIT_S", 60.0)
    settled = []
    monkeypatch.setattr(node.worker, "settle", lambda: settled.append(1))
    monkeypatch.setattr(node.strategy, "open", failing(node, DiskFull("/state")))
    async with served(node) as http:
        await until(lambda: node.failed != "starting")
        sent = (await http.post("/v1/documents", json={"name": "a", "text": "The pump stopped."})).json()
        receipt = (await http.delete(f"/v1/documents/{sent['document_id']}")).json()
    assert (receipt["erased"], settled) == (False, [])
    assert "the disk of /state is full" in receipt["reason"]


async def test_no_log_line_quotes_an_error_that_nobody_foresaw(node, monkeypatch, caplog):
    monkeypatch.setattr(node.strategy, "open", failing(node, ValueError("a canary of a document")))
    async with served(node):
        await until(lambda: node.failed != "starting")
    assert "ValueError at test_node.py:" in caplog.text
    assert "canary" not in caplog.text + node.failed


async def test_estimates_are_made_one_after_the_other(node, monkeypatch):
    most, running, gate = [], [], asyncio.Event()

    async def slow(*given, **named):
        running.append(1)
        most.append(len(running))
        await gate.wait()
        running.pop()
        return await estimate(*given, **named)

    monkeypatch.setattr("edge_node.documents.estimate.estimate", slow)
    asked = [asyncio.create_task(node.estimate([])) for _ in range(6)]
    await until(lambda: running)
    gate.set()
    await asyncio.gather(*asked)
    node.close()
    assert most == [1] * 6


@pytest.mark.parametrize("part", ["worker", "folders"])
async def test_an_edge_whose_background_work_breaks_is_neither_ready_nor_healthy_logs_why_and_closes_its_store(
    node, monkeypatch, caplog, part
):
    async def ends(*_):
        raise ValueError("a canary of a document")

    monkeypatch.setattr(type(getattr(node, part)), "run", ends)
    async with served(node) as http:
        await until(lambda: "has ended" in caplog.text)
        assert [(await http.get(path)).status_code for path in ("/ready", "/health")] == [503, 503]
        assert node.failed == "nothing is indexed: background work ended: ValueError"
    (record,) = [record for record in caplog.records if record.levelname == "CRITICAL"]
    assert record.message.startswith("EdgeNode.run has ended, so this service has to be started anew: ")
    assert "ValueError at test_node.py:" in record.message
    assert "canary" not in caplog.text
    with pytest.raises(StoreError, match="is closed"):
        node.documents.counts()


async def test_a_node_that_works_says_so_in_its_status(tmp_path):
    async with running_edge(tmp_path) as edge:
        assert (await edge.http.get("/v1/status")).json()["failed"] == ""
        assert (await edge.http.get("/health")).status_code == 200
