"""A question about everything: who is asked, what is told, and what another site gets."""

import contextlib
import math
import re
from types import SimpleNamespace

import pytest

from edge_node.answering import overview as overview_module
from edge_node.answering.mapping import Mapper
from edge_node.answering.overview import GlobalAnswerer, GlobalAsk
from edge_node.communities.elements import Finding
from edge_node.communities.reports import Report
from edge_node.communities.selection import SelectedReports
from edge_node.egress.sharing import SPENT, OutgoingQuestion, ReportCoverage, Requester, Served
from edge_node.graph.tools import Tools
from edge_node.settings import GlobalSettings
from shared.errors import CloudUnavailable, Conflict, ModelReplyError, ModelUnavailable, Withheld
from shared.limits import Deadline
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.records import Answer, Chunk, TraceStep
from shared.reduce import Reducer
from shared.telemetry.trace import Trace
from shared.wire import EvidenceReply, EvidenceRequest

TEXTS = {
    "d:0": "The pump P-204 of Juniper Ward failed in May. It was loud.",
    "d:1": "Loans of No. 7 grew by 3.5 percent.",
    "e:0": "The plant sold lot L-7713 twice.",
}
PUMP, LOANS, PLANT = (
    "The pump P-204 of Juniper Ward failed in May.",
    "Loans of No. 7 grew by 3.5 percent.",
    "The plant sold lot L-7713 twice.",
)


def report(name, *findings):
    made = tuple(Finding(text, (chunk_id,), ()) for text, chunk_id in findings)
    return Report(name, 2, "Juniper Ward", "", 1, "", made, by_model=False, content="")


REPORTS = (report("r1", (PUMP, "d:0")), report("r2", (LOANS, "d:1")), report("r3", (PLANT, "e:0")))


class Reports:
    def __init__(self, reports=REPORTS, there=40):
        self.chosen, self.asked = SelectedReports(reports, there), []

    async def choose(self, asked):
        self.asked.append(asked)
        return self.chosen


class Documents:
    def chunks(self, chunk_ids):
        found = {key: TEXTS[key] for key in chunk_ids if key in TEXTS}
        return {
            key: (Chunk(key, key[0], 0, text, 100, 100 + len(text), 9), f"{key[0]}.md", f"About {key[0]}") for key, text in found.items()
        }


def hidden(text):
    return text.replace("Juniper", "█")


class Released:
    """The passages of Documents, masked."""

    async def renew(self, redactor):
        pass

    def scores(self, vector, chunk_ids):
        return {}

    def masked(self, chunk_ids, redactor):
        found = Documents().chunks(chunk_ids)
        return {key: SimpleNamespace(item=SimpleNamespace(text=redactor.mask(chunk.text))) for key, (chunk, *_) in found.items()}


class Sharing:
    """Lets a question leave as ``departing`` says; ``withheld`` is asked twice: before and after the reports are read."""

    def __init__(self, escalation="yes", withheld=(frozenset(), frozenset()), *, spent=False):
        self.escalation, self._withheld, self.spent, self.sent = escalation, list(withheld), spent, []

    def departing(self, question, client):
        escalation = client or self.escalation
        return OutgoingQuestion(escalation, "" if escalation == "no" else question.replace("Juniper", "█"), "rule")

    def beyond(self, labels, filters):
        return frozenset()

    def asking_for(self, labels):
        return contextlib.nullcontext()

    def withheld(self, requester):
        return self._withheld.pop(0)

    def is_spent(self, requester):
        return self.spent

    def redactor_now(self):
        return SimpleNamespace(mask=hidden, idle=False)

    def refused(self, why="the policy"):
        return Served(EvidenceReply(refused=why), "")

    def nothing_granted(self, requester):
        return self.refused()

    def served(self, requester, found, trace, *, reports, most_bytes):
        self.sent.append((requester, found, trace, reports, most_bytes))
        return Served(EvidenceReply(), "rule")

    tried = served


class Cloud:
    def __init__(self, error=None, *, answered=True):
        self.error, self.asked, self.answered = error, [], answered

    async def ask(self, question, *, on_text, **fields):
        self.asked.append((question, fields))
        if self.error:
            raise self.error
        on_text("Pumps fail everywhere [1].")
        steps = (TraceStep("reduce", 1.0),)
        coverage = "2 of 2 sites answered"
        answer = Answer("theirs", "Pumps fail everywhere [1].", (), "global", answered=self.answered, coverage=coverage, trace=steps)
        return answer, 10, 20


def model(*, zero="nothing", reduce=None, fails=None):
    """Maps each pack to its notes as they stand; ``reduce`` is the answer, ``fails`` what the call with this word in it raises."""

    def said(prompt):
        user = prompt.messages[-1].content
        reducing = user.startswith("Points:")
        if fails and (fails[0] == "*" or (fails[0] == "reduce" and reducing)):
            raise fails[1]
        notes = re.findall(r"^\[(\d+)\] (.*)$", user, re.MULTILINE)
        told = " ".join(f"{text.rstrip('.')} [{number}]." for number, text in notes)
        return reduce if reducing and reduce else told

    def first_token(prompt):
        yes = 0.001 if zero in prompt.messages[-1].content else 0.9
        return {"Yes": math.log(yes), "No": math.log(1 - yes)}

    return ScriptedGenerator(said, first_token)


@pytest.fixture(autouse=True)
def any_nearness(monkeypatch):
    monkeypatch.setattr(overview_module, "NEARNESS", -1.0)


def overview(generator=None, *, reports=None, cloud=None, sharing=None, context_tokens=200):
    generator, count = generator or model(), WordTokenizer().count
    sharing = sharing or Sharing()
    tools = Tools("ward", Documents(), None, HashEmbedder(256), None, sharing, WordTokenizer())
    mapper, reducer = Mapper(generator, "ward", max_tokens=50, at_once=2, min_score=0.0), Reducer(generator, count, max_tokens=90)
    settings = GlobalSettings.model_construct(global_read_tokens=3000, global_context_tokens=context_tokens, global_deadline_s=9.0)
    return GlobalAnswerer(tools, sharing, reports or Reports(), mapper, reducer, cloud, settings, Released())


async def test_every_sentence_of_an_answer_names_a_report_and_the_documents_own_words():
    answer = await overview().answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert (answer.route, answer.answered, answer.degraded, answer.partial, answer.reason) == ("global", True, False, False, "")
    assert answer.coverage == "this site alone: 3 of 40 reports"
    assert len(re.findall(r"\[\d\]\.", answer.answer)) == 3
    assert {(one.report, one.chunk_id, one.quote) for one in answer.citations} == {
        ("r1", "d:0", PUMP),
        ("r2", "d:1", LOANS),
        ("r3", "e:0", PLANT),
    }
    assert [step.step for step in answer.trace] == ["choose", "map", "reduce"]


async def test_the_sentences_are_heard_as_they_are_written():
    heard = []
    answer = await overview().answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0), heard.append)
    assert len(heard) == 3
    assert "".join(heard).split() == answer.answer.split()


@pytest.mark.parametrize("level", ["dynamic", 0, 3])
async def test_the_level_that_was_asked_for_is_read(level):
    reports = Reports()
    await overview(reports=reports).answer(GlobalAsk("What happened?", level), Trace(), Deadline(9.0))
    assert [(asked.level, asked.read_tokens, asked.floor, asked.withheld) for asked in reports.asked] == [(level, 3000, 0.5, frozenset())]


async def test_packs_that_do_not_help_are_left_out_and_one_point_needs_no_second_call():
    generator = model(zero="Loans")
    answer = await overview(generator, reports=Reports(REPORTS[:2]), context_tokens=1).answer(
        GlobalAsk("What happened?"), Trace(), Deadline(9.0)
    )
    assert answer.answer == "The pump P-204 of Juniper Ward failed in May [1]."
    assert answer.coverage == "this site alone: 2 of 40 reports"
    assert "reduce" not in [step.step for step in answer.trace]


async def test_where_nothing_helps_the_question_is_not_answered():
    answer = await overview(model(zero="Notes")).answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert (answer.answer, answer.answered, answer.citations, answer.degraded) == (
        "The documents of this site do not answer this question.",
        False,
        (),
        False,
    )


async def test_an_edge_without_reports_says_that_it_has_none():
    answer = await overview(reports=Reports((), 0)).answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert (answer.answered, answer.coverage) == (False, "this site alone: 0 of 0 reports")


async def test_without_a_model_the_findings_nearest_the_question_are_told():
    answer = await overview(model(fails=("*", ModelUnavailable("no model")))).answer(
        GlobalAsk("Which pump of Juniper Ward failed in May?"), Trace(), Deadline(9.0)
    )
    assert answer.answer.splitlines()[0] == "The pump P-204 of Juniper Ward failed in May [1]."
    assert (answer.degraded, answer.reason, answer.coverage) == (True, "no model", "this site alone: 3 of 40 reports")
    assert answer.citations[0].report == "r1"


async def test_where_joining_fails_the_points_are_told_as_they_are():
    answer = await overview(model(fails=("reduce", ModelReplyError("a loop")))).answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert len(answer.answer.splitlines()) == 3
    assert (answer.degraded, answer.reason) == (True, "the points are not joined: a loop")


async def test_a_joined_answer_that_rests_on_nothing_is_not_told():
    answer = await overview(model(reduce="Bananas are yellow and cheap everywhere.")).answer(
        GlobalAsk("What happened?"), Trace(), Deadline(9.0)
    )
    assert "Bananas" not in answer.answer
    assert answer.reason.startswith("the points are not joined")
    assert (answer.degraded, answer.answered) == (False, True)


async def test_sentences_that_rest_on_nothing_are_left_out_and_counted():
    said = f"{PUMP} Bananas are yellow and cheap everywhere."
    answer = await overview(model(reduce=said)).answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert answer.answer == "The pump P-204 of Juniper Ward failed in May [1]."
    assert answer.reason == "1 sentence of the model's left out: no passage supports it"


async def test_reports_that_were_not_read_are_counted():
    class Failing(ScriptedGenerator):
        async def generate(self, prompt, *, deadline_s):
            if "Loans" in prompt.messages[-1].content and prompt.messages[-1].content.startswith("Notes:"):
                raise ModelReplyError("a loop")
            return await good.generate(prompt, deadline_s=deadline_s)

    good = model()
    answer = await overview(Failing(None), context_tokens=1).answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert (answer.partial, answer.coverage) == (True, "this site alone: 2 of 40 reports")
    assert answer.reason == "1 of 3 reports were not read in time or without failure"


async def test_the_cloud_gets_the_masked_question_and_its_answer_is_the_answer():
    cloud, heard = Cloud(), []
    answer = await overview(cloud=cloud).answer(GlobalAsk("What of Juniper?", 2, purpose="audit"), Trace(), Deadline(9.0), heard.append)
    ((question, fields),) = cloud.asked
    assert question == "What of █?"
    assert (fields["level"], fields["purpose"], fields["rule"]) == (2, "audit", "rule")
    assert fields["deadline_s"] < 9.0  # of which the caller has said how much is left
    assert (answer.coverage, heard) == ("2 of 2 sites answered", ["Pumps fail everywhere [1]."])
    assert answer.query_id == fields["query_id"] != "theirs"
    assert [(step.step, step.bytes_out, step.bytes_in) for step in answer.trace] == [("cloud", 10, 20), ("cloud: reduce", 0, 0)]


@pytest.mark.parametrize("withheld", [frozenset({"d"}), None])
async def test_where_no_site_has_an_answer_the_documents_that_must_stay_here_are_asked_too(withheld):
    cloud, heard = Cloud(answered=False), []
    site = overview(cloud=cloud, sharing=Sharing(withheld=[withheld]))
    answer = await site.answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0), heard.append)
    assert (answer.answered, answer.degraded, answer.coverage) == (True, False, "this site alone: 3 of 40 reports")
    assert answer.reason == "no site told what answers this (2 of 2 sites answered)"
    assert heard[1] == ""
    assert [step.step for step in answer.trace][:2] == ["cloud", "cloud: reduce"]


async def test_where_nothing_is_withheld_the_site_reads_its_own_reports_once():
    reports = Reports()
    site = overview(cloud=Cloud(answered=False), reports=reports, sharing=Sharing(withheld=[frozenset()]))
    answer = await site.answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert (answer.answered, answer.coverage, reports.asked) == (False, "2 of 2 sites answered", [])


async def test_where_what_must_stay_does_not_help_either_the_clouds_word_stands():
    site = overview(model(zero=""), cloud=Cloud(answered=False), sharing=Sharing(withheld=[None]))
    answer = await site.answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert (answer.answered, answer.coverage, answer.reason) == (False, "2 of 2 sites answered", "")


async def test_level_0_is_a_level():
    cloud = Cloud()
    await overview(cloud=cloud).answer(GlobalAsk("What?", 0), Trace(), Deadline(9.0))
    assert cloud.asked[0][1]["level"] == 0


@pytest.mark.parametrize(
    ("error", "degraded"), [(CloudUnavailable("the cloud is away"), True), (Withheld("the policy lets no question leave any more"), False)]
)
async def test_with_the_cloud_away_the_site_answers_alone_and_says_so(error, degraded):
    answer = await overview(cloud=Cloud(error)).answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert (answer.route, answer.degraded, answer.reason) == ("global", degraded, error.message)
    assert answer.coverage == "this site alone: 3 of 40 reports"


async def test_what_a_cloud_told_that_dies_in_the_middle_is_void_before_the_site_answers_alone():
    class Dying(Cloud):
        async def ask(self, question, *, on_text, **fields):
            on_text("Pumps fail everywhere [1]. ")
            on_text("Loans grow [2]. ")
            raise CloudUnavailable("it died")

    heard = []
    answer = await overview(cloud=Dying()).answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0), heard.append)
    assert heard[:3] == ["Pumps fail everywhere [1]. ", "Loans grow [2]. ", ""]
    assert "".join(heard[3:]).split() == answer.answer.split()


@pytest.mark.parametrize(("escalation", "level", "would_ask"), [("no", None, ""), ("ask", None, "What of █?"), ("yes", "text", "")])
async def test_what_must_stay_is_answered_here_from_all_documents(escalation, level, would_ask):
    cloud, reports = Cloud(), Reports()
    answer = await overview(cloud=cloud, reports=reports).answer(GlobalAsk("What of Juniper?", level, escalation), Trace(), Deadline(9.0))
    assert cloud.asked == []
    assert (answer.would_ask, answer.degraded, answer.answered) == (would_ask, False, True)
    assert reports.asked[0].withheld == frozenset()


async def test_an_edge_without_reports_to_read_says_so():
    class Without(Reports):
        async def choose(self, asked):
            raise Conflict("the edge's strategy builds no graph")

    with pytest.raises(Conflict):
        await overview(reports=Without()).answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    sharing = Sharing()
    served = await overview(reports=Without(), sharing=sharing).points(request())
    assert (served.reply.refused, sharing.sent) == ("it makes no reports", [])


async def test_where_little_is_left_of_the_deadline_the_cloud_gets_no_more():
    cloud = Cloud()
    await overview(cloud=cloud).answer(GlobalAsk("What happened?"), Trace(), Deadline(0.5))
    assert cloud.asked[0][1]["deadline_s"] <= 0.45


async def test_without_a_model_reports_whose_findings_were_not_compared_count_as_not_read(monkeypatch):
    monkeypatch.setattr(overview_module, "MAX_COMPARED", 3)
    doubles = tuple(report(f"r{n}", (PUMP, "d:0"), (LOANS, "d:1")) for n in range(3))
    away, reports, sharing = model(fails=("*", ModelUnavailable("no model"))), Reports(doubles), Sharing()
    answer = await overview(away, reports=reports).answer(GlobalAsk("What happened?"), Trace(), Deadline(9.0))
    assert (answer.coverage, answer.partial) == ("this site alone: 1 of 40 reports", True)
    assert answer.reason == "no model; 2 of 3 reports were not read in time or without failure"
    await overview(away, reports=reports, sharing=sharing).points(request())
    assert sharing.sent[0][3] == ReportCoverage(1, 40, 2, without_model=True)


# ------------------------------------------------------------ for other sites


def request(**fields):
    asked = {"question": "What happened?", "requester": "bank", "budget_tokens": 9, "deadline_ms": 9000, "max_bytes": 5000}
    return EvidenceRequest(**{"request_id": "q", "task": "reports", **asked, **fields})


async def test_another_site_gets_points_of_what_it_may_read_and_nothing_is_joined():
    sharing, reports, generator = Sharing(withheld=({"e"}, {"e"})), Reports(REPORTS[:2], 30), model()
    served = await overview(generator, sharing=sharing, reports=reports, context_tokens=1).points(request(level=1))
    ((requester, points, trace, reading, most_bytes),) = sharing.sent
    assert served.rule == "rule"
    assert (requester, reading, most_bytes) == (Requester("bank", None), ReportCoverage(2, 30), 5000)
    assert {point.report for point in points} == {"r1", "r2"}
    assert (reports.asked[0].level, reports.asked[0].withheld) == (1, {"e"})
    assert [(step.step, step.calls) for step in trace] == [("choose", 0), ("map", 4)]
    assert [step.ms > 0 for step in trace] == [False, True]  # how long it took to choose tells of the caches, and so of other guests
    assert not any(prompt.messages[-1].content.startswith("Points:") for prompt in generator.prompts)


async def test_what_is_masked_for_others_no_model_reads():
    generator = model()
    await overview(generator, sharing=Sharing(), context_tokens=1).tried_points(request())
    notes = [prompt.messages[-1].content for prompt in generator.prompts]
    assert any("P-204 of █ Ward" in text for text in notes)
    assert not any("Juniper" in text for text in notes)


@pytest.mark.parametrize(
    ("withheld", "why", "read"),
    [
        ((None,), "the policy", False),
        ((frozenset(), None), "changed meanwhile", True),
        ((frozenset(), frozenset("d")), "changed meanwhile", True),
    ],
)
async def test_a_requester_that_may_not_read_gets_nothing_not_even_what_was_read_before_the_policy_changed(withheld, why, read):
    sharing, generator = Sharing(withheld=withheld), model()
    served = await overview(generator, sharing=sharing).points(request())
    assert why in served.reply.refused
    assert sharing.sent == []
    assert bool(generator.prompts) == read


async def test_for_a_requester_whose_day_is_spent_nothing_is_read():
    sharing, reports, generator = Sharing(spent=True), Reports(), model()
    served = await overview(generator, sharing=sharing, reports=reports).points(request())
    assert (served.reply.refused, reports.asked, generator.prompts, sharing.sent) == (SPENT, [], [], [])


async def test_reports_that_failed_are_told_to_another_site_as_unread():
    def failing(prompt):
        if "Loans" in prompt.messages[-1].content:
            raise ModelReplyError("a loop")
        return "The pump P-204 of Juniper Ward failed in May [1]."

    sharing = Sharing()
    generator = ScriptedGenerator(failing, lambda prompt: {"Yes": -0.1, "No": -2.4})
    await overview(generator, sharing=sharing, context_tokens=1).points(request())
    assert sharing.sent[0][3] == ReportCoverage(2, 40, 1)


async def test_without_a_model_another_site_gets_the_documents_words():
    sharing = Sharing()
    await overview(model(fails=("*", ModelUnavailable("no model"))), sharing=sharing).points(request())
    points = sharing.sent[0][1]
    assert sharing.sent[0][3] == ReportCoverage(3, 40, without_model=True)
    told = sorted((point.text, point.point, point.report) for point in points)
    assert told == [(LOANS, "", "r2"), (PLANT, "", "r3"), (hidden(PUMP), "", "r1")]


async def test_without_a_model_another_site_gets_no_more_than_an_answer_tells():
    sharing = Sharing()
    made = overview(model(fails=("*", ModelUnavailable("no model"))), sharing=sharing)
    made.settings = made.settings.model_copy(update={"report_findings": 2})
    await made.points(request())
    assert len(sharing.sent[0][1]) == 2


@pytest.mark.parametrize(("nearness", "told"), [(-1.0, ["nearest", "first", "second"]), (1.01, ["first", "second", "nearest"])])
async def test_without_a_model_and_with_nothing_near_each_report_tells_its_first_finding_before_any_its_second(nearness, told, monkeypatch):
    texts = {"first": LOANS, "nearest": PUMP, "second": PLANT}
    reports = Reports((report("r1", (LOANS, "d:1"), (PUMP, "d:0")), report("r2", (PLANT, "e:0"))))
    made = overview(model(fails=("*", ModelUnavailable("no model"))), reports=reports)
    monkeypatch.setattr(overview_module, "NEARNESS", nearness)
    answer = await made.answer(GlobalAsk("Which pump P-204 of Juniper Ward failed?", None, "no"), Trace(), Deadline(9.0))
    said = [next(name for name, text in texts.items() if text[:9] in line) for line in answer.answer.splitlines()]
    assert said == told
    assert reports.asked[0].nearness == nearness
