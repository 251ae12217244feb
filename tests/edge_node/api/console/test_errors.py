"""What goes wrong is told as a page to who opens a page, as a piece to a page that asks for one, and as JSON to a program."""

import asyncio

import httpx2
import pytest

from edge_node.api import backups
from shared.http.open_mode import CALLER
from tests.support.console import PAGE, PIECE, URL
from tests.support.running_edge import running_edge

BACKUPS = "/console/health/backups"


@pytest.fixture
async def browser(tmp_path):
    """A client of an edge, whose errors within do not end a test; a browser asks without keys."""
    async with running_edge(tmp_path, max_document_bytes=1_000) as edge:
        transport = httpx2.ASGITransport(edge.http._transport.app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url=URL, headers=CALLER) as http:
            yield http


def broken(monkeypatch):
    async def fail(_):
        raise RuntimeError("nobody expected that")

    monkeypatch.setattr(backups, "list_backups", fail)


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "step"),
    [
        ("POST", "/console/documents", b"x" * 200_000, 413, "Send less"),
        ("GET", "/console/nothing", None, 404, "Check the address"),
        ("GET", "/console/ask", None, 405, "Begin at the first page"),
        ("PUT", "/", None, 405, "Begin at the first page"),
        ("GET", BACKUPS, None, 500, "Report it with the log"),
    ],
)
async def test_who_opens_a_page_reads_a_page_with_a_next_step(browser, monkeypatch, method, path, content, status, step):
    broken(monkeypatch)
    page = await browser.request(method, path, content=content, headers=PAGE)
    assert (page.status_code, page.headers["content-type"], page.headers["cache-control"]) == (
        status,
        "text/html; charset=utf-8",
        "no-store",
    )
    assert (step in page.text, "Back to the first page" in page.text, "nobody expected" in page.text) == (True, True, False)
    assert page.headers["x-request-id"] in page.text  # by which it is found in the log
    piece = await browser.request(method, path, content=content, headers=PIECE)
    assert (piece.status_code, piece.headers["hx-retarget"], "<html" in piece.text) == (status, "#messages", False)
    program = await browser.request(method, path, content=content)
    assert (program.status_code, program.headers["content-type"]) == (status, "application/problem+json")


async def test_a_rest_route_speaks_json_with_a_browser_too(browser):
    for path, content in (("/v1/nothing", None), ("/v1/documents", b"x" * 200_000), ("/nothing", None)):
        answer = await browser.post(path, content=content, headers=PAGE)
        assert answer.headers["content-type"] == "application/problem+json", path


async def test_a_page_that_a_stop_of_the_site_cuts_short_says_when_to_come_again(browser, monkeypatch):
    began = asyncio.Event()

    async def never(_):
        began.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(backups, "list_backups", never)
    asking = asyncio.create_task(browser.get(BACKUPS, headers=PAGE))
    await began.wait()
    browser._transport.app.state.stopping = True
    asking.cancel()
    page = await asking
    assert (page.status_code, page.headers["retry-after"], "Ask again when it is back" in page.text) == (503, "10", True)


async def test_who_asks_too_often_reads_that_on_a_page(tmp_path):
    async with running_edge(tmp_path, behind_tls_proxy=True, requests_per_minute=3) as edge:
        pages = [await edge.http.get("/", headers=PAGE | {"authorization": "Bearer dgk_x"}) for _ in range(9)]
    assert [page.status_code for page in (pages[0], pages[-1])] == [401, 429]
    assert "Back to the first page" in pages[-1].text
    assert "retry-after" in pages[-1].headers
