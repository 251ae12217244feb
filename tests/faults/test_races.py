"""R11: writers, readers and removals at once; what was acknowledged is there, and each row answers for itself."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec

import numpy as np
import pytest

from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore
from shared.index import INDEXES, open_index
from shared.models.fake import HashEmbedder
from shared.ports import SystemClock
from shared.vectors import unit
from tests.faults import workload
from tests.faults.on_disk import opened

pytestmark = pytest.mark.campaign
WRITERS = READERS = 8
NO_FAISS = pytest.mark.skipif(find_spec("faiss") is None, reason="the extra faiss is not installed")
NAMES = [pytest.param(name, marks=NO_FAISS if name == "faiss" else ()) for name in INDEXES]
DIMENSIONS = 16


@contextmanager
def eager_threads():
    """Let threads take turns as often as the interpreter can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def at_once(*jobs):
    """Do all jobs in threads; returns what they raised."""
    with eager_threads(), ThreadPoolExecutor(len(jobs)) as pool:
        return [error for future in [pool.submit(job) for job in jobs] if (error := future.exception())]


def rows_of(writer, batch):
    keys = [f"{writer}-{batch}-{number}" for number in range(4)]
    return keys, unit(np.random.default_rng([writer, batch]).standard_normal((4, DIMENSIONS)).astype(np.float32))


def race(index, batches):
    """Each writer puts batches of four and drops every other batch; each reader searches meanwhile. Returns what is wrong."""

    def write(writer):
        for batch in range(batches):
            keys, vectors = rows_of(writer, batch)
            index.put(keys, vectors)
            if batch % 2:
                index.drop(keys)

    def read(reader):
        for _ in range(batches):
            index.top(rows_of(reader, 0)[1][0], 3)

    raised = at_once(*(lambda n=n: write(n) for n in range(WRITERS)), *(lambda n=n: read(n) for n in range(READERS)))
    kept = [rows_of(writer, batch) for writer in range(WRITERS) for batch in range(0, batches, 2)]
    pairs = [(key, vector) for keys, vectors in kept for key, vector in zip(keys, vectors, strict=True)]
    wrong = [f"{type(error).__name__} was raised" for error in raised]
    if len(index) != len(pairs):
        wrong.append(f"{len(pairs)} rows were acknowledged, {len(index)} are there")
    strangers = [key for key, vector in pairs if index.top(vector, 1)[0][0] != key]
    return wrong + ([f"{len(strangers)} rows do not find themselves"] if strangers else [])


@pytest.mark.parametrize("name", NAMES)
def test_an_index_under_eight_writers_and_eight_readers_holds_each_row_with_its_own_vector(name):
    assert race(open_index(name, DIMENSIONS), 100) == []


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_an_index_under_eight_writers_and_eight_readers_for_long_holds_each_row_with_its_own_vector(name):
    assert race(open_index(name, DIMENSIONS), 2000) == []


@pytest.mark.parametrize("name", ["nano", "numpy"])  # faiss would crash the process
def test_an_index_without_its_lock_is_seen_to_lose_rows(name):
    """The null control; one race of twenty is enough."""
    assert any(unguarded_race_goes_wrong(name) for _ in range(20))


def unguarded_race_goes_wrong(name):
    index = open_index(name, DIMENSIONS)
    index._lock = nullcontext()
    try:
        return race(index, 100) != []
    except (IndexError, ValueError):
        return True  # so torn that it cannot be searched any more


def accepting(store, count):
    """Eight clients send documents to one store at once; returns what is wrong."""
    raised = at_once(
        *(lambda n=n: [store.accept(f"{n}-{k}", f"text {n} {k}".encode(), reader="a.txt") for k in range(count)] for n in range(WRITERS))
    )
    there = store.database.row("SELECT count(*) AS n FROM documents")["n"]
    wrong = [f"{type(error).__name__} was raised" for error in raised]
    return wrong + ([f"{there} documents are there"] if there != WRITERS * count else [])


def test_a_store_takes_documents_from_eight_threads(tmp_path):
    database = Database(tmp_path / "edge.db")
    assert accepting(DocumentStore(database, SystemClock()), 20) == []
    database.close()


def test_a_store_without_its_lock_for_writers_is_seen_to_fail(tmp_path):
    """The null control."""
    database = Database(tmp_path / "edge.db")
    database._lock = nullcontext()
    assert accepting(DocumentStore(database, SystemClock()), 40) != []
    database.close()


def text_of(writer, number):
    return f"Depot {writer}{number} stores pump P-{writer}{number}. Depot {writer}{number} sends pump P-{writer}{number} to Ward {number}."


async def busy_edge(edge, count):
    """Eight clients add documents, each removing every third of its own; eight ask meanwhile. Returns the ids that must be there."""
    kept, done = set(), asyncio.Event()

    async def write(writer):
        for number in range(count):
            body = {"name": f"{writer}-{number}.md", "text": text_of(writer, number)}
            sent = await edge.http.post("/v1/documents", json=body)
            assert sent.status_code == 202, sent.text
            kept.add(sent.json()["document_id"])
            if number % 3 == 2:
                gone = await edge.http.delete(f"/v1/documents/{sent.json()['document_id']}")
                assert gone.status_code == 200, gone.text
                kept.discard(sent.json()["document_id"])

    async def read(reader):
        while not done.is_set():
            answered = await edge.http.post("/v1/query", json={"question": f"Where is pump P-{reader}0?"})
            assert answered.status_code == 200, answered.text

    readers = [asyncio.create_task(read(reader)) for reader in range(READERS)]
    try:
        await asyncio.gather(*map(write, range(WRITERS)))
        await edge.settled()
    finally:
        done.set()
        await asyncio.gather(*readers)
    return kept


async def nearest(edge):
    """Each chunk's id with the id that a search for its own text finds first, and the number of rows in the index."""
    index = edge.node.strategy.write_path.passages._index
    with opened(edge.node.documents.database.path) as connection:
        rows = connection.execute("SELECT chunk_id, text FROM chunks").fetchall()
    vectors = await HashEmbedder().embed([text for _, text in rows])
    return {chunk_id: index.top(vector, 1)[0][0] for (chunk_id, _), vector in zip(rows, vectors, strict=True)}, len(index)


def rows(edge):
    """How many documents, chunks and vectors of each kind are on the disk."""
    with opened(edge.node.documents.database.path) as connection:
        (documents,), (chunks,) = (connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("documents", "chunks"))
        return {"documents": documents, "chunks": chunks, **dict(connection.execute("SELECT kind, count(*) FROM vectors GROUP BY kind"))}


async def check_busy_edge(folder, index, count):
    async with workload.edge_of(folder, index=index) as edge:
        kept = await busy_edge(edge, count)
        stored, (found, indexed) = rows(edge), await nearest(edge)
        assert {chunk_id.partition(":")[0] for chunk_id in found} == kept
        assert stored["documents"] == len(kept)
        assert stored["chunks"] == stored["chunk"] == indexed
        assert [chunk_id for chunk_id, nearest in found.items() if nearest != chunk_id] == []
        counts = edge.node.strategy.counts()
        assert (stored["entity"], stored["relation"]) == (counts["entities"], counts["relations"])


async def test_a_busy_edge_has_each_acknowledged_document_once_and_whole(tmp_path):
    """On one index; each of them has its own race above."""
    await check_busy_edge(tmp_path, "nano", 6)


@pytest.mark.long
async def test_an_edge_that_is_busy_for_long_has_each_acknowledged_document_once_and_whole(tmp_path):
    await check_busy_edge(tmp_path, "nano", 60)
