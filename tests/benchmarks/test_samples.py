from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.config import RunConfig
from benchmarks.errors import BenchmarkError
from benchmarks.records import Asking, Question, Split
from benchmarks.samples import apart, sampled


def work(*, within, out, more=0, seed=7, limit=0, questions=20):
    """Two domains, each question asked at home and at the other edge."""
    split = {"name": "s", "kind": "domain", "files": ["*"], "within": within, "out": out, "systems": ["dgrag"], "more": {"dgrag": more}}
    config = RunConfig.model_validate({"name": "trial", "seed": seed, "limit": limit, "split": [split]})
    asked = []
    for domain, other in (("a", "b"), ("b", "a")):
        known = [Question(f"{domain}{number}", "?", domain, ()) for number in range(questions)]
        asked += [Asking(question, domain, "within") for question in known] + [Asking(question, other, "out") for question in known]
    return SimpleNamespace(config=config, measured=config.split[0], split=Split("s", {"a": (), "b": ()}, tuple(asked)))


def ids(askings):
    return {asking.question.question_id for asking in askings}


@given(
    within=st.integers(0, 6),
    out=st.integers(0, 6),
    more=st.integers(0, 4),
    seed=st.integers(0, 99),
    run_limit=st.integers(0, 9),
    limit=st.integers(0, 9),
)
def test_no_question_that_a_run_asks_anywhere_is_calibrated_on(within, out, more, seed, run_limit, limit):
    if not within + out + more:
        return
    reported = ids(sampled(work(within=within, out=out, more=more, seed=seed, limit=run_limit), more=more))
    assert not ids(apart(work(within=within, out=out, more=more, seed=seed, limit=limit))) & reported


def test_as_many_are_calibrated_on_as_the_system_with_the_most_is_asked():
    one = work(within=3, out=3, more=2)
    assert len(apart(one)) == len(sampled(one, more=2)) == 2 * 2 * 5


def test_within_and_out_of_domain_are_the_same_questions():
    found = apart(work(within=3, out=3))
    assert ids(one for one in found if one.scenario == "within") == ids(one for one in found if one.scenario == "out")


def test_a_run_of_all_questions_leaves_none():
    with pytest.raises(BenchmarkError, match="none are left"):
        apart(work(within=-1, out=2))
