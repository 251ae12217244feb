"""A file that is dear to read costs neither the edge nor its questions anything (goals S7, S8)."""

import asyncio
import contextlib
import time

import pytest

from benchmarks.files.dear_files import word_bomb
from benchmarks.files.hostile_formats import good, hostile
from edge_node.documents.readers.pool import ReaderLimits, ReaderPool, ReadsHere
from shared.errors import UnreadableDocument
from tests.edge_node.documents.readers.test_pool import SLOW, children, forker
from tests.faults.load import edge_process
from tests.security.test_gone_clients import call
from tests.support.running_edge import running_edge
from tests.support.waiting import until

pytestmark = pytest.mark.process

LINES = b"a\r" * 4_000_000  # below the limit for uploads; each step of reading them is one call that keeps the interpreter's lock
GOOD = "Juniper Ward reported the failure of four infusion pumps."


@pytest.fixture
async def edge_with(tmp_path):
    pools = []

    def make(*, seconds=600):
        pools.append(ReaderPool(ReaderLimits(seconds, 2**30), at_once=2))
        return running_edge(tmp_path, reads=pools[-1]), lambda: children(forker(pools[-1]))

    yield make
    for pool in pools:
        pool.close()


def upload(edge, path, name, raw):
    return asyncio.create_task(edge.http.post(path, files={"file": (name, raw)}))


async def test_a_small_pdf_that_takes_minutes_is_parked_with_its_reason_and_holds_up_nothing(edge_with):
    running, reading = edge_with(seconds=1)
    async with running as edge:
        estimate = upload(edge, "/v1/estimate", "slow.pdf", SLOW)
        await until(reading)
        assert (await edge.http.get("/health")).status_code == 200
        assert not estimate.done()
        found = (await estimate).json()
        assert [item["code"] for item in found["unreadable"]] == ["too_slow"]

        sent = (await upload(edge, "/v1/documents", "slow.pdf", SLOW)).json()
        await edge.add("good.txt", GOOD)
        view = (await edge.http.get(f"/v1/documents/{sent['document_id']}")).json()
        assert (view["status"], view["code"]) == ("parked", "too_slow")


async def test_a_document_that_is_cancelled_or_deleted_while_it_is_read_has_no_reader_any_more(edge_with):
    running, reading = edge_with()
    async with running as edge:
        for method, path in (("POST", "/v1/jobs/{job_id}/cancel"), ("DELETE", "/v1/documents/{document_id}")):
            sent = (await upload(edge, "/v1/documents", f"{method}.pdf", SLOW)).json()
            await until(reading)
            assert (await edge.http.request(method, path.format(**sent))).is_success
            await until(lambda: not reading())


async def test_a_client_that_goes_takes_its_estimate_along(edge_with):
    running, reading = edge_with()
    async with running as edge:
        gone = asyncio.Event()
        form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="slow.pdf"\r\n\r\n' + SLOW + b"\r\n--b--\r\n"
        serving = asyncio.create_task(
            call(edge.http._transport.app, "/v1/estimate", form, gone_after=gone, content_type=b"multipart/form-data; boundary=b")
        )
        await until(reading)
        gone.set()
        await until(lambda: not reading())
        await serving


async def test_a_word_file_that_unfolds_to_a_million_paragraphs_is_parked_with_its_reason(edge_with):
    running, _ = edge_with(seconds=1)
    async with running as edge:
        sent = (await upload(edge, "/v1/documents", "bomb.docx", word_bomb())).json()
        await edge.settled()
        view = (await edge.http.get(f"/v1/documents/{sent['document_id']}")).json()
        assert (view["status"], view["code"] in {"too_slow", "too_large"}) == ("parked", True), view


async def cpu_seconds_of_this_process(reads):
    """What reading a long text costs the process that serves: of a child's work nothing, however busy the machine is."""
    await reads.read("warm.txt", b"28 beds")
    before = time.process_time()
    await reads.read("lines.txt", LINES)
    return time.process_time() - before


async def test_a_reader_in_the_edges_own_process_takes_its_time_and_one_in_a_child_does_not():
    """Null control: the first of both."""
    pool = ReaderPool(ReaderLimits(600, 2**31), at_once=1)
    with contextlib.closing(pool):
        here, in_a_child = await cpu_seconds_of_this_process(ReadsHere()), await cpu_seconds_of_this_process(pool)
    assert here > 3 * in_a_child


async def test_a_reader_in_the_edges_own_process_knows_no_limit():
    """Null control: the same file, parked where a child reads it."""
    bomb, pool = word_bomb(400_000), ReaderPool(ReaderLimits(1, 2**30), at_once=1)
    with contextlib.closing(pool), pytest.raises(UnreadableDocument, match="1 s of a core"):
        await pool.read("bomb.docx", bomb)
    assert len((await ReadsHere().read("bomb.docx", bomb)).text) > 2 * 400_000 - 10


async def test_a_bomb_that_is_sent_to_a_real_edge_is_parked_with_its_reason(tmp_path):
    async with edge_process(tmp_path, "http://127.0.0.1:9", reader_memory_bytes=64 * 2**20) as (_, http):
        sent = (await http.post("/v1/documents", files={"file": ("bomb.docx", word_bomb())})).json()
        while not (await http.get("/v1/status")).json()["settled"]:  # noqa: ASYNC110 - another process announces nothing
            await asyncio.sleep(0.05)
        view = (await http.get(f"/v1/documents/{sent['document_id']}")).json()
        assert (view["status"], view["code"]) == ("parked", "too_large")
        assert "67,108,864 bytes of memory" in view["reason"]
        assert (await http.get("/health")).is_success


async def test_a_hostile_file_of_each_format_is_parked_and_health_is_well(edge_with):
    running, _ = edge_with(seconds=20)
    async with running as edge:
        for suffix, sound in good().items():
            name, raw = [one for one in hostile(suffix, sound) if one[0].startswith(("bomb", "misnamed"))][-1]
            sending = upload(edge, "/v1/documents", name, raw)
            assert (await edge.http.get("/health")).status_code == 200
            assert (await sending).is_success
        await edge.add("good.txt", GOOD)
        assert (await edge.http.get("/health")).status_code == 200
        listed = (await edge.http.get("/v1/documents", params={"status": "parked", "limit": 100})).json()["documents"]
        assert len(listed) == len(good())
        assert all(view["reason"] and view["next_step"] for view in listed)
