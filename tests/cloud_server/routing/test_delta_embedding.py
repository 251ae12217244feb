import asyncio

import numpy as np
import pytest

from cloud_server.routing.delta_embedding import DELTAS_WAITING, PART_CHARS, DeltaEmbedding, part_turns
from shared.errors import Overloaded

LONG = "pump ward lot " * 100  # a text of which some fill a part


class StepEmbedder:
    """Embeds one part for each permit, and says what it embeds."""

    def __init__(self):
        self.parts, self.begun = [], asyncio.Queue()
        self.permits = asyncio.Semaphore(0)

    async def embed(self, texts):
        self.begun.put_nowait(texts)
        await self.permits.acquire()
        self.parts.append(list(texts))
        return np.array([[float(len(text))] for text in texts], dtype=np.float32)


def texts_of(edge, count):
    return [f"{edge} {number} {LONG}" for number in range(count)]


def sending(embedding, edge, texts):
    async def send():
        async with embedding.one_delta(edge):
            return await embedding.vectors(edge, texts)

    return asyncio.create_task(send())


@pytest.fixture
async def step():
    return StepEmbedder()


@pytest.fixture
async def embedding(step):
    return DeltaEmbedding(step.embed, part_turns(), dimensions=1)


async def test_of_many_texts_small_parts_are_embedded_and_all_rows_come_in_order(step, embedding):
    texts = [*texts_of("ward", 30), "short", "short"]
    step.permits = asyncio.Semaphore(1000)
    rows = await sending(embedding, "ward", texts)
    assert rows[:, 0].tolist() == [float(len(text)) for text in texts]
    assert max(sum(map(len, part)) for part in step.parts) <= PART_CHARS
    assert (await sending(embedding, "ward", [])).shape == (0, 1)


async def test_an_edge_that_sends_little_is_done_while_another_sends_much(step, embedding):
    flood = sending(embedding, "flood", texts_of("flood", 200))
    await step.begun.get()
    ward = sending(embedding, "ward", texts_of("ward", 1))
    for _ in range(4):
        step.permits.release()
    async with asyncio.timeout(20):
        await ward
    assert not flood.done()
    flood.cancel()


async def test_what_was_embedded_for_a_sender_that_left_is_there_when_it_comes_again(step, embedding):
    texts = texts_of("ward", 40)
    gone = sending(embedding, "ward", texts)
    for _ in range(3):
        await step.begun.get()
        step.permits.release()
    await step.begun.get()
    gone.cancel()
    await asyncio.wait([gone])
    done = {text for part in step.parts for text in part}
    step.permits = asyncio.Semaphore(1000)
    rows = await sending(embedding, "ward", texts)
    assert len(rows) == 40
    assert len(done) >= 3
    again = [text for part in step.parts for text in part]
    assert len(again) == 40  # none twice


async def test_nothing_stays_of_an_edge_that_is_forgotten_or_done(step, embedding):
    step.permits = asyncio.Semaphore(1000)
    await sending(embedding, "ward", texts_of("ward", 3))
    await sending(embedding, "ward", texts_of("ward", 3))
    assert sum(map(len, step.parts)) == 6


async def test_deltas_of_one_edge_wait_for_each_other_and_more_than_a_few_are_refused(step, embedding):
    tasks = [sending(embedding, "flood", ["a"]) for _ in range(DELTAS_WAITING + 2)]
    (refused,), _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert isinstance(refused.exception(), Overloaded)
    assert step.begun.qsize() == 1
    step.permits = asyncio.Semaphore(1000)
    for task in tasks:
        task.cancel()
