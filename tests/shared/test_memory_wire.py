"""What crosses the line of memories: bounded, without a vector, and nothing answers that has no answer."""

import pytest
from pydantic import TypeAdapter, ValidationError

from shared.records import Answer, MemoryReport
from shared.wire import MAX_MEMORIES, MAX_MEMORY_ANSWER_CHARS, MAX_MEMORY_QUESTION_CHARS, AskLine, Feedback, MemoryBody, MemoryDelta

BODY = {"memory_id": "m1", "question": "Who built it?", "answer": "Ann Lee", "direct": True}
DELTA = {"epoch": "e1", "base_version": 0, "version": 3, "upserts": [BODY], "removals": ["m2"]}


def test_a_delta_is_read_as_it_was_sent():
    delta = MemoryDelta.model_validate(DELTA)
    assert MemoryDelta.model_validate_json(delta.model_dump_json()) == delta
    assert delta.upserts == (MemoryBody(**BODY),)


def test_texts_of_the_longest_length_pass():
    MemoryBody(memory_id="m" * 64, question="q" * MAX_MEMORY_QUESTION_CHARS, answer="a" * MAX_MEMORY_ANSWER_CHARS, direct=True)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("memory_id", ""),
        ("memory_id", "m" * 65),
        ("memory_id", "<b>"),
        ("question", ""),
        ("question", "q" * (MAX_MEMORY_QUESTION_CHARS + 1)),
        ("answer", "a" * (MAX_MEMORY_ANSWER_CHARS + 1)),
        ("direct", None),
        ("vector", [0.1]),
    ],
)
def test_a_memory_out_of_bounds_or_with_a_vector_is_none(name, wrong):
    with pytest.raises(ValidationError, match=name):
        MemoryBody.model_validate({**BODY, name: wrong})


@pytest.mark.parametrize("answer", ["", "  "])
def test_a_memory_without_an_answer_is_a_hint_and_nothing_more(answer):
    assert not MemoryBody.model_validate({**BODY, "answer": answer, "direct": False}).direct
    with pytest.raises(ValidationError, match="must have an answer"):
        MemoryBody.model_validate({**BODY, "answer": answer})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("upserts", [BODY] * (MAX_MEMORIES + 1)),
        ("removals", ["m"] * (MAX_MEMORIES + 1)),
        ("removals", ["[a](http://evil.example)"]),
        ("epoch", ""),
        ("version", -1),
        ("base_version", 2**53),
    ],
)
def test_a_delta_out_of_bounds_is_none(name, wrong):
    with pytest.raises(ValidationError, match=name):
        MemoryDelta.model_validate({**DELTA, name: wrong})


@pytest.mark.parametrize("verdict", ["", "Right", "maybe", None])
def test_feedback_says_right_or_wrong(verdict):
    assert Feedback(verdict="wrong").verdict == "wrong"
    with pytest.raises(ValidationError, match="verdict"):
        Feedback.model_validate({"verdict": verdict})


REPORT = MemoryReport("m1", "template", "Who?", "Ann", 0.95, 0.96, 0.9, 0.92, "another word")
ANSWER = Answer("q", "Ann [1].", (), "memory", memory=REPORT)


def test_what_was_remembered_travels_with_the_answer_and_back():
    dumped = TypeAdapter(Answer).dump_json(ANSWER)
    assert TypeAdapter(Answer).validate_json(dumped) == ANSWER


def test_an_answer_from_no_memory_says_nothing_of_one_to_an_edge():
    line = AskLine(answer=Answer("q", "Ann.", (), "cloud")).model_dump_json(exclude_none=True)
    assert "memory" not in line  # so that an edge of the former release reads it
    assert AskLine.model_validate_json(line).answer.memory is None


@pytest.mark.parametrize(("name", "lie"), [("memory_id", "[a](http://evil.example)"), ("kind", "<b>"), ("score", float("nan"))])
def test_a_memory_of_an_answer_with_markup_or_no_number_is_none(name, lie):
    told = TypeAdapter(Answer).dump_python(ANSWER)
    assert AskLine.model_validate({"answer": told}).answer == ANSWER
    told["memory"][name] = lie
    with pytest.raises(ValidationError, match=name):
        AskLine.model_validate({"answer": told})
