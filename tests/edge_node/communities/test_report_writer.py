import pytest

from edge_node.communities.drafts import ReportDraft
from edge_node.communities.elements import Finding, Line
from edge_node.communities.report_writer import ReportWriter
from edge_node.communities.reports import Report
from edge_node.records import silent
from edge_node.settings import CommunitySettings
from shared.errors import ModelReplyError, ModelUnavailable
from shared.ports import Reply
from shared.records import ChunkId
from tests.support.settling import Bench

SAID = ("Ann opened the mill in 1881.", "All flour of the mill went by the railway.")
WRITTEN = """Title: The mill of Ann
Summary: Ann opened the mill.
Findings:
- Ann opened the mill in 1881 [1].
- All flour of the mill went by the railway [2].
Rating: 7, because all flour went by the railway"""


def draft(community_id, *said):
    found = tuple(Finding(text, (ChunkId("d:0"),), ("mill",)) for text in said)
    plain = Report(community_id, 2, "Mill", "", 1, "told of in 1 passage", found, by_model=False, content=community_id)
    return ReportDraft(plain, (Line("Mill", found, (ChunkId("d:0"),), ("mill",)),), (), frozenset())


class Kept:
    """A keeper of these drafts."""

    def __init__(self, *drafts):
        self.drafts = list(drafts)
        self.reports = {}

    @property
    def stale(self):
        return len(self.drafts)

    async def unwritten(self, most):
        return self.drafts[:most]

    async def keep(self, draft, report):
        self.drafts.remove(draft)
        self.reports[report.community_id] = report


@pytest.fixture
async def bench(tmp_path):
    async with Bench.opened(tmp_path) as opened:
        opened.reply = lambda prompt: WRITTEN
        yield opened


def reporter(bench, keeper):
    return ReportWriter(bench.tools, keeper, CommunitySettings(model_deadline_s=9))


async def test_the_model_writes_as_many_reports_as_it_may_in_their_order(bench):
    keeper = Kept(draft("a", *SAID), draft("b", *SAID), draft("c", *SAID))
    cost = await reporter(bench, keeper).write(silent, most=2)
    assert [*keeper.reports] == ["a", "b"]
    assert (keeper.reports["a"].title, keeper.reports["a"].by_model) == ("The mill of Ann", True)
    assert (cost.calls, len(bench.model.prompts), reporter(bench, keeper).stale) == (2, 2, 1)
    assert cost.tokens_out > 0


async def test_where_nothing_may_be_written_nobody_is_asked(bench):
    keeper = Kept(draft("a", *SAID))
    assert (await reporter(bench, keeper).write(silent, most=0)).calls == 0
    assert (bench.model.prompts, keeper.stale) == ([], 1)


@pytest.mark.parametrize("useless", ["", "I cannot help with that.", "Title: The mill of Ann", "- Tarrow Estates sold slate [1]."])
async def test_a_reply_of_no_use_leaves_the_plain_report_and_is_not_asked_for_again(bench, useless):
    bench.reply = lambda prompt: useless
    asked = draft("a", *SAID)
    keeper = Kept(asked)
    cost = await reporter(bench, keeper).write(silent, most=8)
    assert (keeper.reports, keeper.stale, cost.calls) == ({"a": asked.plain}, 0, 1)


async def test_a_refused_request_costs_one_report_and_the_others_are_written(bench):
    def reply(prompt):
        if len(bench.model.prompts) == 1:
            raise ModelReplyError("too long")
        return WRITTEN

    bench.reply = reply
    keeper = Kept(draft("a", *SAID), draft("b", *SAID))
    cost = await reporter(bench, keeper).write(silent, most=8)
    assert [(key, report.by_model) for key, report in keeper.reports.items()] == [("a", False), ("b", True)]
    assert cost.calls == 2


async def test_a_model_that_is_away_is_an_error_and_what_was_written_is_kept(bench):
    def reply(prompt):
        if len(bench.model.prompts) == 2:
            raise ModelUnavailable("away")
        return WRITTEN

    bench.reply = reply
    keeper = Kept(draft("a", *SAID), draft("b", *SAID), draft("c", *SAID))
    with pytest.raises(ModelUnavailable):
        await reporter(bench, keeper).write(silent, most=8)
    assert ([*keeper.reports], keeper.stale, len(bench.model.prompts)) == (["a"], 2, 2)


async def test_a_community_of_which_nothing_is_said_costs_no_call(bench):
    keeper = Kept(draft("a"))
    assert (await reporter(bench, keeper).write(silent, most=8)).calls == 0
    assert (keeper.stale, bench.model.prompts) == (0, [])


async def test_a_reply_that_gives_the_prompt_away_is_of_no_use(bench):
    bench.reply = lambda prompt: f"{WRITTEN}\n{prompt.messages[-1].content.splitlines()[1]}"
    keeper = Kept(draft("a", *SAID))
    await reporter(bench, keeper).write(silent, most=8)
    assert keeper.reports["a"].by_model is False


async def test_the_line_at_which_a_reply_was_cut_is_left_out(bench, monkeypatch):
    async def cut(prompt, *, deadline_s):
        return Reply((f"{WRITTEN.partition('Rating')[0]}- The mill",), 9, 9, truncated=(True,))

    monkeypatch.setattr(bench.model, "generate", cut)
    keeper = Kept(draft("a", *SAID, "The mill stood by the river."))
    await reporter(bench, keeper).write(silent, most=8)
    assert [one.text for one in keeper.reports["a"].findings] == [*SAID]


async def test_no_reply_is_kept_apart_from_its_report(bench):
    await reporter(bench, Kept(draft("a", *SAID))).write(silent, most=8)
    assert "railway" not in bench.everything_stored()


# ------------------------------------------------------------ with the keeper


def telling(prompt):
    """A report that repeats the first two notes."""
    notes = [text for text in prompt.messages[-1].content.splitlines() if text.startswith("[")]
    return "\n".join(f"- {text.partition('] ')[2]} {text.partition(' ')[0]}" for text in notes[:2])


async def towns(bench):
    for n, (place, thing) in enumerate([("Ward", "Pump"), ("Gate", "River"), ("Bank", "Loan")]):
        await bench.add(f"{place}.md", (place, thing), related=[(place, thing)], text=f"file {n}")
    await bench.settle()


async def reports_of(bench):
    found = [one for level in range(3) for one in await bench.strategy.reports.communities(level, limit=100)]
    return [await bench.strategy.reports.report(key) for key in sorted({one.community.community_id for one in found})]


async def test_all_reports_are_written_while_all_is_quiet_and_then_no_more(tmp_path):
    async with Bench.opened(tmp_path, reports="model") as bench:
        bench.reply = telling
        await towns(bench)
        assert bench.model.prompts == []
        while bench.strategy.stale:
            assert (await bench.refine()).calls <= 8
        made = await reports_of(bench)
        assert {report.by_model for report in made} == {True}
        asked = len(bench.model.prompts)
        assert asked == len(made)
        await bench.refine()
        assert len(bench.model.prompts) == asked


async def test_a_model_that_never_says_anything_of_use_is_asked_once_for_each_report(tmp_path):
    async with Bench.opened(tmp_path, reports="model") as bench:
        bench.reply = lambda prompt: "I cannot help with that."
        await towns(bench)
        for _ in range(9):
            await bench.refine()
        assert bench.strategy.stale == 0
        assert len(bench.model.prompts) == len(await reports_of(bench))


async def test_descriptions_and_summaries_come_first_and_eight_texts_at_most_in_a_go(tmp_path):
    async with Bench.opened(tmp_path, reports="model", summaries="model") as bench:
        bench.reply = telling
        for number in range(6):
            await bench.add(f"{number}.md", (f"Ward {number}", f"Pump {number}"), related=[(f"Ward {number}", f"Pump {number}")])
        await bench.settle()
        assert (await bench.refine()).calls == 8
        kinds = ["table of contents" in prompt.messages[0].content for prompt in bench.model.prompts]
        assert kinds == [True] * 6 + [False] * 2
