"""Documents at the console: who sees and does what, what of them is listed, and what is said of files that cannot be used."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from edge_node.api.app import create_app
from edge_node.api.console.documents import MOST_UPLOADS
from edge_node.documents.worker import Worker
from tests.support.browser import visitor
from tests.support.console import visited_edge
from tests.support.running_edge import running_edge
from tests.support.sockets import on_a_socket

PUMPS = "Juniper Ward reported the failure of four infusion pumps."
HOSTILE = "<img src=x onerror=alert(1)>.md"
FILE = {"file": ("a.md", PUMPS.encode())}
CHANGES = [
    ("POST", "/console/documents", {"files": FILE}),
    ("POST", "/console/documents/estimate", {"files": FILE}),
    ("POST", "/console/documents/retry", {}),
    ("POST", "/console/documents/jobs/{job}/cancel", {}),
    ("POST", "/console/documents/jobs/{job}/retry", {}),
    ("DELETE", "/console/documents/{document}", {}),
]


@pytest.fixture
async def by(tmp_path):
    async with visited_edge(tmp_path) as visits:
        yield visits


async def test_a_reader_sees_documents_and_nothing_to_change_them_with(by):
    await by["write"].add("wards.md", PUMPS, labels="public, night")
    page, same = (await by["read"].get("/console/documents")).text, (await by["write"].get("/console/documents")).text
    assert ("wards.md" in page, "indexed" in page, "public" in page, "night" in page) == (True, True, True, True)
    for control in ("data-upload", 'hx-delete="/console/documents', "data-files"):
        assert (control in page, control in same) == (False, True)


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
async def test_a_change_without_the_token_or_the_role_is_refused_and_changes_nothing(by, method, path, body):
    document = await by["write"].add("wards.md", PUMPS)
    before = by["write"].edge.node.documents.list(limit=9)
    address = path.format(document=document, job=before[0]["job_id"])
    assert (await by["write"].send(method, address, **body, token="")).status_code == 403
    assert (await by["read"].send(method, address, **body)).status_code == 403
    assert by["write"].edge.node.documents.list(limit=9) == before


async def test_the_list_has_pages_and_is_narrowed_by_status_and_by_a_part_of_the_name(by):
    for number in range(51):
        by["write"].edge.node.documents.accept(f"ward-{number:02}.md", f"Ward {number} has a pump.".encode(), reader="text.txt")
    by["write"].edge.node.worker.wake()
    await by["write"].edge.settled()
    await by["write"].add("empty.md", " ")
    first = (await by["read"].get("/console/documents")).text
    assert (first.count("<tr id="), "ward-49.md" in first) == (50, False)
    following = re.search(r'href="([^"]*after=[^"]+)">next', first)[1].replace("&amp;", "&")
    second = (await by["read"].get(following)).text
    assert (second.count("<tr id="), "ward-50.md" in second, "next page" in second) == (2, True, False)
    parked = (await by["read"].get("/console/documents/list?status=parked")).text
    assert (parked.count("<tr id="), "add a document that has words in it" in parked) == (1, True)
    named = (await by["read"].get("/console/documents/list?part=RD-4")).text
    assert (named.count("<tr id="), "ward-41.md" in named) == (10, True)


async def test_an_upload_is_told_of_its_end_once_it_has_ended(by, monkeypatch):
    with monkeypatch.context() as asleep:
        asleep.setattr(Worker, "wake", lambda _: None)
        job = re.search(r'value="(\w+)"', (await by["write"].send("POST", "/console/documents", files=FILE)).text)[1]
        waiting = (await by["write"].get(f"/console/documents/list?job={job}&job=unknown")).text
        assert ("every 2s" in waiting, f'id="job-{job}"' in waiting) == (True, False)
        assert "deleted, or replaced" in waiting  # what the page would else ask for again and again
    by["write"].edge.node.worker.wake()
    await by["write"].edge.settled()
    done = (await by["write"].get(f"/console/documents/list?job={job}")).text
    assert ("every 2s" in done, f'id="job-{job}" hx-swap-oob="true"' in done) == (True, True)
    assert "every 2s" not in (await by["write"].get("/console/documents/list")).text


async def test_of_very_many_uploads_those_sent_first_are_looked_up_first(by):
    await by["write"].add("a.md", PUMPS)
    sent = [by["write"].edge.node.documents.list(limit=1)[0]["job_id"], *(f"later{number}" for number in range(MOST_UPLOADS))]
    for most in (MOST_UPLOADS, MOST_UPLOADS + 1):
        asked = "&".join(f"job={one}" for one in reversed(sent[:most]))  # the page has the newest on top
        told = (await by["write"].get(f"/console/documents/list?{asked}")).text
        assert (told.count('id="job-'), f'id="job-{sent[0]}"' in told) == (MOST_UPLOADS, True)


async def test_an_estimate_adds_up_and_stores_nothing_and_names_what_cannot_be_read(by):
    one = (await by["write"].send("POST", "/console/documents/estimate", files=FILE)).text
    so_far = re.search(r'data-totals="([^"]+)"', one)[1].replace("&amp;", "&")
    two = (await by["write"].send("POST", f"/console/documents/estimate?{so_far}", files={"file": ("b.md", PUMPS.encode())})).text
    assert ("<dd>1</dd>" in one, "<dd>2</dd>" in two) == (True, True)
    empty = await by["write"].send("POST", "/console/documents/estimate", files={"file": ("c.md", b" ")})
    assert (empty.status_code, "c.md" in empty.text) == (400, True)
    assert sum(by["write"].edge.node.documents.counts().values()) == 0


async def test_parked_documents_are_retried_together_and_a_deleted_one_has_a_receipt(by):
    for name in ("a.md", "b.md"):
        await by["write"].add(name, " ")
    again = await by["write"].send("POST", "/console/documents/retry")
    assert ("2 documents wait again" in again.text, again.headers["hx-trigger"]) == (True, "changed")
    await by["write"].edge.settled()
    document = await by["write"].add("wards.md", PUMPS)
    gone = await by["write"].send("DELETE", f"/console/documents/{document}")
    assert ("wards.md" in gone.text, "erased from the files of this site" in gone.text) == (True, True)
    receipt = re.search(r"<code>(\w+)</code>", gone.text)[1]
    assert receipt in (await by["read"].get(f"/console/documents/receipts/{receipt}")).text
    again = await by["write"].send("DELETE", f"/console/documents/{document}")  # as over REST: the answer may have been lost
    assert (again.status_code, receipt in again.text, "was deleted before" in again.text) == (200, True, True)
    assert (await by["write"].send("DELETE", "/console/documents/nothing")).status_code == 404


async def test_a_hostile_name_and_text_stay_text_on_each_page(by):
    document = await by["write"].add(HOSTILE, "<script>alert(1)</script> Ward 7 has a pump.", labels="<b>x</b>")
    passage = f"/console/passages/{document}?start=0&end=9"
    for path in ("/console/documents", f"/console/documents/{document}", passage):
        page = (await by["write"].get(path)).text
        assert ("<img" in page, "<script>alert" in page, "<b>x" in page) == (False, False, False), path
        assert "&lt;img src=x" in page, path


async def test_a_file_that_is_too_large_is_refused_with_the_limit(tmp_path):
    async with visited_edge(tmp_path, max_document_bytes=1_000) as by:
        refused = await by["write"].send("POST", "/console/documents", files={"file": ("big.md", b"x" * 2_000)})
    assert (refused.status_code, "big.md" in refused.text, "1,000" in refused.text or "1000" in refused.text) == (413, True, True)


async def test_the_token_of_another_session_changes_nothing(by):
    for role in ("write", "admin"):
        await by[role].read("/")
    assert (await by["write"].send("POST", "/console/documents/retry", token=by["admin"].token)).status_code == 403
    assert (await by["write"].send("POST", "/console/documents/retry")).status_code == 200


@pytest.mark.process
async def test_a_page_with_very_many_uploads_asks_for_those_that_it_sent_first(tmp_path):
    add = """(count) => { for (let row = 0; row < count; row++) document.getElementById("uploads").insertAdjacentHTML("afterbegin",
        `<li><span><input type="hidden" name="job" value="job${row}"></span></li>`); htmx.trigger(document.body, "uploaded"); }"""
    async with running_edge(tmp_path) as edge, on_a_socket(create_app(edge.node), lifespan="off") as url, visitor(url) as visit:
        await visit.page.goto("/console/documents")
        async with visit.page.expect_request("**/console/documents/list?*") as asked:
            await visit.page.evaluate(add, 4_000)
        jobs = parse_qs(urlsplit((await asked.value).url).query)["job"]
    assert sorted(jobs) == sorted(f"job{row}" for row in range(MOST_UPLOADS))
