import asyncio
import threading
from dataclasses import replace

import pytest

from edge_node.communities import drafts as writing_module
from edge_node.communities import service as keeper_module
from edge_node.communities import snapshot as moment_module
from edge_node.communities.selection import NEAREST, ReportQuery, relevance
from edge_node.graph.mentions import MentionStore
from shared.errors import Conflict, NotFound
from tests.support.settling import Bench
from tests.support.waiting import until

LEVELS = range(4)


@pytest.fixture
async def bench(tmp_path):
    """Parts of four entities at most, and of two on the finest level."""
    async with Bench.opened(tmp_path, subgraph_entities=4, community_entities=2) as opened:
        yield opened


def spied(monkeypatch, module, name):
    """The arguments of every call that a module makes of a function."""
    calls, original = [], getattr(module, name)

    def spy(*arguments, **named):
        calls.append(arguments)
        return original(*arguments, **named)

    monkeypatch.setattr(module, name, spy)
    return calls


async def at(bench, level):
    return await bench.strategy.reports.communities(level, limit=1000)


async def ids(bench, level):
    return [one.community.community_id for one in await at(bench, level)]


async def everything_told(bench):
    """All titles, summaries, reasons and findings of all levels."""
    found = {key for level in LEVELS for key in await ids(bench, level)}
    return [str(await bench.strategy.reports.report(key)) for key in sorted(found)]


async def everything(bench, level):
    """A question about everything, to be answered from a whole level."""
    return ReportQuery((await bench.tools.embedder.embed(["What is all this about?"]))[0], level, 0, 0.0, frozenset())


async def towns(bench):
    """Two places of four things each, and one of two."""
    for place, things in {"Ward": ("Pump", "Alarm", "Bed"), "Gate": ("River", "Wall", "Lock"), "Bank": ("Loan",)}.items():
        await bench.add(f"{place}.md", (place, *things), related=[(place, thing) for thing in things])
    await bench.settle()


async def test_where_nothing_is_indexed_there_are_no_communities(bench):
    assert [await at(bench, level) for level in LEVELS] == [[], [], [], []]


async def test_each_level_holds_every_entity_once_and_level_2_are_the_parts(bench):
    await towns(bench)
    for level in LEVELS:
        held = [key for one in await at(bench, level) for key in one.community.entities]
        assert sorted(held) == sorted(bench.graph_now().entities)
    assert sorted(one.community.entities for one in await at(bench, 2)) == sorted(
        map(tuple, map(sorted, bench.parts_now().members.values()))
    )
    assert max(len(one.community.entities) for one in await at(bench, 3)) == 2


async def test_a_page_begins_behind_the_id_that_it_is_given(bench):
    await towns(bench)
    everyone = await ids(bench, 3)
    assert len(everyone) > 2
    page = await bench.strategy.reports.communities(3, limit=2, after=everyone[0])
    assert [one.community.community_id for one in page] == everyone[1:3]


async def test_a_report_says_what_the_documents_say_and_where(bench):
    await bench.add("Bank.md", ("Bank", "Loan"), related=[("Bank", "Loan")])
    await bench.settle()
    (only,) = await at(bench, 0)
    report = await bench.strategy.reports.report(only.community.community_id)
    assert (only.title, only.rating, only.chunks) == ("Bank and Loan", 1, 1)
    assert (report.title, report.rating, report.reason) == ("Bank and Loan", 1, "told of in 1 passage of 1 document")
    assert report.findings[0].text.startswith("Bank is told of, at some length")
    assert {finding.chunk_ids for finding in report.findings} == {(f"{bench.ids['Bank.md']}:0",)}


async def test_a_finding_names_the_passages_that_say_it_and_no_other_of_its_elements(bench):
    said = "Ward is told of, at some length and without haste, in old green lamps."
    await bench.add("a.md", ("Ward",), text="old green lamps")
    await bench.add("b.md", ("Ward",), text="It rained on Monday. " + said.replace(", in", ",\nin"))
    await bench.settle()
    (only,) = await at(bench, 0)
    findings = (await bench.strategy.reports.report(only.community.community_id)).findings
    assert {finding.chunk_ids for finding in findings if finding.text == said} == {(f"{bench.ids['b.md']}:0",)}


async def test_an_unknown_community_has_no_report_and_the_error_says_where_the_known_ones_are(bench):
    await towns(bench)
    with pytest.raises(NotFound, match="no report 'c0ffee'") as caught:
        await bench.strategy.reports.report("c0ffee")
    assert "/v1/communities" in caught.value.next_step


async def test_a_community_whose_members_change_has_another_id(bench):
    await bench.add("Bank.md", ("Bank", "Loan"), related=[("Bank", "Loan")])
    await bench.settle()
    (before,) = await ids(bench, 0)
    await bench.add("Debt.md", ("Bank", "Debt"), related=[("Bank", "Debt")])
    await bench.settle()
    with pytest.raises(NotFound):
        await bench.strategy.reports.report(before)
    assert "Debt" in " ".join(await everything_told(bench))


@pytest.mark.parametrize("settled", [False, True])
async def test_a_removed_documents_words_are_in_no_report_and_the_others_stay(bench, settled):
    await towns(bench)
    await bench.add("secret.md", ("Ward", "Quillmere"), related=[("Ward", "Quillmere")])
    await bench.settle()
    assert "Quillmere" in " ".join(await everything_told(bench))
    await bench.remove("secret.md")
    if settled:
        await bench.settle()
    told = " ".join(await everything_told(bench))
    assert "quillmere" not in told.casefold()
    assert "Gate and" in told
    shown = {key for one in await at(bench, 0) for key in one.community.entities}
    assert "ward" in shown  # of what another document says too


async def test_what_a_removed_document_told_of_counts_for_nothing(bench):
    await towns(bench)
    before, told = await ids(bench, 0), await everything_told(bench)
    await bench.add("secret.md", ("Gate", "River"))
    await bench.settle()
    assert await everything_told(bench) != told
    await bench.remove("secret.md")
    for _ in range(2):  # before the settle, and behind it
        assert await ids(bench, 0) == before
        assert await everything_told(bench) == told
        await bench.settle()


async def test_a_settle_makes_no_community_and_what_was_made_is_kept_until_the_graph_changes(bench, monkeypatch):
    made = spied(monkeypatch, moment_module, "hierarchy_of")
    await towns(bench)
    assert made == []
    for _ in range(2):
        await everything_told(bench)
        assert len(made) == 1
    await bench.add("Mill.md", ("Mill", "Wheel"), related=[("Mill", "Wheel")])
    await bench.settle()
    assert len(made) == 1
    await ids(bench, 0)
    assert len(made) == 2


async def test_reports_are_written_again_only_where_something_changed(bench, monkeypatch):
    await towns(bench)
    written = spied(monkeypatch, writing_module, "plain_report")
    await everything_told(bench)
    assert written
    written.clear()
    await everything_told(bench)
    assert written == []
    await bench.add("Debt.md", ("Bank", "Debt"), related=[("Bank", "Debt")])
    await bench.settle()
    await everything_told(bench)
    assert written
    assert all({"bank", "debt", "loan"} & set(community.entities) for community, *_ in written)


async def test_reports_of_former_moments_equal_those_of_a_keeper_that_has_none(bench):
    await towns(bench)
    await everything_told(bench)
    for number in range(3):
        await bench.add(f"{number}.md", ("Ward", f"Thing {number}"), related=[("Ward", f"Thing {number}")])
        await bench.settle()
        told = await everything_told(bench)
        bench.strategy.write_path.reports._own = None
        assert await everything_told(bench) == told


async def test_upper_communities_of_former_moments_are_built_upon(bench, monkeypatch):
    kept = spied(monkeypatch, moment_module, "kept_uppers")
    await towns(bench)
    await ids(bench, 0)
    assert kept == []
    before = bench.strategy.write_path.reports._uppers
    await bench.add("Mill.md", ("Mill", "Wheel"), related=[("Mill", "Wheel")])
    await bench.settle()
    await ids(bench, 0)
    assert [arguments[0] for arguments in kept] == [before]


async def test_a_community_that_is_too_long_is_told_from_the_reports_within_it(tmp_path, monkeypatch):
    async with Bench.opened(tmp_path, subgraph_entities=40, reports="model", report_context_tokens=200, report_tokens=64) as bench:
        names = [f"Ward {number}" for number in range(30)]
        await bench.add("wards.md", names, related=[("Ward 0", name) for name in names[1:]])
        await bench.settle()
        (root,) = await at(bench, 0)
        assert root.community.children
        written = spied(monkeypatch, writing_module, "plain_report")
        await bench.strategy.reports.report(root.community.community_id)
        assert [community.community_id for community, *_ in written] == [*root.community.children, root.community.community_id]


async def test_a_strategy_without_a_graph_says_so(tmp_path):
    async with Bench.opened(tmp_path, strategy="naive") as bench:
        for asked in (bench.strategy.reports.communities(0, limit=1), bench.strategy.reports.report("c0ffee")):
            with pytest.raises(Conflict, match="builds no graph"):
                await asked


# ------------------------------------------------------------ who goes away


class Slow:
    """In the place of ``plain_report``: waits for ``go``, and notes how many write at once."""

    def __init__(self, monkeypatch):
        self.go, self.inside, self.most, self.written = threading.Event(), [], [], []
        self._original = writing_module.plain_report
        monkeypatch.setattr(writing_module, "plain_report", self)

    def __call__(self, community, *arguments, **named):
        self.inside.append(1)
        self.most.append(len(self.inside))
        self.written.append(community.community_id)
        self.go.wait(10)
        self.inside.pop()
        return self._original(community, *arguments, **named)


async def test_who_asks_next_waits_for_the_work_of_one_that_went_away(bench, monkeypatch):
    await towns(bench)
    (first, *_) = await ids(bench, 0)
    slow = Slow(monkeypatch)
    gone = asyncio.create_task(bench.strategy.reports.report(first))
    await until(lambda: slow.most)
    gone.cancel()
    waiting = asyncio.create_task(bench.strategy.reports.report(first))
    slow.go.set()
    assert (await waiting).community_id == first
    assert gone.cancelled()
    assert slow.most == [1]


async def test_who_is_cancelled_twice_lets_nobody_else_in_before_the_thread_is_done(bench, monkeypatch):
    await towns(bench)
    (first, *_) = await ids(bench, 0)
    slow = Slow(monkeypatch)
    gone = asyncio.create_task(bench.strategy.reports.report(first))
    await until(lambda: slow.inside)
    for _ in range(2):
        gone.cancel()
        await asyncio.wait([gone], timeout=0)
    await asyncio.wait([gone])
    assert gone.cancelled()
    assert slow.inside
    assert bench.strategy.write_path.reports._lock.locked()
    waiting = asyncio.create_task(bench.strategy.reports.report(first))
    slow.go.set()
    assert (await waiting).community_id == first
    assert set(slow.most) == {1}


async def test_the_work_for_one_that_went_away_ends_with_the_report_that_it_is_at_and_that_is_kept(bench, monkeypatch):
    await towns(bench)
    everyone = await ids(bench, 3)
    slow = Slow(monkeypatch)
    gone = asyncio.create_task(bench.strategy.reports.choose(await everything(bench, 3)))
    await until(lambda: slow.inside)
    gone.cancel()
    await asyncio.wait([gone], timeout=0)  # it hears of it before the thread goes on
    slow.go.set()
    await asyncio.wait([gone])
    assert gone.cancelled()
    assert len(slow.written) == 1
    assert len((await bench.strategy.reports.choose(await everything(bench, 3))).reports) == len(everyone)
    assert sorted(slow.written) == everyone


async def test_who_goes_away_as_the_work_is_done_leaves_the_next_ones_alone(bench, monkeypatch):
    await towns(bench)
    (first, *_), everyone = await ids(bench, 0), await ids(bench, 3)
    slow, reports = Slow(monkeypatch), bench.strategy.write_path.reports
    finished = reports._finished

    def cancelled_then(thread):
        finished(thread)
        gone.cancel()

    reports._finished = cancelled_then
    gone = asyncio.create_task(bench.strategy.reports.report(first))
    await until(lambda: slow.inside)
    waiting = asyncio.create_task(bench.strategy.reports.choose(await everything(bench, 3)))
    await until(lambda: reports._lock._waiters)
    slow.go.set()
    assert len((await waiting).reports) == len(everyone)
    assert gone.cancelled()


# ------------------------------------------------------------ what is remembered


async def test_leaves_beyond_the_bound_are_forgotten_and_written_again(bench, monkeypatch):
    await towns(bench)
    told = await everything_told(bench)
    reports = bench.strategy.write_path.reports
    reports._own = None
    monkeypatch.setattr(writing_module, "MOST_LEAVES", 2)
    for _ in range(2):
        assert await everything_told(bench) == told
        communities = reports._own.snapshot.hierarchy.communities
        assert len([key for key in reports._own.written if not communities[key].children]) == 2


def test_of_texts_only_the_last_are_remembered(monkeypatch):
    monkeypatch.setattr(writing_module, "REMEMBERED", 2)
    counted = []
    reading = writing_module.SentenceCache.of(lambda text: counted.append(text) or len(text))
    for text in ("a", "b", "b", "c", "a"):
        assert (reading.count(text), reading.split(f"{text} is told.")) == (1, (f"{text} is told.",))
    assert counted == ["a", "b", "c", "a"]
    assert (reading.count.cache_info().maxsize, reading.split.cache_info().maxsize) == (2, 2)


async def test_the_store_is_asked_for_all_chunks_once_for_each_state_of_the_mentions(bench, monkeypatch):
    await towns(bench)
    calls, original = [], MentionStore.chunk_documents
    monkeypatch.setattr(MentionStore, "chunk_documents", lambda store, told: calls.append(1) or original(store, told))
    for _ in range(3):
        await bench.strategy.reports.choose(await everything(bench, 0))
    assert len(calls) == 1
    await bench.remove("Bank.md")
    for _ in range(2):
        assert "Loan" not in str(await bench.strategy.reports.choose(await everything(bench, 0)))
    assert len(calls) == 2


async def test_how_near_a_community_is_is_the_relevance_of_all_its_passages(bench):
    await towns(bench)
    for number in range(8):
        await bench.add(f"{number}.md", ("Ward", "Gate", f"Thing {number % 3}"), related=[("Ward", f"Thing {number % 3}")])
    await bench.settle()
    asked = await everything(bench, 0)
    await bench.strategy.reports.choose(asked)
    reports, moment = bench.strategy.write_path.reports, bench.strategy.write_path.reports._own.snapshot
    held = {
        key: {chunk_id for entity in one.entities for chunk_id in moment.graph.entities[entity].chunk_ids}
        for key, one in moment.hierarchy.communities.items()
    }
    cosines = reports._passages.scores(asked.vector, sorted(set().union(*held.values())))
    assert max(map(len, held.values())) > NEAREST
    assert moment.near(cosines) == {key: relevance(cosines, chunk_ids) for key, chunk_ids in held.items()}
    assert set(moment.near({}).values()) == {-1.0}


async def test_a_question_names_a_subject_where_three_passages_are_near_and_not_where_one_is(bench, monkeypatch):
    await towns(bench)
    calls = spied(monkeypatch, keeper_module, "by_weight")
    asked = await everything(bench, 0)
    await bench.strategy.reports.choose(asked)
    cosines = bench.strategy.write_path.reports._passages.scores(asked.vector, [f"{one}:0" for one in bench.ids.values()])
    near = relevance(cosines, cosines)
    assert near < max(cosines.values())
    for nearness, weighed in ((near - 1e-6, 0), (near + 1e-6, 1)):
        await bench.strategy.reports.choose(replace(asked, nearness=nearness))
        assert len(calls) == weighed


async def test_reports_without_findings_are_not_among_those_that_are_there(bench, monkeypatch):
    await towns(bench)
    everyone, original = await ids(bench, 2), writing_module.plain_report

    def bare(community, *arguments, **named):
        report = original(community, *arguments, **named)
        return replace(report, findings=()) if "bank" in community.entities else report

    monkeypatch.setattr(writing_module, "plain_report", bare)
    found = await bench.strategy.reports.choose(await everything(bench, 2))
    assert (len(found.reports), found.there) == (len(everyone) - 1, len(everyone) - 1)
