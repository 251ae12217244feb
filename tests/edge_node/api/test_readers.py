"""Files that cannot be read here now: said at the routes and in the console, and read when that has passed."""

import io
import re

import pytest
from PIL import Image, ImageDraw, ImageFont

from edge_node.documents.readers import tessdata
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from edge_node.documents.readers.tessdata import Recognition
from tests.support.running_edge import running_edge
from tests.support.waiting import until

pytestmark = pytest.mark.process


@pytest.fixture
def data(tmp_path):
    """Tesseract's data of a language, cut by a full disk."""
    folder = tmp_path / "tessdata"
    folder.mkdir()
    path = folder / "xyz.traineddata"
    path.write_bytes(b"cut")
    return path


@pytest.fixture
async def edge(data, tmp_path):
    recognition = Recognition("xyz", str(data.parent))
    reads = ReaderPool(ReaderLimits(60, 2**30), at_once=2, recognition=recognition)
    async with running_edge(tmp_path / "state", reads=reads) as edge:
        yield edge


def picture(line):
    """A line of text as a PNG."""
    page = Image.new("1", (1240, 300), 1)
    ImageDraw.Draw(page).text((80, 120), line, font=ImageFont.load_default(44), fill=0)
    target = io.BytesIO()
    page.save(target, "PNG")
    return target.getvalue()


async def add(edge, name, raw):
    reply = await edge.http.post("/v1/documents", files={"file": (name, raw)})
    assert reply.status_code == 202, reply.text
    return reply.json()["document_id"]


async def view(edge, identity):
    return (await edge.http.get(f"/v1/documents/{identity}")).json()


async def test_a_broken_reader_blames_no_document_is_seen_everywhere_and_heals(edge, data):
    scan, text = (
        await add(edge, "ward.png", picture("Pump P-7 was recalled in Bergen.")),
        await add(edge, "ward.txt", b"Juniper Ward has 28 beds."),
    )
    await until(lambda: edge.node.documents.waiting_for_reader() == 1 and edge.node.documents.counts()["indexed"] == 1)
    waiting = await view(edge, scan)
    assert (waiting["status"], waiting["code"]) == ("queued", "reader_unavailable")
    assert "damaged" not in str(waiting)
    ready = await edge.http.get("/ready")
    assert (ready.status_code, ready.json()["faults"][0]) == (200, "text in images cannot be read here now")
    status = (await edge.http.get("/v1/status")).json()
    assert (status["readers"]["faults"], status["readers"]["waiting"]) == (ready.json()["faults"], 1)
    assert str(data) not in ready.text + str(status)
    health = (await edge.http.get("/console/health")).text
    assert re.search(r"text in images cannot be read here now: Failed to init", health)
    data.unlink()
    data.symlink_to(tessdata._installed()["eng"])
    await until(lambda: edge.node.documents.counts()["indexed"] == 2)
    assert (await view(edge, text))["status"] == "indexed"
    assert (await edge.http.get("/ready")).json()["faults"] == []
