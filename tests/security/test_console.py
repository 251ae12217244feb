"""Pages that show what hostile documents, answers and sites say: nothing runs, nothing is asked of elsewhere, and nobody is shut out.

The payloads meet pages without the content security policy, so it is the escaping that stops them. All other pages come with it.
"""

import contextlib

import pytest

from edge_node.api.app import create_app
from edge_node.api.console.access import ENTRIES as EDGE_PAGES
from edge_node.api.safe_mode import create_safe_app
from edge_node.settings import EdgeSettings
from shared.errors import StoreDamaged
from shared.http.service import FOR_BROWSERS
from tests.support.browser import SIZES, visitor
from tests.support.full_console import NONE, POLICY, PUMP, full_consoles
from tests.support.running_edge import running_edge, scripted
from tests.support.sockets import on_a_socket
from tests.support.waiting import until
from tests.support.xss import FRAMES, PIECES, HostilePages, bare, payloads, together

pytestmark = pytest.mark.process
LONG_S = 300.0  # to index 40 documents on busy cores; it only ends a test that hangs
EXPECTED = ("the server responded with a status of", "did not match any element")  # of a page that says no; of a list that was taken away
OURS = (  # lines with numbers and words of ours alone, in cases that these consoles are not in
    "answer.html: {%- else %}{{ answer.route }}",
    "answer.html: {% if answer.own_passages",
    "audit.html: {% else %}",
    "communities.html: {% if reply.next %}",
    'document.html: <span class="soft">page {{ page',
    "document.html: {% if page",
    "document_list.html: <progress",
    'document_list.html: <span class="soft">{{ row.job.step }} {{',
    "document_list.html: {% if next %}",
    'federation.html: <p class="hint">The number',
    "federation.html: {% if one.held_back %}",
    "federation.html: {% if model.shortfalls %}",
    "folders.html: {% elif one.problems",
    "graph.html: {% if centre.degree >",
    "graph.html: {% if found|length >",
    "graph.html: {% if next %}",
    "health.html: <dt>Summaries",
    "login.html: {% if why",
    "health.html: {% if breaker_s",
    "health.html: {% with set = state.calibration",
    "health.html: {% if memory.fast",
    "health.html: {% if progress",
    "health.html: {% if state.readers.waiting %}",
    "marks.html: {%- elif one.breaker",
    'matched.html: <p class="notice warn">No summary',
    "model_state.html: <ul>{% for one in shortfalls",
    "sharing_state.html: {% if one.summaries",
    "sharing_state.html: {% if text.fixed",
    "subgraphs.html: {% if next %}",
    'verified.html: <p class="notice good">',
)
ELSEWHERE = ("again.html", "no_graph.html", "safe_mode.html", "upload.html", "estimate.html", "retried.html")


async def sign_in(visit, console):
    """Come in as a person does."""
    await visit.page.goto("/")
    await visit.page.fill("#key", console.key)
    await visit.page.get_by_role("button", name="Sign in").click()
    await visit.page.get_by_role("button", name="Sign out").wait_for()


async def run_through(visit, pages, full, empty, *, asks=False):
    """Show pages and pieces with each of the texts; what has run, or could. ``full``, ``empty``: whether it fills what is empty, too."""
    found = []
    await visit.page.goto("/")
    for row, pages.foreign in enumerate(together()):
        for pages.fill, (paths, pieces) in ((False, empty), (True, full)):
            found += await visit.page.evaluate(FRAMES, paths)
            found += await visit.page.evaluate(PIECES, pieces(row))
        if asks:
            await visit.page.fill("#question", "Which seal?")
            await visit.page.evaluate("document.querySelector('form[data-ask] [name=path]').value = '*'")
            await visit.page.evaluate("ask(document.querySelector('form[data-ask]'))")
            found += await visit.page.evaluate(FRAMES, [])
            assert await visit.page.locator("[data-answer]").count() == 1
    return found


def none(_):
    return []


async def test_two_hundred_payloads_in_every_place_of_a_sites_pages_run_nowhere(tmp_path, monkeypatch):
    assert (len(payloads()), len(together())) == (200, 5)
    async with full_consoles(tmp_path, monkeypatch) as (site, _, node), visitor(site.url, expected=EXPECTED) as visit:
        documents = {one["status"]: one for one in node.documents.list(limit=9)}
        each = [f"/console/documents/{documents[status]['document_id']}" for status in ("indexed", "parked", "queued")]
        report = (await node.strategy.reports.communities(0, limit=1, after=""))[0].community.community_id
        paths = [entry.path for entry in EDGE_PAGES] + each
        paths += [f"/console/health/{part}" for part in ("settings", "backups", "keys")]
        paths += ["/console/graph/subgraphs", "/console/graph/communities", f"/console/graph/reports/{report}"]
        paths += ["/console/graph?entity=juniper+ward&q=ward", "/console/graph?q=uses", "/console/nothing"]

        def pieces(row):
            base = node.policies.present().hash
            indexed = documents["indexed"]["document_id"]
            return [
                ["GET", f"/console/documents/list?job={documents['parked']['job_id']}&status=parked&part=a&after=a", {}],
                ["GET", "/console/documents/list?label=night", {}],
                ["PUT", f"/console/documents/{indexed}/labels", {"labels": f"night, {row}"}],
                ["GET", f"/console/passages/{indexed}?start=0&end=9", {}],
                ["GET", "/console/health/model", {}],
                ["GET", "/console/audit/verify", {}],
                ["GET", "/console/sharing/history/1", {}],
                ["POST", "/console/sharing/check", {"text": NONE}],
                ["POST", "/console/sharing/try", {"question": PUMP, "requester": "plant", "purpose": "treatment"}],
                ["PUT", "/console/sharing", {"text": f"{POLICY}# {row}", "base": base}],
                ["POST", "/console/health/backups", {}, "#backups"],
                ["POST", "/console/health/keys", {"name": f"key{row}", "role": "read", "days": ""}, "#keys"],
                ["POST", "/console/answers/q1", {"verdict": "right"}],
                ["POST", "/console/found", {"question": PUMP}],
                ["DELETE", f"/console/documents/{indexed}", {}],
                ["GET", "/console/nothing", {}],
            ]

        def checks(_):
            return [["POST", "/console/sharing/check", {"text": POLICY}]]

        pages = HostilePages.of(site.app)
        await sign_in(visit, site)
        assert await run_through(visit, pages, (paths, pieces), (["/console/sharing"], checks), asks=True) == []
        assert pages.not_filled(OURS + ELSEWHERE) == []
        assert visit.complaints == []


async def test_two_hundred_payloads_in_every_place_of_the_clouds_pages_run_nowhere(tmp_path, monkeypatch):
    async with full_consoles(tmp_path, monkeypatch) as (_, cloud, __), visitor(cloud.url, expected=EXPECTED) as visit:
        paths = ["/", "/console/sites/mill", "/console/match", "/console/invite", "/console/keys", "/console/nothing"]

        def pieces(row):
            return [
                ["POST", "/console/match", {"question": "Which seal of which ward?", "far": "true"}],
                ["POST", "/console/invite", {"edge": f"site{row}", "minutes": "5"}, "#invited"],
                ["POST", "/console/keys", {"name": f"key{row}", "role": "read", "days": ""}, "#keys"],
                ["POST", "/console/sites/plant/quarantine", {"reason": "odd"}, "#site"],
                ["POST", "/console/sites/plant/release", {}, "#site"],
                ["GET", "/console/nothing", {}],
            ]

        pages = HostilePages.of(cloud.app)
        async with visitor(cloud.url) as stranger:
            assert await run_through(stranger, pages, (["/"], none), ([], none)) == []
        await sign_in(visit, cloud)
        assert await run_through(visit, pages, (paths, pieces), (["/console/sites/ward"], none)) == []
        assert pages.not_filled(OURS + ELSEWHERE) == []
        assert visit.complaints == []


async def test_the_page_of_a_site_in_safe_mode_runs_no_payload(tmp_path):
    app = create_safe_app(EdgeSettings(id="ward", state_dir=tmp_path), StoreDamaged("edge.db is damaged"))
    pages = HostilePages.of(app)
    async with on_a_socket(app, lifespan="off") as url, visitor(url, expected=EXPECTED) as visit:
        assert await run_through(visit, pages, (["/", "/console/documents"], none), ([], none)) == []
        assert visit.complaints == []
    app.state.guard.close()


async def test_files_whose_names_texts_and_labels_are_payloads_run_nowhere_from_their_upload_to_their_deletion(tmp_path):
    """Through the real stores: chosen, estimated, sent, indexed, asked about, opened and deleted at the page."""
    answer = " ".join(f"Ward {text} failed [1]." for text in bare())
    settings = {"strategy": "dgrag", "max_document_bytes": 4_000}
    async with contextlib.AsyncExitStack() as stack:
        edge = await stack.enter_async_context(running_edge(tmp_path, generator=scripted(answer), **settings))
        url = await stack.enter_async_context(on_a_socket(create_app(edge.node), lifespan="off"))
        visit = await stack.enter_async_context(visitor(url, expected=EXPECTED))
        page = visit.page
        page.on("dialog", lambda dialog: dialog.accept())
        await page.goto("/console/documents")
        await page.fill("#labels", bare()[0])
        await page.check("#estimate-first")
        sent = [file(text, f"Juniper Ward {text} reported it to Ann {text} Lee.") for text in bare()]
        await page.set_input_files("#files", [*sent, file(f"{bare()[3]} large", "x" * 5_000), file(f"{bare()[3]} empty", " ")])
        await page.locator("[data-choice=add]:enabled").click(timeout=1000 * LONG_S)
        await until(lambda: edge.node.status()["settled"] and len(edge.node.documents.list(limit=99)) >= len(sent), limit_s=LONG_S)
        await page.wait_for_function("!document.querySelector('#uploads [name=job]')", timeout=1000 * LONG_S)
        assert await page.locator("#uploads li").count() == len(sent) + 2
        documents = edge.node.documents.list(limit=99)
        await page.locator(f"#document-{documents[0]['document_id']} button.bad").click()
        await page.locator("#receipts .notice").wait_for()
        paths = ["/", "/console/documents", *(f"/console/documents/{one['document_id']}" for one in documents[1::6])]
        paths += ["/console/graph?entity=juniper+ward", "/console/graph/subgraphs", "/console/graph/communities"]
        assert await page.evaluate(FRAMES, paths) == []
        await page.goto("/")
        await page.fill("#question", f"Which ward? {payloads()[0]}")
        await page.get_by_role("button", name="Ask").click()
        await page.locator("[data-answer] .cite").first.click(timeout=1000 * LONG_S)
        await page.locator("#cited").wait_for()
        assert await page.evaluate(FRAMES, []) == []
        assert visit.complaints == []


def file(name, text):
    return {"name": f"{name}.md", "mimeType": "text/markdown", "buffer": text.encode()}


@pytest.mark.parametrize("protection", ["escaping", "the policy of the browser"])
async def test_a_page_that_does_not_escape_is_noticed(tmp_path, protection):
    """The null controls: templates that escape nothing, without the content security policy and with it."""
    headers = [] if protection == "escaping" else FOR_BROWSERS
    async with running_edge(tmp_path, strategy="dgrag") as edge:
        await edge.add("pump.md", "Juniper Ward uses the Maristow Pump.")
        app = create_app(edge.node)
        pages = HostilePages.of(app)
        pages._templates.autoescape = False
        async with on_a_socket(app, lifespan="off", headers=headers) as url, visitor(url) as visit:
            await visit.page.goto("/console/documents")
            pages.foreign = "".join(payloads()[:5])
            await visit.page.goto("/console/documents")
            await visit.page.wait_for_load_state("networkidle")
            ran = await visit.page.evaluate("window.run !== undefined || parent.run !== undefined")
            assert (ran, bool(visit.complaints)) == (protection == "escaping", True)  # what the browser stops, it tells


async def looked_at(visit, path=None, *, act=None):
    """What is wrong with a page for who uses a keyboard or a screen reader, or a small screen, once ``act`` is done there."""
    wrong = []
    if path:
        await visit.page.goto(path)
    if act:
        await act(visit.page)
    for name, size in SIZES.items():
        await visit.page.set_viewport_size(size)
        wrong += [(name, path, one) for one in await visit.serious()]
        if await visit.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append((name, path, "it is wider than the screen"))
    return wrong


async def asked(page):
    await page.fill("#question", "Which seal?")
    await page.get_by_role("button", name="Ask").click()
    await page.locator("[data-answer]").wait_for()
    for each in await page.locator("main details > summary").all():
        await each.click()


async def matched(page):
    await page.fill("#question", "Which seal of which ward?")
    await page.check("[name=far]")
    await page.get_by_role("button", name="Match").click()
    await page.locator("#matched table").wait_for()


async def test_no_page_of_a_site_shuts_out_who_uses_a_keyboard_or_a_screen_reader(tmp_path, monkeypatch):
    consoles = full_consoles(tmp_path, monkeypatch, headers=FOR_BROWSERS)
    async with consoles as (site, _, node), visitor(site.url, expected=EXPECTED[:1]) as visit:
        indexed = next(one["document_id"] for one in node.documents.list(limit=9) if one["status"] == "indexed")

        async def opened(page):
            await page.evaluate(f"htmx.ajax('GET', '/console/passages/{indexed}?start=0&end=9', '#passage')")
            await page.locator("#cited").wait_for()

        wrong = await looked_at(visit, "/")  # the page to sign in
        await sign_in(visit, site)
        wrong += await looked_at(visit, "/", act=asked) + await looked_at(visit, act=opened)
        paths = [entry.path for entry in EDGE_PAGES] + [f"/console/documents/{indexed}", "/console/graph?entity=juniper+ward"]
        paths += [f"/console/health/{part}" for part in ("settings", "backups", "keys")]
        paths += ["/console/graph/subgraphs", "/console/graph/communities", "/console/nothing"]
        for path in paths:
            wrong += await looked_at(visit, path)
        assert wrong == []
        assert visit.complaints == []


async def test_no_page_of_the_cloud_shuts_out_who_uses_a_keyboard_or_a_screen_reader(tmp_path, monkeypatch):
    consoles = full_consoles(tmp_path, monkeypatch, headers=FOR_BROWSERS)
    async with consoles as (_, cloud, __), visitor(cloud.url, expected=EXPECTED[:1]) as visit:
        wrong = await looked_at(visit, "/")
        await sign_in(visit, cloud)
        wrong += await looked_at(visit, "/console/match", act=matched)
        for path in ("/", "/console/sites/ward", "/console/sites/mill", "/console/invite", "/console/keys", "/console/nothing"):
            wrong += await looked_at(visit, path)
        assert wrong == []
        assert visit.complaints == []
