"""Pages that show what hostile documents, answers and sites say: nothing runs, nothing is asked of elsewhere, and nobody is shut out.

The payloads meet pages without the content security policy, so it is the escaping that stops them. All other pages come with it.
"""

import contextlib

import pytest

from cloud_server.api.console.access import ENTRIES as CLOUD_PAGES
from edge_node.api.app import create_app
from edge_node.api.console.access import ENTRIES as EDGE_PAGES
from edge_node.documents.store import document_id
from edge_node.records import Offered
from shared.http.service import FOR_BROWSERS
from tests.support.browser import SIZES, visitor
from tests.support.cloud_socket import cloud_on_a_socket
from tests.support.running_edge import running_edge, scripted
from tests.support.sockets import on_a_socket
from tests.support.waiting import until
from tests.support.xss import payloads

pytestmark = pytest.mark.process
MOST_LABEL_CHARS = 64
LONG_S = 300.0  # to index 200 documents on busy cores; it only ends a test that hangs
RUN = "window.run === undefined && parent.run === undefined"
EXPECTED = ("the server responded with a status of",)  # of a piece that is refused, as a document that is gone


@contextlib.asynccontextmanager
async def hostile_site(folder, texts):
    """An edge behind a socket whose documents, titles, labels and answers are these payloads."""
    answer = " ".join(f"Ward {text} failed [1]." for text in texts[:40])
    async with running_edge(folder, generator=scripted(answer), strategy="dgrag") as edge:
        for number, text in enumerate(texts):
            raw = f"Juniper Ward {text} reported it to Ann {text} Lee.".encode()
            name = f"{number:03} {text}"
            labels = (text[:MOST_LABEL_CHARS],)
            await edge.node.accept(Offered(document_id(name, raw), name, raw, "text.txt", text, labels))
        await until(lambda: edge.node.status()["settled"], limit_s=LONG_S)
        async with on_a_socket(create_app(edge.node), lifespan="off") as url:
            yield edge, url


async def looked_at(visit, path):
    """Open a page as a person does, each part of it that can be unfolded too."""
    await visit.page.goto(path)
    for folded in await visit.page.locator("main details > summary").all():
        await folded.click()
    await visit.page.wait_for_load_state("networkidle")
    assert await visit.page.evaluate(RUN), path


async def test_two_hundred_payloads_in_names_titles_texts_labels_and_answers_run_nowhere(tmp_path):
    assert len(payloads()) == 200
    async with hostile_site(tmp_path, payloads()) as (edge, url), visitor(url, expected=EXPECTED) as visit:
        visit.page.on("dialog", lambda dialog: visit.complaints.append(dialog.message))
        documents = edge.node.documents.list(limit=200)
        parked = [one["name"] for one in documents if one["status"] != "indexed"]
        assert len(parked) < 20, parked
        pages = [entry.path for entry in EDGE_PAGES] + [f"/console/documents?after={one['name'][:3]}" for one in documents[::50]]
        pages += [f"/console/documents/{one['document_id']}" for one in documents[::5]]
        pages += ["/console/graph?entity=juniper+ward", "/console/graph/subgraphs", "/console/graph/communities"]
        for path in pages:
            await looked_at(visit, path)
        await visit.page.goto("/")
        await visit.page.fill("#question", f"Which ward? {payloads()[0]}")
        await visit.page.check(
            "input[name=mode][value=local]" if await visit.page.locator("input[value=local]").count() else "input[name=mode]"
        )
        await visit.page.get_by_role("button", name="Ask").click()
        await visit.page.locator("[data-answer]").wait_for(timeout=1000 * LONG_S)
        await visit.page.locator("[data-answer] .cite").first.click()
        await visit.page.locator("#cited").wait_for()
        assert await visit.page.evaluate(RUN)
        assert visit.complaints == []


@pytest.mark.parametrize("protection", ["escaping", "the policy of the browser"])
async def test_a_page_that_does_not_escape_is_noticed(tmp_path, protection):
    """The null controls: templates that escape nothing, without the content security policy and with it."""
    headers = [] if protection == "escaping" else FOR_BROWSERS
    async with hostile_site(tmp_path, payloads()[:5]) as (edge, _):
        app = create_app(edge.node)
        app.state.pages._templates.autoescape = False
        async with on_a_socket(app, lifespan="off", headers=headers) as url, visitor(url) as visit:
            await visit.page.goto("/console/documents")
            await visit.page.wait_for_load_state("networkidle")
            assert await visit.page.evaluate(RUN) == (protection != "escaping")
            assert bool(visit.complaints) == (protection != "escaping")  # what the browser stops, it tells


@pytest.mark.parametrize("size", SIZES)
async def test_no_page_shuts_out_who_uses_a_keyboard_or_a_screen_reader(tmp_path, size):
    async with cloud_on_a_socket(tmp_path / "cloud") as (_, cloud), running_edge(tmp_path / "edge", strategy="dgrag") as edge:
        await edge.add("pump.md", "Juniper Ward uses the Maristow Pump. Ann Lee leads Juniper Ward.", labels=["public"])
        async with on_a_socket(create_app(edge.node), lifespan="off", headers=FOR_BROWSERS) as site:
            for url, entries in ((site, EDGE_PAGES), (cloud, CLOUD_PAGES)):
                async with visitor(url, size=size) as visit:
                    for entry in entries:
                        await visit.page.goto(entry.path)
                        assert await visit.serious() == [], entry.path
                        assert await visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), entry.path
                    assert visit.complaints == []
