"""One document at the console: its pages, and the passage that an answer cites."""

import html
import re

import pytest

from edge_node.api.console.excerpts import LONGEST, PAGE
from tests.support.console import visited_edge

WARDS = " ".join(f"Ward {number} reported the failure of pump P-{number}." for number in range(500))
MARKED = re.compile(r"<mark[^>]*>(.*?)</mark>", re.DOTALL)
TEXT = re.compile(r'class="passage">(.*?)</(?:div|p)>', re.DOTALL)


@pytest.fixture
async def by(tmp_path):
    async with visited_edge(tmp_path) as visits:
        yield visits


def text_of(page):
    return html.unescape(re.sub(r"</?mark[^>]*>", "", TEXT.search(page)[1]))


async def test_a_cited_passage_is_marked_with_whole_words_beside_it_under_either_id(by):
    document = await by["write"].add("wards.md", WARDS)
    start = WARDS.index("Ward 250")
    outside = by["read"].edge.node.sharing.outside_ids.of(document)
    for identity in (document, outside):
        piece = (await by["read"].get(f"/console/passages/{identity}?start={start}&end={start + 40}")).text
        shown = text_of(piece)
        assert MARKED.search(piece)[1] == WARDS[start : start + 40]
        assert shown.strip("… ") in WARDS
        assert 500 < len(shown) < 620
        assert set(shown.strip("… ").split()) <= set(WARDS.split())
        assert f"/console/documents/{document}?start={start}&amp;end={start + 40}#cited" in piece


async def test_the_pages_of_a_text_follow_one_another_and_cut_no_word(by):
    document = await by["write"].add("wards.md", WARDS)
    pages = [text_of((await by["read"].get(f"/console/documents/{document}?page={number}")).text) for number in (1, 2, 3)]
    assert "".join(pages) == WARDS
    assert all(page.endswith(" ") for page in pages[:2])


@pytest.mark.parametrize("start", [0, PAGE - 3, PAGE, PAGE + 2, 2 * PAGE - 1])
async def test_a_span_is_marked_whole_wherever_a_page_ends(by, start):
    document = await by["write"].add("wards.md", WARDS)
    page = (await by["read"].get(f"/console/documents/{document}?start={start}&end={start + 300}")).text
    assert html.unescape(MARKED.search(page)[1]) == WARDS[start : start + 300]
    assert text_of(page) in WARDS


async def test_places_that_cannot_be_are_refused_with_a_next_step(by):
    document = await by["write"].add("a.md", "A pump stopped.")
    answers = {
        query: (await by["read"].get(f"/console/passages/{document}?{query}")).status_code
        for query in ("start=9&end=3", "start=0", "start=-1&end=2", "start=900&end=901", f"start=0&end={9 * LONGEST}", "start=x&end=y")
    }
    assert list(answers.values()) == [422, 422, 422, 404, 200, 422]
    assert (await by["read"].get("/console/passages/nothing?start=0&end=1")).status_code == 404
    assert (await by["read"].get("/console/documents/nothing")).status_code == 404
    assert "has 15 characters" in (await by["read"].get(f"/console/documents/{document}?page=9")).text


async def test_a_parked_document_says_why_and_what_to_do_and_its_passage_is_a_conflict(by):
    document = await by["write"].add("empty.md", " ")
    page = (await by["read"].get(f"/console/documents/{document}")).text
    assert ("has no text in it" in page, "add a document that has words in it" in page) == (True, True)
    assert (await by["read"].get(f"/console/passages/{document}?start=0&end=1")).status_code == 409


async def test_labels_are_changed_on_the_documents_page_and_lead_to_all_documents_with_them(by):
    document = await by["write"].add("a.md", "A pump.", labels="public")
    await by["write"].add("b.md", "A lamp.", labels="public, ward <7>")
    for role in ("read", "write"):
        page = (await by[role].get(f"/console/documents/{document}")).text
        assert ("Change the labels" in page, 'href="/console/documents?label=public"' in page) == (role == "write", True)
    refused = await by["read"].send("PUT", f"/console/documents/{document}/labels", data={"labels": "x"})
    assert refused.status_code == 403
    assert (await by["write"].send("PUT", f"/console/documents/{document}/labels", data={"labels": "x"}, token="")).status_code == 403
    told = (await by["write"].send("PUT", f"/console/documents/{document}/labels", data={"labels": " ward <7>, ward <7>"})).text
    assert ("does not name ward &lt;7&gt;" in told, "<7>" in told) == (True, False)
    listed = {label: (await by["read"].get("/console/documents", label=label)).text for label in ("public", "ward <7>", "ward")}
    names = {label: [name for name in ("a.md", "b.md") if f">{name}</a>" in page] for label, page in listed.items()}
    assert names == {"public": ["b.md"], "ward <7>": ["a.md", "b.md"], "ward": []}
    assert (await by["write"].send("PUT", f"/console/documents/{document}/labels", data={"labels": "x" * 65})).status_code == 422


async def test_a_page_says_the_language_the_pack_and_that_no_sync_put_the_document_there(tmp_path):
    async with visited_edge(tmp_path, strategy="dgrag") as by:
        document = await by["write"].add("wards.md", "The nurse wrote a report of the failure of pump P-7, and sent it to the agency.")
        page = await by["read"].read(f"/console/documents/{document}")
    assert "en, 1 passage read by spacy" in page
    assert "not by a sync" in page
