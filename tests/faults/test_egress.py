"""P1: what is on the wire is in the ledger, committed before the first byte leaves."""

import contextlib
import hashlib
import sqlite3
from contextlib import closing

import httpx2
import pytest

from edge_node.egress.ledger import Ledger
from shared.http.open_mode import CALLER
from tests.support.federation import PLANT, REFUSAL, WARD, federation_cloud
from tests.support.running_edge import running_edge, scripted
from tests.support.waiting import until


class Capture(httpx2.AsyncBaseTransport):
    """Looks, when a body comes, whether the store's file already has its record; through a connection of its own."""

    def __init__(self, app, store):
        self._inner = httpx2.ASGITransport(app)
        self._store = store
        self.bodies = []
        self.unrecorded = []

    async def handle_async_request(self, request):
        body = await request.aread()
        if body:
            found = (len(body), hashlib.sha256(body).hexdigest())
            self.bodies.append(found)
            with closing(sqlite3.connect(self._store)) as connection:
                recorded = connection.execute("SELECT bytes, sha256 FROM egress").fetchall()
            if recorded.count(found) < self.bodies.count(found):
                self.unrecorded.append(request.url.path)
        return await self._inner.handle_async_request(request)


@contextlib.asynccontextmanager
async def two_edges(folder):
    async with contextlib.AsyncExitStack() as stack:
        _, app = await stack.enter_async_context(federation_cloud(folder / "cloud", "Lot L-7713 caused the failure [1]."))
        edges = {}
        for name, text in (("ward", WARD), ("plant", PLANT)):
            capture = Capture(app, folder / name / "edge.db")
            http = httpx2.AsyncClient(headers=CALLER, transport=capture, base_url="http://127.0.0.1")
            edge = await stack.enter_async_context(
                running_edge(folder / name, id=name, strategy="dgrag", generator=scripted(REFUSAL), cloud=http)
            )
            await edge.add("report.md", text)
            await until(lambda edge=edge: edge.node.link.in_sync)
            edges[name] = edge, capture
        yield edges


async def live(edges):
    """Everything that an edge sends: it joins, syncs, asks, answers, refuses, shows heads, deletes."""
    ward, _ = edges["ward"]
    answer = await ward.ask("Which lot of the battery pack caused the failure of infusion pumps?")
    assert answer["route"] == "cloud"
    await ward.ask("Which lot?", mode="cloud")
    listed = (await ward.http.get("/v1/documents")).json()["documents"]
    await ward.http.delete(f"/v1/documents/{listed[0]['document_id']}")
    await until(lambda: ward.node.link.in_sync)


async def test_every_body_on_the_wire_has_its_record_before_it_leaves(tmp_path):
    async with two_edges(tmp_path) as edges:
        await live(edges)
        for edge, _ in edges.values():
            await edge.node.link._ledger.send()
            assert edge.node.ledger.unseen() is None
        for edge, capture in edges.values():
            entries = edge.node.ledger.entries(limit=1000)
            assert capture.unrecorded == []
            assert [(entry.bytes, entry.sha256) for entry in entries] == capture.bodies
            assert edge.node.ledger.verify() == []
        kinds = {name: {entry.kind for entry in edge.node.ledger.entries(limit=1000)} for name, (edge, _) in edges.items()}
        assert kinds["ward"] >= {"enrolment", "summaries", "question", "head"}
        assert kinds["plant"] >= {"enrolment", "summaries", "evidence", "head"}


async def test_a_record_that_comes_after_the_send_is_seen(tmp_path, monkeypatch):
    """The null control: an edge that writes its ledger a request late."""
    late, record = [], Ledger.record

    def record_the_one_before(ledger, departure):
        late.append(departure)
        if len(late) > 1:
            record(ledger, late[-2])

    monkeypatch.setattr(Ledger, "record", record_the_one_before)
    async with two_edges(tmp_path) as edges:
        assert edges["ward"][1].unrecorded


async def test_what_left_for_another_site_names_it_its_rule_and_the_passages_and_no_text(tmp_path):
    async with two_edges(tmp_path) as edges:
        await live(edges)
        [entry, *_] = [entry for entry in edges["plant"][0].node.ledger.entries(limit=1000) if entry.kind == "evidence"]
        assert entry.requester == "ward"
        assert "policy" in entry.rule
        assert entry.items.startswith('["')
        page = (await edges["plant"][0].http.get("/v1/audit", params={"limit": 1000})).json()
        assert [record["seq"] for record in page["records"]] == list(range(1, page["after"] + 1))
        assert "L-7713" not in str(page)


@pytest.mark.parametrize("limit", [0, 1001])
async def test_a_page_of_the_audit_has_a_size(tmp_path, limit):
    async with running_edge(tmp_path) as edge:
        assert (await edge.http.get("/v1/audit", params={"limit": limit})).status_code == 422
