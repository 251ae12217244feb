"""Chunks are read and embedded at once."""

import asyncio

import pytest

from edge_node.records import silent
from shared.errors import ModelUnavailable
from shared.models.fake import HashEmbedder
from tests.support.settling import Bench, said_of


class Watched(HashEmbedder):
    """Tells when it was asked; answers when it may."""

    def __init__(self):
        super().__init__()
        self.asked, self.may_end, self.cancelled = asyncio.Event(), asyncio.Event(), False

    async def embed(self, texts):
        self.asked.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return await super().embed(texts)


@pytest.fixture
async def bench(tmp_path):
    async with Bench.opened(tmp_path) as made:
        document_id = await made.add("ward", ["Pump"])
        made.chunks = [made.documents.chunks([f"{document_id}:0"])[f"{document_id}:0"][0]]
        made.embedder = made.strategy.write_path.passages._embedder = Watched()
        made.read = made.strategy.write_path.extractor.extract = Reads(made)
        yield made


class Reads:
    """Reads only when the embedder works; tells of one step."""

    def __init__(self, bench):
        self.bench, self.error = bench, None

    async def __call__(self, chunks, progress):
        await self.bench.embedder.asked.wait()
        progress("extract", 1, 1)
        if self.error:
            raise self.error
        self.bench.embedder.may_end.set()
        return said_of(chunks[0], ["Pump"], [], [])


async def test_a_document_is_embedded_while_it_is_read_and_progress_tells_of_one_after_the_other(bench):
    steps = []
    await bench.strategy.add(bench.chunks, lambda *step: steps.append(step[0]))
    assert list(dict.fromkeys(steps)) == ["extract", "embed"]


async def test_where_it_cannot_be_read_it_is_embedded_no_further(bench):
    bench.read.error = ModelUnavailable("away")
    with pytest.raises(ModelUnavailable):
        await bench.strategy.add(bench.chunks, silent)
    await asyncio.sleep(0)
    assert bench.embedder.cancelled
