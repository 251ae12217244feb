import httpx2

from benchmarks.records import Cited, Overview
from benchmarks.stages.opening import opened

REPORT = {
    "findings": [
        {"text": "Late.", "sources": [{"chunk_id": "5:0", "outside_id": "d1:0"}, {"chunk_id": "5:1", "outside_id": "d1:1"}]},
        {"text": "Twice.", "sources": [{"chunk_id": "5:7", "outside_id": "d1:7"}]},
    ]
}
PLACES = {"/v1/documents/d1": {}, "/v1/documents/d2": {}, "/v1/reports/r1": REPORT}


async def faults(*cited):
    """The faults of the references, and what was asked for."""
    seen = []

    def answer(request):
        seen.append(request.url.path)
        if request.url.host == "gone":
            raise httpx2.ConnectError("refused", request=request)
        known = PLACES.get(request.url.path)
        return httpx2.Response(200, json=known) if known is not None else httpx2.Response(404, json={"code": "not_found", "detail": "none"})

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        found = await opened(Overview("", (), 1, 1, cited), {"bank": "http://bank", "ward": "http://gone"}, http)
    return [one.fault for one in found.cited], seen


async def test_a_reference_opens_where_its_report_rests_on_all_its_passages_and_each_place_is_asked_once():
    one = Cited(1, "bank", "d1", "loans.md", "r1", ("d1:0", "d1:7"))
    found, seen = await faults(one, one)
    assert found == ["", ""]
    assert seen == ["/v1/documents/d1", "/v1/reports/r1"]


async def test_the_edge_that_answers_alone_cites_by_its_own_ids():
    assert (await faults(Cited(1, "bank", "d1", "loans.md", "r1", ("5:0", "5:7"))))[0] == [""]


async def test_a_passage_needs_no_report():
    assert (await faults(Cited(1, "bank", "d1", "loans.md", "", ("d1:0",))))[0] == [""]


async def test_what_does_not_open_says_why():
    wrong = [
        Cited(1, "bank", "d9", "x.md", "r1", ("d1:0",)),
        Cited(2, "bank", "d1", "loans.md", "r9", ("d1:0",)),
        Cited(3, "bank", "d1", "loans.md", "r1", ("d1:5",)),  # of the right document
        Cited(4, "bank", "d1", "loans.md", "r1", ("d1:0", "d1:6", "d1:5")),
        Cited(5, "mill", "d1", "loans.md", "r1", ("d1:0",)),
        Cited(6, "ward", "d1", "loans.md", "r1", ("d1:0",)),
    ]
    assert (await faults(*wrong))[0] == [
        "404 not_found: none",
        "404 not_found: none",
        "the report does not rest on d1:5",
        "the report does not rest on d1:5, d1:6",
        "there is no edge mill",
        "ConnectError: refused",
    ]
