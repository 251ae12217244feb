from dataclasses import replace

import orjson
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.journal import Journal
from benchmarks.memories.again import Told, came_of, order_of, told_of
from benchmarks.memories.again_asked import Came, figures, is_right
from benchmarks.memories.paraphrases import Again, asked_again, read_ways, row_of, ways_of
from benchmarks.records import AnswerRow, Question
from shared.models.fake import ScriptedGenerator

QUESTIONS = {"a": "Who built Orrin Mill?"}


def came(number, *, cover=1.0, origin="", hit=False, kind="learned", told="", accurate=False, why_not="", seconds=0.02):
    return Came(cover, origin, f"q{number}", hit, kind, told, accurate, why_not, seconds)


def rightly(number, **fields):
    return came(number, origin="a", hit=True, told=QUESTIONS["a"], accurate=True, **fields)


def test_what_was_learned_is_right_for_its_own_question_alone():
    assert is_right(rightly(0), QUESTIONS)
    assert not is_right(came(0, origin="a", hit=True, told="Who burnt it?", accurate=True), QUESTIONS)
    assert not is_right(came(0, hit=True, told=QUESTIONS["a"], accurate=True), QUESTIONS)  # another question, whatever was said


def test_what_documents_tell_is_right_where_it_is_an_accepted_answer():
    assert is_right(came(0, hit=True, kind="template", told="Who built the mill?", accurate=True), QUESTIONS)
    assert not is_right(came(0, origin="a", hit=True, kind="template", told=QUESTIONS["a"]), QUESTIONS)


def test_coverage_is_of_what_came_again_and_precision_of_all_hits():
    rows = [rightly(0), came(1, origin="a", why_not="the score"), came(2, hit=True, told=QUESTIONS["a"]), came(3)]
    (told,) = figures(rows, QUESTIONS)
    assert (told["asked_again"], told["of_questions"], told["others"]) == (2, 1, 2)
    assert (told["coverage"]["mean"], told["precision"]["mean"]) == (0.5, 0.5)
    assert (told["hits_on_others"], told["false_on_others"], told["false_again"]) == (1, 1, 0)
    assert told["why_not"] == {"the score": 1}
    assert told["hit_ms"] == {"p50": 20.0, "p95": 20.0}


def test_each_share_of_words_is_told_apart_and_without_a_hit_there_is_no_precision():
    strict, lax = figures([came(0, origin="a"), rightly(0, cover=0.6)], QUESTIONS)
    assert (strict["cover"], strict["precision"], strict["hit_ms"]) == (1.0, None, None)
    assert (lax["cover"], lax["precision"]["mean"]) == (0.6, 1.0)


def test_what_is_asked_again_word_for_word_is_told_apart_from_other_words():
    (told,) = figures([came(0, origin="a"), replace(rightly(1), verbatim=True)], QUESTIONS)
    assert (told["coverage"]["mean"], told["word_for_word"]["mean"]) == (0.0, 1.0)


def question(name, text="Who built Orrin Mill?"):
    return Question(name, text, "client-0", ("Ann Lee",))


def test_only_what_was_learned_comes_again_in_one_order_among_all_the_others():
    told = Told((Again(question("a"), ("By whom?", "Whose?")), Again(question("b"), ("Where?",))), None, (question("x"), question("y")))
    asked = order_of(told, {"a": True, "b": False})
    assert sorted((origin, one.question_id) for origin, one in asked) == [
        ("", "x"),
        ("", "y"),
        ("a", "a/0"),
        ("a", "a/1"),
        ("a", "a/word for word"),
    ]
    assert asked == order_of(told, {"a": True, "b": False})


def test_an_answer_becomes_a_row_with_what_its_memory_was_asked():
    row = AnswerRow(
        "again", "within", "again", "client-0", "a/0", "By whom?", ("Ann Lee",), "Ann Lee", True, "memory", 0.02, False, None, (), ()
    )
    report = {"kind": "learned", "question": QUESTIONS["a"], "why_not": ""}
    found = came_of("a", AnswerRow(**{name: getattr(row, name) for name in row.__slots__} | {"memory": report}), 0.8)
    assert found == Came(0.8, "a", "a/0", True, "learned", QUESTIONS["a"], True, "", 0.02)
    assert came_of("a", row, 0.8).kind == ""  # nothing like it is remembered


def test_a_way_that_loses_a_name_or_repeats_the_question_is_none():
    replies = [
        "Who was the builder of the mill?",
        "who built orrin mill ?",
        "By whom was\nOrrin Mill built?",
        "By whom was Orrin Mill built?",
    ]
    assert ways_of("Who built Orrin Mill?", [*replies, "Orrin Mill was built by whom?"]) == (
        "By whom was Orrin Mill built?",
        "Orrin Mill was built by whom?",
    )


async def test_what_a_model_has_put_in_other_words_is_not_asked_for_again(tmp_path):
    asked = []

    def says(prompt):
        asked.append(prompt)
        return "By whom was Orrin Mill built?" if "Orrin" in prompt.messages[-1].content else "Nothing."

    for _ in range(2):
        with Journal(tmp_path / "journal.jsonl") as journal:
            found = await asked_again([question("a"), question("b", "Who ran it?")], ScriptedGenerator(says), journal)
    assert found == [Again(question("a"), ("By whom was Orrin Mill built?",))]
    assert len(asked) == 2


SET = '{"doc_id": "d1", "title": "", "text": "Ann Lee built Orrin Mill."}\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(SET)
    lines = (f'{{"id": "{name}", "question": "Who built Orrin Mill?", "answers": ["Ann Lee"], "gold_doc_ids": ["d1"]}}\n' for name in "abc")
    (tmp_path / "questions.jsonl").write_text("".join(lines))
    return tmp_path


def test_the_others_are_questions_that_were_put_in_no_other_words(folder):
    file = folder / "again.jsonl"
    file.write_bytes(orjson.dumps(row_of(Again(question("a"), ("By whom?",)), "small")))
    told = told_of(folder, file, [])
    assert [one.question.question_id for one in told.again] == ["a"]
    assert [one.question_id for one in told.others] == ["b", "c"]


@pytest.mark.parametrize("text", [None, "not json", '{"id": "a"}'])
def test_a_file_that_has_none_says_how_it_is_made(tmp_path, text):
    if text is not None:
        (tmp_path / "again.jsonl").write_text(text)
    with pytest.raises(BenchmarkError, match="no questions in other words") as caught:
        read_ways(tmp_path / "again.jsonl")
    assert "benchmarks.memories.paraphrases" in caught.value.next_step
