"""The client of an edge against live edges: its examples, an answer from another site, and what it gets of every route."""

import asyncio
import doctest
import re
from dataclasses import fields, is_dataclass

import pytest

import shared.client
from shared.client import Answer, AsyncClient, Client, NotFound, TraceStep, Unauthenticated, calls, clients, errors, hearing, tries
from tests.support.federation import REFUSAL
from tests.support.live_edge import left, live_edge, made_key
from tests.support.running_edge import scripted
from tests.support.two_sites import GONE, LOT, WHICH_LOT, WHO, bank_and_plant, filled

pytestmark = pytest.mark.process
EXAMPLES = [test for module in (calls, clients, errors, hearing, tries) for test in doctest.DocTestFinder().find(module) if test.examples]
CHANGING = ("calls.add_document", "calls.job", "calls.delete_document", "calls.label", "calls.feedback")  # these have an edge of their own


def ran(example, url):
    said = []
    with Client(url) as client:
        example.globs.update(vars(shared.client), EDGE=url, client=client, asyncio=asyncio)
        doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    return "".join(said)


def short(example):
    return example.name.removeprefix("shared.client.")


@pytest.mark.parametrize("example", [one for one in EXAMPLES if short(one) in CHANGING], ids=short)
async def test_an_example_that_changes_an_edge_runs_against_a_live_one(tmp_path, example):
    async with filled(tmp_path) as (_, url):
        assert await asyncio.to_thread(ran, example, url) == ""


async def test_every_other_example_of_the_client_runs_against_a_live_edge(tmp_path):
    others = [one for one in EXAMPLES if short(one) not in CHANGING]
    async with filled(tmp_path, strategy="dgrag") as (_, url):
        assert "".join([await asyncio.to_thread(ran, example, url) for example in others]) == ""


def test_every_method_of_the_one_client_is_a_method_of_the_other_and_has_an_example():
    def named(kind):
        return {name for name in vars(kind) if not name.startswith("_")}

    assert named(Client) == named(AsyncClient)
    shown = " ".join(example.docstring for example in EXAMPLES)
    assert {name for name in named(Client) if not re.search(rf"\.{name}\(", shown)} <= {
        *("send", "hear", "close", "add_documents", "document_pages", "overview_stream", "page_image")
    }


async def test_an_answer_comes_from_another_site_and_the_ledgers_hold_it(tmp_path):
    async with bank_and_plant(tmp_path) as (edges, url), AsyncClient(url) as client:
        before = {name: edge.node.ledger.count() for name, edge in edges.items()}
        steps = [news async for news in client.ask_stream(WHICH_LOT)]
        gone = {name: left(edge, before[name]) for name, edge in edges.items()}
        sites = await client.sites()
        found = await client.retrieve(WHICH_LOT, mode="cloud")
    answer = steps[-1]
    assert isinstance(answer, Answer)
    assert "cloud" in [news.step for news in steps if isinstance(news, TraceStep)]
    assert (answer.answer, answer.citations[0].edge) == (LOT, "plant")
    assert gone == GONE
    assert (sites.home, sites.cloud.connected, "plant" in [one.edge for one in sites.others]) == ("bank", True, True)
    assert {passage.edge for passage in found.evidence} >= {"plant"}


async def test_what_waits_for_a_yes_is_shown_and_the_yes_sends_it(tmp_path):
    async with bank_and_plant(tmp_path) as (_, url), AsyncClient(url) as client:
        asked = await client.ask(WHICH_LOT, may_leave="ask")
        assert asked.would_ask == WHICH_LOT
        assert (await client.ask(WHICH_LOT, may_leave="yes")).citations[0].edge == "plant"


async def test_files_are_added_waited_for_listed_page_by_page_and_deleted(tmp_path):
    names = [f"note-{number}.md" for number in range(5)]
    for name in names:
        (tmp_path / name).write_text(f"{name} tells of pump {name[5]}.", encoding="utf-8")
    (tmp_path / "scan.pdf").write_bytes(b"%PDF-1.4 nothing")
    files = [tmp_path / name for name in (*names, "scan.pdf")]
    async with live_edge(tmp_path / "edge") as (_, url), AsyncClient(url) as client:
        receipts = await client.add_documents(files, labels=["public"])
        jobs = await client.wait(*receipts)
        pages = [page async for page in client.document_pages(page_size=2)]
        parked = [one async for one in client.documents(status="parked", page_size=2)]
        assert (await client.add_documents(files[:1]))[0].duplicate
        await client.delete_document(receipts[0].document_id)
        assert (await client.receipts(receipts[0].document_id)).receipts[0].erased
        with pytest.raises(NotFound, match="there is no document"):
            await client.document(receipts[0].document_id)
    assert [job.status for job in jobs] == ["indexed"] * 5 + ["parked"]
    assert jobs[-1].reason
    assert [one.name for page in pages for one in page.documents] == [*names, "scan.pdf"]
    assert [len(page.documents) for page in pages][:3] == [2, 2, 2]
    assert (parked[0].name, parked[0].labels) == ("scan.pdf", ("public",))


async def test_a_client_without_a_key_is_told_what_it_lacks(tmp_path, monkeypatch):
    monkeypatch.delenv("DGRAG_API_KEY", raising=False)
    key = made_key(tmp_path, "read")
    async with live_edge(tmp_path, generator=scripted(REFUSAL)) as (_, url):
        async with AsyncClient(url) as stranger:
            assert (await stranger.health()).ready
            with pytest.raises(Unauthenticated) as caught:
                await stranger.ask(WHO)
        async with AsyncClient(url, api_key=key) as reader:
            assert not (await reader.ask(WHO)).citations
            with pytest.raises(shared.client.Forbidden):
                await reader.add_document("a.md", "Text.")
    assert (caught.value.status, bool(caught.value.next_step)) == (401, True)


async def test_the_records_hold_every_field_that_the_edge_sends(tmp_path):
    """What is left out on purpose is named here: insides of an edge, or of a job."""
    inner = {"crashes", "committed", "created_at", "attempts", "failed_chunk"}
    async with filled(tmp_path) as (edge, url), AsyncClient(url) as client:
        (found,) = [one async for one in client.documents()]
        for call in (calls.document(found.document_id), calls.job(found.job_id), calls.document_text(found.document_id), calls.health()):
            sent = (await edge.http.get(call.path)).json()
            assert is_dataclass(call.reply)
            assert set(sent) - inner - {field.name for field in fields(call.reply)} == set()
