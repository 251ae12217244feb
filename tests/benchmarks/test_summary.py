from dataclasses import asdict

import orjson
import pytest

from benchmarks.records import AnswerRow, RetrievalRow, RoutingRow, Step
from benchmarks.summary import measured, summarise, with_bertscore

RUN = {"name": "run", "seed": 1, "config": {}}
WORDS = "one two three four"


def answer(system="dgrag", *, scenario="within", question="q1", said=WORDS, cloud_tokens=0, error="", route="local"):
    steps = (
        Step("samples", 1000.0, 1, 100, 10, 0, 0),
        *([Step("cloud: generate", 500.0, 1, cloud_tokens, 5, 0, 0)] if cloud_tokens else []),
    )
    escalated = cloud_tokens > 0 and system == "dgrag"
    row = AnswerRow("s", scenario, system, "e", question, "?", (WORDS,), said, True, route, 2.0, escalated, None, steps, (), error)
    return asdict(row)


def summary(**rows):
    return summarise(rows, RUN)


def system(result, name, scenario="within"):
    return next(row for row in result["systems"] if (row["system"], row["scenario"]) == (name, scenario))


def test_an_answer_is_measured_against_its_first_reference():
    found = measured(answer(said="one two"))
    assert (found["rouge_l_recall"], found["em"], found["answered"], found["edge_tokens_in"]) == (0.5, 0.0, 1.0, 100)


def test_a_failed_question_is_an_empty_answer_and_has_no_costs():
    found = measured(answer(error="504"))
    assert (found["rouge_l_recall"], found["answered"]) == (0.0, 0.0)
    assert "seconds" not in found


def test_a_gate_has_decided_before_the_call_to_the_cloud_failed():
    failed = answer(error="the site answered alone") | {"gate": {"decision": "escalate"}, "escalated": True}
    silent = answer(question="q2", error="504")  # no answer at all: what its gate said is not known
    share = system(summary(answers=[failed, silent, answer(question="q3")]), "dgrag")["metrics"]["escalated"]
    assert (share["mean"], share["n"]) == (0.5, 2)


def test_failures_pull_quality_down_and_leave_the_time_as_it_is():
    row = system(summary(answers=[answer(), answer(question="q2", error="504")]), "dgrag")
    assert row["errors"] == 1
    assert (row["metrics"]["rouge_l_recall"]["mean"], row["metrics"]["rouge_l_recall"]["n"]) == (0.5, 2)
    assert (row["metrics"]["seconds"]["mean"], row["metrics"]["seconds"]["n"]) == (2.0, 1)


def test_a_question_without_reference_has_no_quality():
    assert "rouge_l_recall" not in measured(answer() | {"references": ()})


def test_scenarios_are_also_put_together():
    result = summary(answers=[answer(), answer(scenario="out", said="one")])
    assert system(result, "dgrag", "all")["metrics"]["rouge_l_recall"]["mean"] == pytest.approx(0.625)


def test_a_question_asked_at_home_and_elsewhere_is_one_of_the_sample():
    """Two questions, each asked twice: their means are 1 and 0, so the interval is as wide as that of two values, not of four."""
    answers = [
        answer(scenario=scenario, question=question, said=said)
        for question, said in (("q1", WORDS), ("q2", ""))
        for scenario in ("within", "out")
    ]
    answers += [row | {"system": "centralized", "steps": answer(cloud_tokens=50)["steps"]} for row in answers]
    result = summary(answers=answers)
    row = system(result, "dgrag", "all")
    assert (row["asked"], row["metrics"]["rouge_l_recall"]["mean"], row["metrics"]["rouge_l_recall"]["n"]) == (4, 0.5, 2)
    assert (row["metrics"]["rouge_l_recall"]["low"], row["metrics"]["rouge_l_recall"]["high"]) == (0.0, 1.0)
    assert {row["difference"]["n"] for row in result["differences"] if row["scenario"] == "all"} == {2}
    assert {row["cloud_tokens_share_of_centralised"]["n"] for row in result["tokens"] if row["scenario"] == "all"} == {2}


def test_a_share_of_questions_has_an_interval_with_a_width_where_all_are_alike():
    """Wilson of 15 of 15: from 15 / (15 + 1.96²)."""
    row = system(summary(answers=[answer(question=f"q{n}") for n in range(15)]), "dgrag")
    assert (row["metrics"]["answered"]["low"], row["metrics"]["answered"]["high"]) == (pytest.approx(0.796, abs=1e-3), pytest.approx(1.0))
    assert row["metrics"]["seconds"]["low"] == row["metrics"]["seconds"]["high"] == 2.0


def test_a_result_names_the_code_that_answered_and_matched():
    rows = [answer() | {"code": "new"}, answer(question="q2") | {"code": "old"}]
    result = summary(answers=rows, routing=[asdict(RoutingRow("s", 40, 1, "q", ("a",), ("a",), (0.9,), 0.01, code="old"))])
    assert (system(result, "dgrag")["code"], result["routing"][0]["code"]) == (["new", "old"], ["old"])


def test_one_scenario_alone_is_not_shown_twice():
    assert [row["scenario"] for row in summary(answers=[answer()])["systems"]] == ["within"]


def test_bertscore_is_asked_for_all_answers_at_once_a_failure_or_a_refusal_with_no_text():
    asked, refused = [], answer(question="q3", said="They support no statement.") | {"answered": False}
    rows = [answer(), answer(question="q2", error="504"), refused]
    rows = with_bertscore(rows, lambda answers, references: asked.append(answers) or [0.9, 0.0, 0.0])
    assert [measured(row)["bertscore_recall"] for row in rows] == [0.9, 0.0, 0.0]
    assert asked == [[WORDS, "", ""]]


def test_a_refusal_is_no_answer_whatever_it_says():
    refused = answer(said="The passages support no statement.") | {"answered": False, "references": ("no",)}
    assert {name: measured(refused)[name] for name in ("accuracy", "f1", "rouge_l_recall", "em", "claims")} == dict.fromkeys(
        ("accuracy", "f1", "rouge_l_recall", "em", "claims"), 0.0
    )


def test_quality_and_cost_are_compared_on_the_askings_of_all_systems_and_escalation_on_all_of_its_own():
    """q1 and q2 are asked of both; q3 is one more for dgrag, answered wrong and escalated."""
    answers = [answer(question="q1"), answer(question="q2"), answer(question="q3", said="", cloud_tokens=900)]
    answers += [answer("local", question="q1"), answer("local", question="q2")]
    result = summary(answers=answers)
    ours = system(result, "dgrag")
    assert (ours["asked"], ours["compared"]) == (3, 2)
    assert (ours["metrics"]["rouge_l_recall"]["mean"], ours["metrics"]["rouge_l_recall"]["n"]) == (1.0, 2)
    assert ours["metrics"]["cloud_tokens_in"]["mean"] == 0
    assert (ours["metrics"]["escalated"]["mean"], ours["metrics"]["escalated"]["n"]) == (pytest.approx(1 / 3), 3)
    assert system(result, "local")["metrics"]["rouge_l_recall"]["n"] == 2


def test_an_answer_that_came_at_the_second_try_is_no_error_and_is_counted():
    row = system(summary(answers=[answer() | {"tries": 2}, answer(question="q2")]), "dgrag")
    assert (row["errors"], row["asked_again"]) == (0, 1)


def test_the_share_of_recall_is_that_of_sums_over_the_same_questions():
    """Centralised finds both documents of q1 and one of q2; federated one of q1, and q2 fails; q3 is federated's alone."""

    def row(name, question, *found, error=""):
        return asdict(RetrievalRow("s", name, "e", question, found, None, 0, 0.1, (), error))

    rows = [row("centralized", "q1", "a", "b"), row("centralized", "q2", "a")]
    rows += [row("federated", "q1", "a"), row("federated", "q2", "a", error="504"), row("federated", "q3", "a", "b")]
    gold = {"s": dict.fromkeys(("q1", "q2", "q3"), ("a", "b"))}
    (found,) = summarise({"retrieval": rows}, RUN, gold=gold)["retrieval_ratios"]
    assert (found["system"], found["against"], found["measure"]) == ("federated", "centralized", "recall@10")
    assert (found["share"]["mean"], found["share"]["n"]) == (pytest.approx(1 / 3), 2)
    assert found["share"]["low"] <= found["share"]["mean"] <= found["share"]["high"]


def test_summary_matching_is_swept_on_either_half_of_the_questions():
    """The questions q0, q2 match their own edge alone; q1 matches another one, weakly."""
    rows = [asdict(RoutingRow("s", 40, 1, f"q{n}", ("a",), ("b" if n == 1 else "a",), (0.25 if n == 1 else 0.9,), 0.01)) for n in range(3)]
    found = {(row["half"], row["min_cosine"]): row for row in summary(routing=rows)["matching"]}
    assert (found[0, 0.0]["hit"], found[0, 0.0]["questions"]) == (1.0, 2)
    assert (found[1, 0.2]["any_mismatch"], found[1, 0.3]["any_mismatch"]) == (1.0, 0.0)


def test_the_share_of_cloud_tokens_is_that_of_sums_over_questions_that_both_answered():
    """dgrag sends 300 + 0 tokens for q1 and q2; centralised reads 100 each (all its tokens are the cloud's); q3 is dgrag's alone."""
    answers = [answer(question="q1", cloud_tokens=300), answer(question="q2"), answer(question="q3", cloud_tokens=999)]
    answers += [answer("centralized", question="q1"), answer("centralized", question="q2")]
    shares = {row["system"]: row["cloud_tokens_share_of_centralised"] for row in summary(answers=answers)["tokens"]}
    assert (shares["dgrag"]["mean"], shares["dgrag"]["n"]) == (1.5, 2)
    assert shares["centralized"]["mean"] == 1.0


def test_differences_pair_the_same_questions():
    answers = [answer(said="one two"), answer("local", said="one"), answer("local", question="other", said=WORDS)]
    (row,) = [row for row in summary(answers=answers)["differences"] if row["metric"] == "rouge_l_recall"]
    assert (row["against"], row["difference"]["mean"], row["difference"]["n"]) == ("local", 0.25, 1)


def test_components_are_means_over_the_answers_of_a_route():
    answers = [
        answer(question="q1", cloud_tokens=40, route="cloud"),
        answer(question="q2", cloud_tokens=60, route="cloud"),
        answer(question="q3"),
    ]
    rows = {(row["route"], row["step"]): row for row in summary(answers=answers)["components"]}
    assert rows["cloud", "cloud generation"]["tokens_in"]["mean"] == 50
    assert rows["cloud", "cloud generation"]["answers"] == 2
    assert ("local", "cloud generation") not in rows


def test_a_transfer_takes_its_bytes_at_the_rate_of_the_runs_own_link():
    """1,000 bytes take 0.16 ms at 50 Mbit/s, and 1.6 ms at the run's 5."""
    asked = answer() | {"steps": [asdict(Step("cloud", 9.0, 0, 0, 0, 1000, 0))]}
    for link, ms in ((None, 0.16), ({"mbit": 5.0, "delay_ms": 15.0}, 1.6)):
        rows = summarise({"answers": [asked]}, RUN | {"link": link})["components"]
        assert next(row["ms"]["mean"] for row in rows if row["step"] == "query send") == pytest.approx(ms)


def test_matching_by_cosine_alone_has_rows_of_its_own_and_chooses_no_threshold():
    row = RoutingRow("s", 40, 1, "q", ("a",), ("a",), (0.9,), 0.01)
    result = summary(routing=[asdict(row), asdict(row) | {"edges": ("b",), "plain": True}])
    assert {found["plain"]: found["hit"]["mean"] for found in result["routing"]} == {False: 1.0, True: 0.0}
    assert {found["hit"] for found in result["matching"] if found["questions"]} == {1.0}


def test_routing_is_read_at_each_m_that_was_recorded():
    rows = [asdict(RoutingRow("s", 40, m, "q", ("a",), ("b", "a", "a")[:m], (0.9, 0.8, 0.7)[:m], 0.005)) for m in (1, 2, 3)]
    found = {
        row["m"]: (row["hit"]["mean"], row["any_mismatch"]["mean"], row["right_share"]["mean"]) for row in summary(routing=rows)["routing"]
    }
    assert found == {1: (0.0, 1.0, 0.0), 2: (1.0, 1.0, 0.5), 3: (1.0, 1.0, pytest.approx(2 / 3))}


def test_recall_counts_questions_whose_needed_documents_are_known_and_coverage_those_with_an_answer():
    row = RetrievalRow("s", "federated", "e", "q1", ("x", "g1"), True, 900, 0.05, ("a", "b"))
    rows = [asdict(row), asdict(row) | {"question_id": "q2", "covered": None}]
    (found,) = summarise({"retrieval": rows}, RUN, gold={"s": {"q1": ("g1", "g2")}})["retrieval"]
    assert (found["recall@2"]["mean"], found["recall@2"]["n"], found["all@8"]["mean"]) == (0.5, 1, 0.0)
    assert (found["coverage"]["mean"], found["coverage"]["n"], found["edges_asked"]["mean"]) == (1.0, 1, 2.0)


def test_a_failed_retrieval_found_nothing_and_has_no_time():
    row = asdict(RetrievalRow("s", "local", "e", "q1", (), None, 0, 9.0, (), "500: broken"))
    (found,) = summarise({"retrieval": [row]}, RUN, gold={"s": {"q1": ("g1",)}})["retrieval"]
    assert (found["recall@5"]["mean"], found["errors"]) == (0.0, 1)
    assert "ms" not in found


def test_the_system_that_tells_more_claims_of_the_reference_wins():
    """The reference has two claims; dgrag tells both, local one, in whatever order they are listed."""
    reference = {"references": ("Ann Lee repaired the pump, and Bo Orr wrote the report.",)}
    ours = answer("dgrag", said="Ann Lee repaired the pump. Bo Orr wrote the report.") | reference
    theirs = answer("local", said="The pump was repaired by Ann Lee.") | reference
    for rows in ([ours, theirs], [theirs, ours]):
        (row,) = summary(answers=rows)["wins"]
        assert (row["system"], row["against"], row["win"]["mean"], row["equal"]) == ("dgrag", "local", 1.0, 0)


def gated(scenario, nearness):
    gate = {"decision": "local", "reason": "", "confidence": {"refusals": 0, "samples": 5, "sufficiency": 0.9, "nearness": nearness}}
    return answer(scenario=scenario) | {"gate": gate}


def test_the_gates_scores_are_swept_where_both_kinds_of_question_were_asked():
    (found,) = summary(answers=[gated("within", 0.8), gated("out", 0.3)])["calibration"]
    assert {curve["signal"]: curve["roc"]["auc"] for curve in found["curves"]}["nearness"] == 1.0
    assert summary(answers=[gated("within", 0.8)])["calibration"] == []


def test_each_split_has_a_calibration_of_its_own():
    """In one split the own question is nearer, in the other one farther: pooled they would tell nothing apart."""
    rows = [gated("within", 0.8), gated("out", 0.3), gated("within", 0.3) | {"split": "t"}, gated("out", 0.8) | {"split": "t"}]
    found = {row["split"]: row for row in summary(answers=rows)["calibration"]}
    assert {split: row["curves"][0]["roc"]["auc"] for split, row in found.items()} == {"s": 1.0, "t": 0.0}


def test_an_empty_run_is_a_result_with_empty_parts():
    result = summary()
    assert result["run"] == RUN
    assert not any(result[part] for part in result if part != "run")


def test_a_result_holds_no_text_of_the_data():
    text = "secret passage"
    result = summary(answers=[answer(said=text) | {"question": text}])
    assert text.encode() not in orjson.dumps(result)
