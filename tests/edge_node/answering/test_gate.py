"""The gate's rules over drafts, with a hashing embedder."""

import pytest

from edge_node.answering.gate import Gate
from edge_node.answering.gate_rules import RULES, explanation
from edge_node.settings import GateSettings
from shared.drafts import Draft
from shared.models.fake import HashEmbedder
from shared.records import Evidence
from shared.telemetry.trace import Trace
from shared.text.short_answers import agreement

ALL = {"min_nearness": 0.4, "max_unknown": 0.2, "max_refusals": 0.4, "min_sufficiency": 0.5, "min_similarity": 0.7}
REFUSAL = "Insufficient information."
PASSAGE = Evidence("ward", "d", "report.md", "d:0", (0, 60), "Juniper Ward reported it. Rowan Ward leads.", 0.8)


def draft_of(samples, *, shown=0.9):
    answers = [sample for sample in samples if sample != REFUSAL]
    refusals = len(samples) - len(answers)
    groups = agreement(answers)
    alike = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    pairs = len(answers) * (len(answers) - 1) // 2
    selected = samples.index(answers[groups[0][0]]) if answers else None
    return Draft(
        tuple(samples),
        refusals,
        selected,
        answers[0] if answers else "",
        agreement=alike / pairs if pairs else 1.0,
        shown=shown if answers else None,
    )


async def judged(samples, *, nearness=0.8, unknown=0.0, shown=0.9, trace=None, **limits):
    gate = Gate(HashEmbedder(), GateSettings(**{**ALL, **limits}))
    return await gate.judge(draft_of(samples, shown=shown), nearness, unknown, trace or Trace())


async def test_answers_that_say_the_same_and_are_shown_stay():
    report = await judged(["Juniper Ward [1]."] * 3)
    assert (report.decision, report.selected, report.rule) == ("local", 0, "")
    assert report.similarity.mean == 1.0


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"nearness": 0.3}, "nearness"),
        ({"unknown": 0.3}, "unknown"),
        ({"shown": 0.4}, "sufficiency"),
        ({"samples": [REFUSAL] * 3}, "refusals"),
        ({"samples": ["Juniper Ward", REFUSAL, REFUSAL]}, "refusals"),
        ({"samples": ["Ward 5", "Ward 7", "Ward 5"]}, "similarity"),
    ],
)
async def test_each_rule_alone_sends_a_question_on_and_says_why(changes, rule):
    report = await judged(**{"samples": ["Juniper Ward"] * 3, **changes})
    (found,) = (one for one in RULES if one.name == rule)
    assert (report.decision, report.rule) == ("escalate", rule)
    assert report.reason == found.sentence(found.signal(report), getattr(GateSettings(**ALL), found.setting))
    assert explanation(report) == found.plain


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
async def test_a_bound_that_everything_keeps_switches_its_rule_off(name):
    (rule,) = (one for one in RULES if one.name == name)
    off = {rule.setting: 1.0 if rule.is_most else -1.0 if name == "nearness" else 0.0}
    others = {one.setting: 1.0 if one.is_most else -1.0 if one.name == "nearness" else 0.0 for one in RULES}
    report = await judged(["Ward 5", "Ward 7"], nearness=0.1, unknown=0.9, shown=0.1, **{**others, **off})
    assert report.decision == "local"


async def test_just_what_is_wanted_is_enough():
    assert (await judged(["Juniper Ward"] * 3, nearness=0.4, unknown=0.2, shown=0.5)).decision == "local"


async def test_similarity_is_the_mean_of_cosine_words_and_values():
    seen = (await judged(["Ward 5", "Ward 7", "Ward 5"])).similarity
    assert seen.semantic == pytest.approx(1 / 3, abs=1e-4)
    assert seen.mean == pytest.approx((seen.cosine + seen.jaccard + seen.semantic) / 3, abs=1e-3)


async def test_a_draft_whose_figures_stand_nowhere_is_not_borne_out():
    report = await Gate(HashEmbedder(), GateSettings(**ALL)).judge(Draft(("In 1999",), 0, agreement=1.0), 0.8, 0.0, Trace())
    assert (report.decision, report.rule) == ("escalate", "unborne")
    assert explanation(report) == "The passages of this site do not bear out any draft."


def test_what_is_far_away_may_be_asked_elsewhere_before_anything_is_drafted():
    gate = Gate(HashEmbedder(), GateSettings(**ALL))
    assert gate.too_far(0.3, 0.0).rule == "nearness"
    assert gate.too_far(0.8, 0.25).reason == "25% of the question's words stand in no document here, over 20%"
    assert gate.too_far(0.4, 0.2) is None


async def test_the_comparison_is_in_the_trace():
    trace = Trace()
    await judged(["Juniper Ward.", "Juniper Ward!"], trace=trace)
    assert [step.step for step in trace.steps()] == ["gate: similarity"]
