from benchmarks.metrics.fast_path import fast_path

REPORT = {"kind": "template", "why_not": ""}


def row(number, *, route="local", accuracy=0.0, memory=None, seconds=10.0, calls=1.0, **fields):
    values = {"accuracy": accuracy, "em": 0.0, "f1": accuracy, "calls": calls}
    named = {"split": "s", "system": "fdrag", "question_id": f"q{number}", "error": ""}
    return named | {"route": route, "memory": memory, "seconds": seconds, "values": values, "steps": ()} | fields


def fast(number, **fields):
    return row(number, route="memory", memory=REPORT, seconds=0.02, calls=0.0, **fields)


def test_coverage_and_calls_are_of_all_questions_and_quality_of_each_way():
    (told,) = fast_path([fast(0, accuracy=1.0), row(1, accuracy=1.0), row(2), row(3)], seed=1)
    assert (told["coverage"]["mean"], told["coverage"]["n"], told["calls"]["mean"]) == (0.25, 4, 0.75)
    assert (told["fast"]["accuracy"]["mean"], round(told["slow"]["accuracy"]["mean"], 2)) == (1.0, 0.33)


def test_time_is_told_by_route():
    (told,) = fast_path([fast(0), row(1), row(2, route="cloud", seconds=30.0)], seed=1)
    assert {route: one["p50_s"] for route, one in told["routes"].items()} == {"memory": 0.02, "local": 10.0, "cloud": 30.0}


def test_why_a_memory_did_not_answer_is_counted_the_most_frequent_first():
    held = {"kind": "template", "why_not": "the answer stands in the question"}
    (told,) = fast_path([row(0), row(1, memory=held), row(2, memory=held), fast(3)], seed=1)
    assert list(told["why_not"].items()) == [("the answer stands in the question", 2), ("nothing like it is remembered", 1)]
    assert told["kinds"] == {"template": 1}


def test_an_answer_of_another_sites_memory_is_one_though_none_at_home_is_near():
    (told,) = fast_path(
        [fast(0), row(1, route="memory", memory=None), row(2, route="memory", memory=REPORT | {"why_not": "below"})], seed=1
    )
    assert told["coverage"]["mean"] == 1.0
    assert told["kinds"] == {"template": 1, "another site's": 2}


def test_a_system_that_looks_at_no_memory_is_not_told_of_and_a_failed_question_does_not_count():
    assert fast_path([row(0), row(1)], seed=1) == []
    (none,) = fast_path([row(0, steps=[{"step": "remember"}]), row(1)], seed=1)  # it looked, and nothing was near
    assert (none["coverage"]["mean"], none["coverage"]["n"]) == (0.0, 2)
    (told,) = fast_path([fast(0), row(1, error="504")], seed=1)
    assert told["coverage"]["n"] == 1


def test_where_no_answer_is_known_there_is_no_quality():
    unknown = fast(0) | {"values": {"calls": 0.0}}
    (told,) = fast_path([unknown], seed=1)
    assert (told["fast"], told["slow"]) == ({}, {})
