from benchmarks.report.compare import note, side_by_side
from benchmarks.summary import summarise

WORDS = "one two three four"


def answer(question, said, system="dgrag"):
    step = {"step": "samples", "ms": 1.0, "calls": 1, "tokens_in": 5, "tokens_out": 1, "bytes_out": 0, "bytes_in": 0}
    return {
        "split": "s",
        "scenario": "within",
        "system": system,
        "edge": "e",
        "question_id": question,
        "question": "?",
        "asked_edges": [],
        "references": [WORDS],
        "answer": said,
        "answered": True,
        "route": "local",
        "seconds": 1.0,
        "escalated": False,
        "gate": None,
        "steps": [step],
        "error": "",
    }


def run(name, answers, **provenance):
    return summarise({"answers": answers}, {"name": name, "seed": 1, "config": {}, **provenance})


def recall(table):
    return next(row for row in table.rows if row[1] == "rouge_l_recall")


WORSE = [answer(f"q{number}", "one") for number in range(20)]
BETTER = [answer(f"q{number}", "one two") for number in range(20)]


def test_a_difference_on_every_question_is_clear():
    table = side_by_side(run("a", WORSE), run("b", BETTER), WORSE, BETTER)
    assert recall(table) == ("s, within domain, dgrag", "rouge_l_recall", "25.0 %", "50.0 %", "25.0 %", "25.0–25.0, n = 20", "yes")


def test_of_fewer_than_ten_questions_nothing_is_clear():
    clear = [recall(side_by_side(run("a", WORSE[:n]), run("b", BETTER[:n]), WORSE[:n], BETTER[:n]))[-1] for n in (9, 10)]
    assert clear == ["no", "yes"]


def test_gains_and_losses_that_balance_are_not_clear():
    mixed = [answer(f"q{number}", "one two" if number % 2 else "") for number in range(20)]
    assert recall(side_by_side(run("a", WORSE), run("b", mixed), WORSE, mixed))[-1] == "no"


def test_without_the_answers_nothing_is_called_clear():
    assert recall(side_by_side(run("a", WORSE), run("b", BETTER), WORSE, []))[-2:] == ("no answers beside both", "not known")


def test_only_questions_that_both_were_asked_are_paired():
    few = BETTER[:5]
    assert recall(side_by_side(run("a", WORSE), run("b", few), WORSE, few))[-2] == "25.0–25.0, n = 5"


def test_bertscore_is_compared_where_the_answers_carry_it():
    worse, better = ([row | {"bertscore_recall": score} for row in rows] for rows, score in ((WORSE, 0.5), (BETTER, 0.75)))
    table = side_by_side(run("a", worse), run("b", better), worse, better)
    assert next(row for row in table.rows if row[1] == "bertscore_recall")[2:5] == ("50.0 %", "75.0 %", "25.0 %")


def test_means_are_those_of_the_paired_questions():
    """The second run was asked five more, all of them right."""
    more = BETTER + [answer(f"r{number}", WORDS) for number in range(5)]
    assert recall(side_by_side(run("a", WORSE), run("b", more), WORSE, more))[2:5] == ("25.0 %", "50.0 %", "25.0 %")


def test_systems_that_one_run_lacks_are_left_out():
    other = [answer("q0", "one", system="local")]
    assert side_by_side(run("a", WORSE), run("b", other), WORSE, other).rows == ()


def test_what_differs_between_the_runs_is_said():
    said = note(run("a", [], commit="abc", machine={"cpu": "x"}), run("b", [], commit="def", machine={"cpu": "x"}))
    assert said == "The runs differ in commit: abc and def."
    assert note(run("a", []), run("b", [])) == "One commit, seed, machine and models."
