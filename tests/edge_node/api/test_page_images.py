"""The picture of a page over HTTP, drawn by a real reader's child."""

import io

import pytest
from PIL import Image, ImageChops

from edge_node.documents.readers.pool import ReaderLimits, ReaderPool
from tests.support.pdfs import PAGE, at, pdf
from tests.support.running_edge import running_edge

pytestmark = pytest.mark.process
SENTENCE = "The crane of the quay was oiled in May."
OTHER = "The ferry carries twelve lorries."
WIDTH = 595
LINE = (50, 300)  # of the sentence, in points from the upper left corner
CRANES = pdf([at(50, 100, OTHER), at(50, 60, "Cranes", size=16) + at(*LINE, SENTENCE)])


@pytest.fixture
def pool():
    made = ReaderPool(ReaderLimits(seconds=20, memory_bytes=2**30), at_once=1)
    yield made
    made.close()


def box_of(image):
    """Where it is not white."""
    return ImageChops.invert(image.convert("L")).getbbox()


async def test_the_cited_sentence_is_marked_on_its_page_and_on_no_other(tmp_path, pool):
    async with running_edge(tmp_path, reads=pool) as edge:
        sent = await edge.http.post("/v1/documents", files={"file": ("cranes.pdf", CRANES)})
        await edge.settled()
        identity = sent.json()["document_id"]
        text = (await edge.http.get(f"/v1/documents/{identity}/text")).json()["text"]
        start = text.index(SENTENCE)
        span = f"{start}-{start + len(SENTENCE)}"

        async def drawn(page, **query):
            got = await edge.http.get(f"/v1/documents/{identity}/pages/{page}.png", params={"width": WIDTH, **query})
            assert (got.status_code, got.headers["content-type"]) == (200, "image/png")
            image = Image.open(io.BytesIO(got.content))
            assert (image.format, image.size) == ("PNG", PAGE)
            return image.convert("RGB")

        first, second = await drawn(1), await drawn(2)
        assert box_of(first)[1] > 80  # its one line stands below the other page's heading
        assert box_of(second)[1] < 60
        left, top, right, bottom = ImageChops.difference(second, await drawn(2, span=span)).getbbox()
        assert LINE[1] - 15 < top < bottom < LINE[1] + 8
        assert LINE[0] - 4 < left < right < LINE[0] + 200
        assert ImageChops.difference(first, await drawn(1, span=span)).getbbox() is None
        missing = await edge.http.get(f"/v1/documents/{identity}/pages/3.png")
        assert missing.status_code == 404
