"""A store beyond mending leaves an edge that says so (R10)."""

import contextlib

import httpx2
import pytest

from edge_node.api.app import open_app
from edge_node.api.safe_mode import create_safe_app
from edge_node.build import Adapters
from edge_node.settings import EdgeSettings
from shared.errors import StoreDamaged, StoreError
from shared.http.keyring import KeyRing
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, WordTokenizer
from tests.support.console import PAGE
from tests.support.releases import store_of_release
from tests.support.running_edge import scripted


@contextlib.asynccontextmanager
async def safe(folder, **settings):
    app = create_safe_app(EdgeSettings(id="ward", state_dir=folder, **settings), StoreDamaged("the store's structure is damaged"))
    async with httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as client:
        yield client
    app.state.guard.close()


@pytest.fixture
async def http(tmp_path):
    async with safe(tmp_path) as client:
        yield client


def opened(folder):
    settings = EdgeSettings(id="ward", strategy="naive", state_dir=folder)
    return open_app(settings, Adapters(scripted(), HashEmbedder(), WordTokenizer(), None))


async def test_the_process_is_healthy_and_never_ready_and_says_why(http):
    assert (await http.get("/health")).status_code == 200
    ready = await http.get("/ready")
    assert ready.status_code == 503
    assert ready.json()["reason"] == "this edge is in safe mode: the store's structure is damaged"
    assert ready.json()["next_step"] == "restore a backup"
    status = (await http.get("/v1/status")).json()
    assert (status["edge"], status["settled"]) == ("ward", False)
    assert "structure is damaged" in status["failed"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/documents"),
        ("DELETE", "/v1/documents/abc"),
        ("GET", "/v1/documents"),
        ("POST", "/v1/query"),
        ("POST", "/v1/chat/completions"),
    ],
)
async def test_every_write_and_every_question_is_refused(http, method, path):
    refused = await http.request(method, path, content=b"x" * 100_000 if method == "POST" else None)
    assert (refused.status_code, refused.json()["code"]) == (503, "safe_mode")
    assert refused.json()["next_step"] == "restore a backup"


async def test_who_opens_the_console_reads_what_is_wrong_and_what_to_do(http):
    page = await http.get("/", headers=PAGE)
    assert (page.status_code, page.headers["content-type"]) == (503, "text/html; charset=utf-8")
    for words in ("Safe mode", "structure is damaged", "Restore a backup", "dgrag edge restore"):
        assert words in page.text
    assert "Console" not in page.text  # there is nothing to go to
    assert (await http.get("/console/static/console.css")).status_code == 200
    other = await http.get("/console/documents", headers=PAGE)
    assert (other.status_code, "Back to the first page" in other.text) == (503, True)


INNER = ("/v1/status", "/v1/documents", "/docs", "/openapi.json")


async def test_another_host_learns_nothing_of_it(http):
    assert [(await http.get(path, headers={"host": "evil.example"})).status_code for path in INNER] == [403] * 4
    assert [(await http.get(path)).status_code for path in INNER] == [200, 503, 503, 503]


async def test_an_exposed_one_tells_its_status_to_keys_only(tmp_path):
    async with safe(tmp_path, behind_tls_proxy=True) as http:
        assert [(await http.get(path)).status_code for path in INNER] == [401] * 4
        assert "API key" in (await http.get("/", headers=PAGE)).text
        ring = KeyRing(tmp_path)
        http.headers["authorization"] = f"Bearer {ring.add('ops', 'read', now=0.0)}"
        ring.close()
        assert (await http.get("/v1/status")).status_code == 200


async def test_an_edge_on_a_broken_file_starts_in_safe_mode_and_logs_it_once(tmp_path, caplog):
    (tmp_path / "edge.db").write_bytes(b"no database" * 5000)
    app = opened(tmp_path)
    assert [record.message for record in caplog.records if "safe mode" in record.message] == [
        "safe mode: edge.db is damaged: file is not a database – restore a backup"
    ]
    async with httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as client:
        assert (await client.get("/ready")).status_code == 503


def test_what_a_person_must_set_right_is_no_safe_mode(tmp_path):
    store_of_release("v1", tmp_path)
    settings = EdgeSettings(id="ward", strategy="naive", state_dir=tmp_path)
    other = HashEmbedder(dimensions=32)
    with pytest.raises(StoreError, match="embedding model"):
        open_app(settings, Adapters(scripted(), other, WordTokenizer(), None))
