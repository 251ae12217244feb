"""Reports that a model has written: asked for once, kept over a restart, gone with what they were made of."""

from dataclasses import replace

import pytest

from edge_node.communities.selection import ReportQuery
from edge_node.communities.service import GUESTS
from edge_node.communities.store import ReportStore
from shared.errors import Conflict, DiskFull
from tests.support.settling import Bench

MODEL = {"subgraph_entities": 4, "community_entities": 2, "reports": "model"}


def reports_of(bench):
    return bench.strategy.write_path.reports


async def towns(bench):
    """Two places of four things each, that are told of together, and one of two."""
    for place, things in {"Ward": ("Pump", "Alarm", "Bed"), "Gate": ("River", "Wall", "Lock"), "Bank": ("Loan",)}.items():
        await bench.add(f"{place}.md", (place, *things), related=[(place, thing) for thing in things])
    await bench.add("both.md", ("Ward", "Gate"), related=[("Ward", "Gate")])
    await bench.settle()


def by_model(draft):
    """What a model makes of it."""
    return replace(draft.plain, title=f"Of {draft.plain.title}", summary="As told.", by_model=True)


async def written(bench, *, by=by_model):
    """The communities of all drafts, in the order of asking, until nothing is left to write."""
    order = []
    for _ in range(100):
        drafts = await reports_of(bench).unwritten(2)
        if not drafts:
            return order
        for draft in drafts:
            order.append(draft.plain)
            await reports_of(bench).keep(draft, by(draft))
    raise AssertionError("it never ends")


async def all_reports(bench):
    ids = {one.community.community_id for level in range(4) for one in await bench.strategy.reports.communities(level, limit=1000)}
    return {key: await bench.strategy.reports.report(key) for key in ids}


async def test_the_model_writes_each_level_down_to_the_finest_those_below_first(tmp_path):
    async with Bench.opened(tmp_path, **MODEL, report_finest=2) as bench:
        await towns(bench)
        order = await written(bench)
        reports = await all_reports(bench)
        assert {one.community_id for one in order} == {key for key, one in reports.items() if one.level <= 2}
        assert [one.level for one in order] == sorted((one.level for one in order), reverse=True)
        assert len(order) == len({one.community_id for one in order})
        assert {one.by_model for one in reports.values() if one.level <= 2} == {True}
        assert {one.by_model for one in reports.values() if one.level == 3} == {False}


async def test_one_above_another_that_is_to_be_written_waits(tmp_path):
    async with Bench.opened(tmp_path, **MODEL, report_finest=3) as bench:
        await towns(bench)
        drafts = await reports_of(bench).unwritten(1000)
        communities = {
            one.community.community_id: one.community
            for level in range(4)
            for one in await bench.strategy.reports.communities(level, limit=1000)
        }
        assert {draft.plain.community_id for draft in drafts} == {key for key, one in communities.items() if not one.children}
        assert len(drafts) < len(communities)


async def test_titles_of_the_model_stand_in_the_list_too(tmp_path):
    async with Bench.opened(tmp_path, **MODEL) as bench:
        await towns(bench)
        await written(bench)
        assert {one.title[:3] for one in await bench.strategy.reports.communities(0, limit=10)} == {"Of "}


async def test_what_was_written_and_c0_and_c1_are_the_same_after_a_restart(tmp_path):
    async with Bench.opened(tmp_path, **MODEL) as bench:
        await towns(bench)
        await bench.add("Mill.md", ("Mill", "Ward"), related=[("Mill", "Ward")])
        await bench.settle()
        await written(bench)
        before, labels = await all_reports(bench), reports_of(bench)._uppers
    async with Bench.opened(tmp_path, **MODEL) as again:
        assert await all_reports(again) == before
        assert reports_of(again)._uppers == labels
        assert await reports_of(again).unwritten(8) == []


async def test_labels_that_cannot_be_kept_do_not_keep_a_question_from_its_answer(tmp_path, monkeypatch):
    def full(*_):
        raise DiskFull(tmp_path)

    async with Bench.opened(tmp_path, **MODEL) as bench:
        await towns(bench)
        monkeypatch.setattr(ReportStore, "save_uppers", full)
        assert await bench.strategy.reports.communities(0, limit=1)


async def test_an_attempt_without_use_is_made_once_and_the_plain_report_stays(tmp_path):
    async with Bench.opened(tmp_path, **MODEL) as bench:
        await towns(bench)
        before = await all_reports(bench)
        assert await written(bench, by=lambda draft: draft.plain)
        assert await reports_of(bench).unwritten(8) == []
        assert await all_reports(bench) == before


async def test_what_is_stale_is_counted_and_at_the_end_nothing_is(tmp_path):
    async with Bench.opened(tmp_path, **MODEL) as bench:
        assert reports_of(bench).stale == 0
        await towns(bench)
        assert reports_of(bench).stale > 0
        (draft, *_) = await reports_of(bench).unwritten(1)
        before = reports_of(bench).stale
        await reports_of(bench).keep(draft, by_model(draft))
        assert reports_of(bench).stale == before - 1
        await written(bench)
        assert reports_of(bench).stale == 0
        await bench.add("Debt.md", ("Debt", "Loan"), related=[("Debt", "Loan")])
        await bench.settle()
        assert reports_of(bench).stale > 0


async def test_what_is_kept_stands_at_once_and_no_other_text_is_read_again(tmp_path, monkeypatch):
    read, original = [], ReportStore.texts
    monkeypatch.setattr(ReportStore, "texts", lambda store: read.append(1) or original(store))
    short = {"subgraph_entities": 6, "report_context_tokens": 200, "report_tokens": 64, "report_finest": 3}
    async with Bench.opened(tmp_path, **MODEL | short) as bench:
        await towns(bench)
        keeper, kept, uppers = reports_of(bench), 0, []
        while drafts := await keeper.unwritten(1):
            uppers += [draft for draft in drafts if any("Truly" in line.text for line in draft.lines)]
            await keeper.keep(drafts[0], replace(by_model(drafts[0]), findings=truly(drafts[0].plain.findings)))
            kept += 1
            assert len(read) == 1
            here = await all_reports(bench), await keeper.unwritten(100)
            keeper._own = None
            assert (await all_reports(bench), await keeper.unwritten(100)) == here
            read.pop()
        assert kept > 3
        assert uppers  # what stands above was written from what was kept


def truly(findings):
    return tuple(replace(finding, text=f"Truly, {finding.text}") for finding in findings)


@pytest.mark.parametrize("other", [{"reports": "extractive"}, {"reports": "off"}, {"strategy": "naive"}])
async def test_what_a_model_wrote_is_deleted_where_no_model_writes_reports_any_more(tmp_path, other):
    async with Bench.opened(tmp_path, **MODEL) as bench:
        await towns(bench)
        await written(bench, by=lambda draft: replace(by_model(draft), summary="Quillmere."))
        assert "Quillmere" in bench.everything_stored()
    async with Bench.opened(tmp_path, **MODEL) as same:
        assert "Quillmere" in same.everything_stored()
    async with Bench.opened(tmp_path, **MODEL | other) as bench:
        assert "Quillmere" not in bench.everything_stored()
        assert not bench.database.rows("SELECT * FROM report_chunks")


@pytest.mark.parametrize("reports", ["extractive", "off"])
async def test_without_a_model_nothing_waits_for_one_and_its_former_texts_are_not_told(tmp_path, reports):
    async with Bench.opened(tmp_path, **MODEL) as bench:
        await towns(bench)
        await written(bench)
    async with Bench.opened(tmp_path, **MODEL | {"reports": reports}) as bench:
        assert (await reports_of(bench).unwritten(8), reports_of(bench).stale) == ([], 0)
        if reports == "extractive":
            assert not any(one.by_model for one in (await all_reports(bench)).values())


async def test_where_reports_are_off_whoever_asks_is_told_so(tmp_path):
    async with Bench.opened(tmp_path, reports="off") as bench:
        await towns(bench)
        asked = ReportQuery((await bench.tools.embedder.embed(["?"]))[0], 0, 0, 0.5, frozenset())
        for asking in (
            bench.strategy.reports.communities(0, limit=1),
            bench.strategy.reports.report("a"),
            bench.strategy.reports.choose(asked),
        ):
            with pytest.raises(Conflict, match="no reports"):
                await asking


# ------------------------------------------------------------ changes


@pytest.mark.parametrize("settled", [False, True])
async def test_what_a_model_wrote_of_a_removed_document_is_gone_at_once(tmp_path, settled):
    async with Bench.opened(tmp_path, **MODEL) as bench:
        await towns(bench)
        await bench.add("secret.md", ("Ward", "Quillmere"), related=[("Ward", "Quillmere")])
        await bench.settle()
        await written(bench, by=lambda draft: replace(by_model(draft), summary=str(draft.lines)))
        assert "Quillmere" in str(await all_reports(bench))
        stored = ReportStore(bench.database)
        assert any("Quillmere" in str(one) for one in stored.texts().values())
        await bench.remove("secret.md")
        assert not any("Quillmere" in str(one) for one in stored.texts().values())
        if settled:
            await bench.settle()
        assert "Quillmere" not in str(await all_reports(bench))
        await bench.settle()
        kept = len(stored.texts())
        assert kept  # of what has nothing to do with it
        again = await written(bench)
        assert 0 < len(again) < kept + len(again)


async def test_only_what_is_touched_is_written_again(tmp_path):
    async with Bench.opened(tmp_path, **MODEL, report_staleness=0) as bench:
        await towns(bench)
        await written(bench)
        await bench.add("Debt.md", ("Bank", "Debt"), related=[("Bank", "Debt")])
        await bench.settle()
        again = await written(bench)
        assert again
        assert all("Bank" in str(one.findings) for one in again)


async def test_a_text_of_few_other_facts_stays(tmp_path):
    async with Bench.opened(tmp_path, **MODEL | {"subgraph_entities": 40, "community_entities": 40}, report_staleness=0.5) as bench:
        await bench.add("Ward.md", ("Ward", "Pump", "Bed"), related=[("Ward", "Pump"), ("Ward", "Bed")])
        await bench.settle()
        (first,) = await written(bench)
        await bench.add("Alarm.md", ("Ward", "Alarm"), related=[("Ward", "Alarm")])  # 5 facts were there, 7 are: 2/7 differ
        await bench.settle()
        assert await written(bench) == []
        (now,) = (await all_reports(bench)).values()
        assert (now.by_model, now.findings, now.content) == (True, first.findings, first.content)
        assert now.community_id != first.community_id
        await bench.add("More.md", ("Ward", "Bell", "Lamp"), related=[("Ward", "Bell"), ("Ward", "Lamp")])  # 11 facts: 6/11 differ
        await bench.settle()
        (second,) = await written(bench)
        assert "Lamp" in str(second.findings)
        assert set(ReportStore(bench.database).texts()) == {second.community_id}  # what stands for nothing is not kept


async def test_a_text_is_not_kept_where_its_community_has_changed_meanwhile(tmp_path):
    async with Bench.opened(tmp_path, **MODEL) as bench:
        await towns(bench)
        drafts = await reports_of(bench).unwritten(8)
        (bank,) = [draft for draft in drafts if "Loan" in draft.plain.title]
        (ward,) = [draft for draft in drafts if "Pump" in str(draft.lines)]
        await bench.add("Debt.md", ("Bank", "Loan", "Debt"))
        await bench.settle()
        for draft in (bank, ward):
            await reports_of(bench).keep(draft, by_model(draft))
        assert set(ReportStore(bench.database).texts()) == {ward.plain.community_id}
        await bench.remove("Ward.md")
        await reports_of(bench).keep(ward, by_model(ward))
        assert ReportStore(bench.database).texts() == {}


async def test_a_settle_looks_at_no_report(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path, **MODEL) as bench:
        await towns(bench)
        await written(bench)
        for name in ("texts", "commit", "drop", "uppers", "save_uppers"):
            monkeypatch.delattr(ReportStore, name)
        await bench.add("Debt.md", ("Bank", "Debt"), related=[("Bank", "Debt")])
        await bench.remove("Ward.md")
        await bench.settle()


# ------------------------------------------------------------ a question about everything


async def chosen(bench, level, *, read_tokens=0, floor=0.0, withheld=(), question="Which pump does the ward use?", nearness=-1.0):
    vector = (await bench.tools.embedder.embed([question]))[0]
    hidden = frozenset(bench.ids[name] for name in withheld)
    return await bench.strategy.reports.choose(ReportQuery(vector, level, read_tokens, floor, hidden, nearness))


async def test_where_nothing_is_near_what_is_most_told_of_comes_first_and_none_is_too_far(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        for n in range(4):
            await bench.add(f"{n}.md", ("Gate", f"Lock {n}"), related=[("Gate", f"Lock {n}")])
        await bench.add("Bank.md", ("Bank", "Loan"), related=[("Bank", "Loan")])
        await bench.add("Ward.md", ("Ward", "Pump"), related=[("Ward", "Pump")])
        await bench.settle()
        near, far = [await chosen(bench, "dynamic", floor=1.0, nearness=nearness) for nearness in (-1.0, 1.01)]
        sizes = [len({chunk for finding in report.findings for chunk in finding.chunk_ids}) for report in far.reports]
        assert len(near.reports) < len(far.reports) == far.there
        assert sizes == sorted(sizes, reverse=True)
        assert "Gate" in far.reports[0].title


async def test_a_level_is_read_whole_or_as_far_as_the_tokens_go(tmp_path):
    async with Bench.opened(tmp_path, subgraph_entities=4, community_entities=2) as bench:
        await towns(bench)
        for level in range(4):
            ids = {one.community.community_id for one in await bench.strategy.reports.communities(level, limit=100)}
            found = await chosen(bench, level)
            assert ({one.community_id for one in found.reports}, found.there) == (ids, len(ids))
            first = await chosen(bench, level, read_tokens=1)
            assert (first.reports, first.there) == (found.reports[:1], len(ids))


async def test_descent_reads_what_is_near_the_question_as_far_down_as_the_tokens_go(tmp_path):
    async with Bench.opened(tmp_path, subgraph_entities=4, community_entities=2) as bench:
        await bench.add(
            "Ward.md", ("Ward", "Pump", "Bed", "Lamp"), related=[("Ward", "Pump"), ("Bed", "Lamp")], text="Which pump does it use?"
        )
        await bench.add("Bank.md", ("Bank", "Loan"), related=[("Bank", "Loan")], text="Nothing of the sort.")
        await bench.settle()
        found = await chosen(bench, "dynamic", floor=0.9, question="Which pump does it use?")
        assert "Ward" in str(found.reports)
        assert "Bank" not in str(found.reports)
        leaves = {one.community_id for one in (await chosen(bench, 3)).reports}
        assert {one.community_id for one in found.reports} < leaves
        assert found.there == len(leaves)
        few = await chosen(bench, "dynamic", floor=0.9, read_tokens=1, question="Which pump does it use?")
        assert len(few.reports) == 1


async def test_passages_stand_in_the_place_of_reports_the_nearest_first(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        await bench.add("pump.md", ("Pump",), text="Which pump does the ward use?")
        await bench.add("gate.md", ("Gate",), text="Something else entirely.")
        await bench.settle()
        found = await chosen(bench, "text")
        assert [(one.title, one.findings[0].text) for one in found.reports] == [
            ("pump.md", "Which pump does the ward use?"),
            ("gate.md", "Something else entirely."),
        ]
        assert found.reports[0].findings[0].chunk_ids == (f"{bench.ids['pump.md']}:0",)
        assert found.there == 2
        assert len((await chosen(bench, "text", read_tokens=3)).reports) == 1  # each has three tokens
        assert len((await chosen(bench, "text", read_tokens=6)).reports) == 2


async def test_guests_are_told_a_models_text_only_of_what_no_withheld_document_touches(tmp_path):
    async with Bench.opened(tmp_path, **MODEL, report_staleness=1) as bench:
        await towns(bench)
        await bench.add("secret.md", ("Ward", "Quillmere"), related=[("Ward", "Quillmere")])
        await bench.settle()
        await written(bench, by=lambda draft: replace(by_model(draft), summary=f"secret? {'Quillmere' in str(draft.lines)}"))
        reports = [one for level in range(3) for one in (await chosen(bench, level, withheld=["secret.md"])).reports]
        assert {one.summary for one in reports if one.by_model} == {"secret? False"}
        assert any("Pump" in str(one.findings) for one in reports)
        assert not any(one.by_model for one in reports if "Ward" in one.title)


async def test_the_communities_of_few_guests_are_kept(tmp_path):
    async with Bench.opened(tmp_path) as bench:
        names = [f"{number}.md" for number in range(GUESTS + 2)]
        for name in names:
            await bench.add(name, (name, "Ward"), related=[(name, "Ward")])
        await bench.settle()
        for name in names:
            await chosen(bench, 0, withheld=[name])
        assert list(reports_of(bench)._guests) == [frozenset({bench.ids[name]}) for name in names[-GUESTS:]]
        known = dict(reports_of(bench)._guests)
        await chosen(bench, 0, withheld=[names[-GUESTS]])
        assert reports_of(bench)._guests == known
