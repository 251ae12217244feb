import pytest

from benchmarks.report import answers, goals, overviews
from benchmarks.report.goals import goals as goals_of

REFERENCE = {"paper": {"wins": {}}}


def mean(value):
    return {"mean": value, "low": value, "high": value, "n": 12}


@pytest.fixture
def told(result):
    row = {"split": "news", "scenario": "mixed", "asked": 5, "compared": 5, "code": [], "errors": 0, "asked_again": 0}
    metrics = {"seconds": 90.0, "bytes_of_corpus": 0.03, "opened": 1.0, "referenced": 0.9, "over_slowest": 1.4}
    systems = [
        row | {"system": "graphrag-federated", "metrics": {name: mean(value) for name, value in metrics.items()}},
        row | {"system": "graphrag-ss", "metrics": {"seconds": mean(30.0)}},
    ]
    place = {"split": "news", "system": "graphrag-federated", "edge": "client-0", "question_id": "q1"}
    coverage = [place | {"coverage": "2 of 3 sites answered", "faults": ["404"]}]
    config = {"split": [{"name": "news", "kind": "federated", "set": "multihop_rag"}]}
    return {**result, "systems": systems, "coverage": coverage, "run": {"name": "graphrag", "config": config}, "wins": []}


def test_what_was_read_and_moved_stands_by_system_and_each_coverage_line_is_shown(told):
    measured, coverage = overviews.overviews(told).tables
    assert [column.title for column in measured.columns][:3] == ["system", "seconds", "of the corpus"]
    assert [(row[0], row[1].mean, row[2] is None) for row in measured.rows] == [
        ("graphrag-federated", 90.0, False),
        ("graphrag-ss", 30.0, True),
    ]
    assert coverage.rows == (("graphrag-federated", "q1", "2 of 3 sites answered", "404"),)


def test_the_goals_of_a_global_answer_are_a_fiftieth_of_the_corpus_and_references_that_open(told):
    wanted = {"bytes_of_corpus_at_most": 0.02, "referenced_at_least": 1.0, "opened_at_least": 1.0, "cloud_tokens_share_at_most": 1}
    wanted |= {"escalated_within_at_most": 1, "escalated_out_at_least": 0, "hit_at_least": 0, "storage_ratio_at_least": 0}
    wanted |= {"centralised_recall_at_5_at_least": {}, goals.SHARE: {"home": 0, "operator": 0}}
    found = {goal.what: goal.verdict for goal in goals_of(told, wanted) if "split news" in goal.what}
    assert found == {
        "bytes moved of the corpus’s, graphrag-federated, split news": "missed",
        "sentences with a reference, graphrag-federated, split news": "missed",
        "references that open at their edge, graphrag-federated, split news": "met",
    }


def test_wins_of_the_former_judge_who_went_by_the_order_are_not_shown(told):
    row = {"split": "news", "scenario": "mixed", "system": "graphrag-c0", "against": "graphrag-ts", "criterion": "comprehensiveness"}
    found = row | {"win": mean(0.6), "equal": 0}
    assert answers.by_claims(told | {"wins": [found | {"flips": mean(0.9)}]}, REFERENCE).tables == ()
    (table,) = answers.by_claims(told | {"wins": [found]}, REFERENCE).tables
    assert (table.rows[0][0], table.rows[0][1].mean) == ("graphrag-c0 vs. graphrag-ts", 0.6)


LEVEL = {"communities": 4, "tokens_plain": 300, "tokens": 900, "by_model": 3, "tokens_by_model": 840}


def test_reports_of_the_model_stand_by_level_beside_plain_ones_and_the_texts(told):
    index = {"split": "news", "layout": "edges", "edge": "client-0", "tokens": 9000}
    reports = [LEVEL | {"level": 0}, LEVEL | {"level": 1, "by_model": 0, "tokens_by_model": 0}]
    (table,) = overviews.levels(told | {"index": [index | {"reports": reports}, index]}).tables
    assert [row[3:] for row in table.rows] == [
        ("C0", 4, 3, 280.0, 75.0, 900, 0.1, 300, pytest.approx(1 / 30)),
        ("C1", 4, 0, None, 75.0, 900, 0.1, 300, pytest.approx(1 / 30)),
        ("TS", None, None, None, None, 9000, 1.0, None, None),
    ]
    assert len(table.columns) == len(table.rows[0])


def test_an_index_with_plain_reports_has_no_table_of_levels(told):
    assert overviews.levels(told).tables == ()
