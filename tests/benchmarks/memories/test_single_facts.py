"""The figures of single facts: what is asked, and how a bar is chosen and judged."""

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.memories.single_facts import asked_of, bar, figures


def row(kind, key, certainty, right, *, named=True, question="Who opened Merle Quarry?"):
    told = {"kind": kind, "key": key, "certainty": certainty, "right": right, "named": named, "question": question}
    return {**told, "held": True, "seconds": 1.0}


def test_sub_questions_that_stand_alone_are_asked_once_and_the_absent_ones_without_all_that_holds_the_answer():
    steps = [{"question": "Who opened Merle Quarry?", "answer": "Ida Tarrow"}, {"question": "Where was #1 born?", "answer": "Dunmore"}]
    questions = [
        {"id": str(n), "question": f"Where was the owner born? {n}", "answers": ["Dunmore"], "decomposition": steps} for n in (1, 2)
    ]
    asked = asked_of(questions, {"a": "Ida Tarrow opened it.", "b": "Ida Tarrow again.", "c": "A mill."})
    assert [one.kind for one in asked] == ["single", "absent", "nested", "nested", "later"]
    assert asked[1].hidden == {"a", "b"}
    assert (asked[-1].question, asked[-1].answers) == ("Where was Ida Tarrow born?", ("Dunmore",))


def test_a_written_fact_is_asked_again_where_nothing_holds_its_answer_and_its_paragraph_must_state_it():
    fact = {"set": "mills", "doc_id": "a", "question": "Who opened Merle Quarry?", "answers": ["Ida Tarrow"]}
    whole = {"id": "n", "question": "Where was the owner born?", "answers": ["Dunmore"]}
    asked = asked_of([whole], {"a": "Ida Tarrow opened it.", "b": "Ida Tarrow again.", "c": "A mill."}, [fact])
    assert [one.kind for one in asked] == ["fact", "absent-fact", "nested"]
    assert (asked[0].answers, asked[1].answers, asked[1].hidden) == (("Ida Tarrow",), (), {"a", "b"})
    with pytest.raises(BenchmarkError, match="Merle Quarry"):
        asked_of([], {"a": "A mill."}, [fact])


def test_a_fact_of_the_second_batch_is_a_kind_of_its_own_and_not_asked_without_its_answer():
    fact = {"set": "mills", "doc_id": "a", "question": "Who opened Merle Quarry?", "answers": ["Ida Tarrow"], "batch": 2}
    assert [one.kind for one in asked_of([], {"a": "Ida Tarrow opened it."}, [fact])] == ["fact-2"]


def test_a_bar_is_the_least_at_which_the_share_is_right_and_no_bar_answers_nothing():
    rows = [row("single", str(n), n / 10, n != 5) for n in range(10)]
    assert bar(rows, precision=0.8) == 0.0
    assert bar(rows, precision=0.95) == 0.6
    assert bar([row("single", "a", 0.9, False)]) > 1


def test_each_half_is_judged_by_the_bar_of_the_other_and_an_answer_to_an_absent_fact_is_wrong():
    rows = [row("single", f"s{n}", 0.9, True) for n in range(20)] + [row("absent", f"a{n}", 0.1, False) for n in range(8)]
    told = figures([*rows, row("nested", "n", None, False), row("later", "l1", 0.9, True), row("later", "l2", 0.9, True, named=False)])
    assert (told["crossed"]["single"]["answered"], told["crossed"]["single"]["right"]) == (20, 20)
    assert (told["crossed"]["absent"]["answered"], told["crossed"]["nested"]["answered"]) == (0, 0)
    assert (told["product"]["later"]["asked"], told["product"]["later"]["answered"]) == (2, 1)
    assert "later" not in told["crossed"]


def test_facts_choose_no_bar_and_are_judged_by_that_of_the_product():
    facts = [row("fact", "f1", 0.5, True), row("fact", "f2", 0.3, True), row("absent-fact", "f1-absent", 0.5, False)]
    told = figures([*facts, row("nested", "n1", 0.9, True), row("nested", "n2", 0.9, True, question="Who is older, Ann or Bo?")])
    assert told["crossed"] == {}
    assert {kind: (one["asked"], one["answered"], one["right"]) for kind, one in told["product"].items()} == {
        "nested": (2, 1, 1),
        "fact": (2, 1, 1),
        "absent-fact": (1, 1, 0),
    }
    assert (told["product"]["fact"]["p50_s"], told["product"]["fact"]["p90_s"]) == (1.0, 1.0)


def test_beside_memory_stands_what_the_model_made_of_the_same_facts():
    facts = [row("fact", f"f{n}", 0.5, n < 2) for n in range(3)]
    slow = [{"key": f"f{n}", "answered": n > 0, "right": n == 1, "seconds": 9.0} for n in range(3)]
    told = figures(facts, slow)["beside_the_model"]
    assert told == {"asked": 3, "answered": 2, "both_right": 1, "only_memory_right": 1, "only_model_right": 0, "p50_s": 9.0, "p90_s": 9.0}
