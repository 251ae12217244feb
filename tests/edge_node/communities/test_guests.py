"""What somebody sees from whom documents are withheld is what would be there without them."""

import random

import pytest

from edge_node.communities.selection import ReportQuery
from tests.support.settling import Bench

SHAPE = {"subgraph_entities": 4, "community_entities": 2}
NAMES = ("Ward", "Wards", "Pump", "Pumps", "Gate", "River", "Lock", "Loan", "Bank", "Debt", "Mill", "Wheel")


async def chosen(bench, *withheld, level=0):
    vector = (await bench.tools.embedder.embed(["What is all this about?"]))[0]
    hidden = frozenset(bench.ids[name] for name in withheld)
    return await bench.strategy.reports.choose(ReportQuery(vector, level, 0, 0.5, hidden))


async def told(bench, *withheld):
    """All that the reports of all levels say, and of how many."""
    found = []
    for level in range(4):
        reports, there = await shape_of(bench, *withheld, level=level)
        found.append((sorted(reports), there))
    return found


async def shape_of(bench, *withheld, level):
    found = await chosen(bench, *withheld, level=level)
    said = [
        (one.title, one.summary, one.rating, one.reason, [(finding.text, finding.chunk_ids) for finding in one.findings])
        for one in found.reports
    ]
    return said, found.there


def corpus(seed):
    """Documents of some names each, with relations and, of some, what a short name stands for."""
    rng = random.Random(seed)
    found = {}
    for number in range(9):
        names = rng.sample(NAMES, rng.randint(1, 4))
        pairs = [tuple(rng.sample(names, 2)) for _ in range(rng.randint(0, 3))] if len(names) > 1 else []
        definitions = [tuple(rng.sample(names, 2))] if len(names) > 1 and rng.random() < 0.4 else []
        found[f"{number}.md"] = {"names": names, "related": pairs, "definitions": definitions}
    return found


async def filled(bench, documents):
    for name, said in documents.items():
        await bench.add(name, **said)
    await bench.settle()


@pytest.mark.parametrize("seed", range(12))
async def test_reports_without_withheld_documents_are_those_of_a_store_without_them(tmp_path, seed):
    documents = corpus(seed)
    withheld = random.Random(seed).sample(sorted(documents), 3)
    async with Bench.opened(tmp_path / "all", **SHAPE) as everything, Bench.opened(tmp_path / "some", **SHAPE) as without:
        await filled(everything, documents)
        await filled(without, {name: said for name, said in documents.items() if name not in withheld})
        assert await told(everything, *withheld) == await told(without)
        assert await told(everything) != await told(without)


async def test_no_name_of_a_withheld_document_is_in_what_a_guest_is_told(tmp_path):
    async with Bench.opened(tmp_path, **SHAPE) as bench:
        await bench.add("open.md", ("NDA", "Pump"), related=[("NDA", "Pump")])
        await bench.add("secret.md", ("Night Dock Agency", "NDA", "Pump"), definitions=[("Night Dock Agency", "NDA")])
        for name in ("more.md", "most.md"):
            await bench.add(name, ("Night Dock Agency", "Pump"))
        await bench.settle()
        assert "night dock agency" in bench.graph_now().entities
        reports = [report for level in range(4) for report in (await chosen(bench, "secret.md", "more.md", "most.md", level=level)).reports]
        assert "NDA" in str(reports)
        assert "dock" not in str(reports).casefold()
        assert "dock" in str([await chosen(bench, level=level) for level in range(4)]).casefold()


async def test_a_guest_from_whom_all_is_withheld_is_told_of_nothing(tmp_path):
    async with Bench.opened(tmp_path, **SHAPE) as bench:
        await bench.add("secret.md", ("Ward", "Pump"), related=[("Ward", "Pump")])
        await bench.settle()
        for level in ("dynamic", "text", 0, 3):
            found = await chosen(bench, "secret.md", level=level)
            assert (found.reports, found.there) == ((), 0)


async def test_a_removed_document_is_hidden_from_guests_at_once(tmp_path):
    async with Bench.opened(tmp_path, **SHAPE) as bench:
        await bench.add("open.md", ("Ward", "Pump"), related=[("Ward", "Pump")])
        await bench.add("gone.md", ("Ward", "Quillmere"), related=[("Ward", "Quillmere")])
        await bench.add("secret.md", ("Ward", "Debt"))
        await bench.settle()
        (first, *_) = (await chosen(bench, "secret.md")).reports
        assert "Quillmere" in str(first)
        assert await bench.strategy.reports.report(first.community_id) == first
        await bench.remove("gone.md")
        assert "Quillmere" not in str(await chosen(bench, "secret.md"))
        assert [report.title for report in (await chosen(bench, "secret.md", level="text")).reports] == ["open.md"]


async def test_a_guests_report_can_be_opened_by_its_id_until_the_graph_changes(tmp_path):
    async with Bench.opened(tmp_path, **SHAPE) as bench:
        await bench.add("open.md", ("Ward", "Pump"), related=[("Ward", "Pump")])
        await bench.add("secret.md", ("Ward", "Debt"), related=[("Ward", "Debt")])
        await bench.settle()
        (report,) = (await chosen(bench, "secret.md")).reports
        own = {one.community_id for level in range(4) for one in (await chosen(bench, level=level)).reports}
        assert report.community_id not in own
        assert await bench.strategy.reports.report(report.community_id) == report
