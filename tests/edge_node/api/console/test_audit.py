"""The egress ledger at the console: listed, verified, and as a file that no spreadsheet runs."""

import csv
import io
import json

import pytest

from edge_node.egress.ledger import EgressRecord
from tests.support.console import visited_edge


@pytest.fixture
async def by(tmp_path):
    async with visited_edge(tmp_path) as visits:
        yield visits


def leave(by, times, **fields):
    for _ in range(times):
        by["admin"].edge.node.ledger.record(EgressRecord("evidence", "http://cloud", b"{}", **{"requester": "plant", **fields}))


async def test_only_an_admin_sees_the_ledger(by):
    for path in ("", "/verify", "/export/csv"):
        assert [(await by[role].get(f"/console/audit{path}")).status_code for role in ("read", "write", "admin")] == [403, 403, 200]


async def test_records_come_newest_first_page_by_page(by):
    leave(by, 60)
    first, second = [(await by["admin"].get(f"/console/audit{query}")).text for query in ("", "?before=11")]
    assert (first.index(">60<") < first.index(">11<"), ">10<" in first, "before=11" in first) == (True, False, True)
    assert (">10<" in second, ">11<" in second, "older" in second, "newest" in second) == (True, False, False, True)


async def test_a_changed_record_is_found_by_verifying(by):
    leave(by, 3)
    assert "3 records: each is as it was written" in (await by["admin"].get("/console/audit/verify")).text
    with by["admin"].edge.node.documents.database.write() as tx:
        tx.execute("UPDATE egress SET purpose = 'other' WHERE seq = 2")
    found = (await by["admin"].get("/console/audit/verify")).text
    assert ("not whole" in found, "record 2: the record was changed" in found) == (True, True)


async def test_the_file_has_every_record_and_no_cell_that_a_spreadsheet_runs(by):
    leave(by, 1_001)
    leave(by, 1, purpose="=HYPERLINK(1)", requester="<b>\r\n@x")
    answer = await by["admin"].get("/console/audit/export/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert (len(rows), answer.headers["content-disposition"].startswith('attachment; filename="egress-')) == (1_002, True)
    assert (rows[-1]["purpose"], rows[-1]["requester"]) == ("'=HYPERLINK(1)", "<b> @x")
    lines = (await by["admin"].get("/console/audit/export/jsonl")).text.splitlines()
    assert (len(lines), json.loads(lines[-1])["purpose"]) == (1_002, "=HYPERLINK(1)")
    assert (await by["admin"].get("/console/audit/export/exe")).status_code == 422
    assert "<b>" not in (await by["admin"].get("/console/audit")).text
