import pytest

from edge_node.api.metrics import EdgeReadings
from edge_node.egress.ledger import DEPARTURES, EgressRecord
from tests.support.running_edge import running_edge


@pytest.fixture
async def edge(tmp_path):
    async with running_edge(tmp_path) as running:
        yield running


async def read(readings):
    return {reading.name: dict(reading.values) for reading in await readings.read()}


async def test_bytes_that_left_are_summed_by_kind_and_no_record_counts_twice(edge):
    readings = EdgeReadings(edge.node, {})
    edge.node.ledger.record(EgressRecord("question", "http://cloud", b"x" * 10))
    edge.node.ledger.record(EgressRecord("evidence", "http://cloud", b"x" * 30))
    assert (await read(readings))["dgrag_egress_bytes_total"][("question",)] == 10
    edge.node.ledger.record(EgressRecord("question", "http://cloud", b"x" * 5))
    for _ in range(2):
        found = (await read(readings))["dgrag_egress_bytes_total"]
        assert {kind: size for (kind,), size in found.items() if size} == {"question": 15, "evidence": 30}


async def test_a_record_whose_kind_is_damaged_is_no_label(edge):
    edge.node.ledger.record(EgressRecord("canary", "http://cloud", b"x" * 10))
    found = (await read(EdgeReadings(edge.node, {})))["dgrag_egress_bytes_total"]
    assert {kind for (kind,) in found} == set(DEPARTURES)


async def test_documents_are_told_by_status_and_the_store_by_its_bytes(edge):
    before = await read(EdgeReadings(edge.node, {}))
    await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps. " * 400)
    after = await read(EdgeReadings(edge.node, {}))
    assert (before["dgrag_documents"][("indexed",)], after["dgrag_documents"][("indexed",)]) == (0, 1)
    assert after["dgrag_store_bytes"][()] > before["dgrag_store_bytes"][()]


async def test_readiness_is_a_figure(edge):
    assert (await read(EdgeReadings(edge.node, {})))["dgrag_ready"] == {(): 1}
    edge.node.failed = "its task died"
    assert (await read(EdgeReadings(edge.node, {})))["dgrag_ready"] == {(): 0}


async def test_shares_that_have_left_are_told_of_the_one_that_has_most_and_of_all_together(edge):
    await edge.add("report.md", "Juniper Ward reported the failure of four infusion pumps.")
    for name, items in (("bank-1", ("a",)), ("bank-2", ("a", "b")), ("bank-3", ("c",))):
        edge.node.ledger.record(EgressRecord("evidence", "http://cloud", b"x", requester=name, items=items))
    found = await read(EdgeReadings(edge.node, {}))
    assert (found["dgrag_most_disclosed_share"][()], found["dgrag_all_disclosed_share"][()]) == (2, 3)  # of one passage
