"""Files that cannot be read here now: said at the routes and in the console, and read when that has passed."""

import re

import pytest

from edge_node.documents.readers.controls import CONTROL_PDF
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from tests.support.running_edge import running_edge
from tests.support.waiting import until

pytestmark = pytest.mark.process


@pytest.fixture
def blocked(tmp_path):
    """A file that lies where the reader's folder should be."""
    blocked = tmp_path / "readers"
    blocked.write_text("in the way")
    return blocked


@pytest.fixture
async def edge(blocked, tmp_path):
    reads = ReaderPool(ReaderLimits(60, 2**30), at_once=2, folders=[blocked])
    async with running_edge(tmp_path / "state", reads=reads) as edge:
        yield edge


async def add(edge, name, raw):
    reply = await edge.http.post("/v1/documents", files={"file": (name, raw)})
    assert reply.status_code == 202, reply.text
    return reply.json()["document_id"]


async def view(edge, identity):
    return (await edge.http.get(f"/v1/documents/{identity}")).json()


async def test_a_broken_reader_blames_no_document_is_seen_everywhere_and_heals(edge, blocked):
    pdf, text = await add(edge, "ward.pdf", CONTROL_PDF), await add(edge, "ward.txt", b"Juniper Ward has 28 beds.")
    await until(lambda: edge.node.documents.waiting_for_reader() == 1 and edge.node.documents.counts()["indexed"] == 1)
    waiting = await view(edge, pdf)
    assert (waiting["status"], waiting["code"]) == ("queued", "reader_unavailable")
    assert "damaged" not in str(waiting)
    ready = await edge.http.get("/ready")
    assert (ready.status_code, ready.json()["faults"][0]) == (200, "PDF files cannot be read here now")
    status = (await edge.http.get("/v1/status")).json()
    assert (status["readers"]["faults"], status["readers"]["waiting"]) == (ready.json()["faults"], 1)
    assert str(blocked) not in ready.text + str(status)
    health = (await edge.http.get("/console/health")).text
    assert re.search(r"PDF files cannot be read here now: .*readers", health)
    blocked.unlink()
    await until(lambda: edge.node.documents.counts()["indexed"] == 2)
    assert (await view(edge, text))["status"] == "indexed"
    assert (await edge.http.get("/ready")).json()["faults"] == []
