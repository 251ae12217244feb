"""A file that is dear to read costs neither the edge nor its questions anything (goals S7, S8)."""

import asyncio

import pytest

from benchmarks.dear_files import word_bomb
from edge_node.ingest.readers.pool import ReaderLimits, ReaderPool
from tests.edge_node.ingest.readers.test_pool import SLOW, children, forker
from tests.security.test_gone_clients import call
from tests.support.running_edge import running_edge
from tests.support.waiting import until

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
