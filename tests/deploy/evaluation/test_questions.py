"""Files of questions: what is read, and what is said of those that cannot be."""

from pathlib import Path

import pytest

from deploy.evaluation.questions import MOST, OwnQuestion, parsed
from deploy.evaluation.text import claims, is_told
from shared.errors import InputError

PLAIN = {".csv", ".html", ".md", ".txt"}

SAMPLES = Path(__file__).parents[3] / "deploy" / "samples"


def test_a_spreadsheets_file_is_read_with_its_mark_its_semicolons_its_quotes_and_lines_within_a_cell():
    data = '\ufeffSite; Question ;ANSWER;note\r\nplant;"Which lot;\r\nwhich line?";"""L-7713""";x\r\n;;;\r\n;Who pays?;-\r\n'
    assert parsed("q.csv", data.encode()) == [
        OwnQuestion(2, "Which lot;\r\nwhich line?", '"L-7713"', ("plant",)),
        OwnQuestion(5, "Who pays?", "", ()),
    ]


def test_json_lines_say_the_same_and_a_line_separator_within_a_text_ends_no_line():
    data = '{"question": "Which\u2028lot?", "answer": "L-7713", "site": "plant, ward", "id": 7}\n\n{"question": "Who?", "answer": "-"}'
    assert parsed("q.JSONL", data.encode()) == [OwnQuestion(1, "Which\u2028lot?", "L-7713", ("plant", "ward")), OwnQuestion(3, "Who?", "")]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("q.csv", b"", "q.csv holds no question"),
        ("q.csv", b"question,answer\n", "q.csv holds no question"),
        ("q.csv", b"frage,answer\nWho?,Ann\n", "q.csv, line 1, names no column question"),
        ("q.csv", b"Who?\n", "q.csv, line 1, names no column answer and no column question"),
        ("q.csv", b"question,answer\nWho?,Ann\nWhere, when?,Here,Now\n", "q.csv, line 3, has 4 cells where the first line names 2"),
        ("q.csv", b"question,answer\nWho?\n", "q.csv, line 2, has no answer"),
        ("q.csv", b"question,answer\n ,Ann\n", "q.csv, line 2, has no question"),
        ("q.csv", b'question,answer\nWho?,Ann\nWhen?,"Now\n', "q.csv, line 3, cannot be read: unexpected end of data"),
        ("q.csv", b"question,answer\nWho?,Ann\nWho?,Bo\n", "q.csv, line 3, asks what line 2 asks"),
        ("q.csv", "question,answer\nWho?,Ann\nWo?,Köln\n".encode("latin-1"), "q.csv, line 3, is not UTF-8"),
        ("q.csv", "question,answer\nWho?,Ann\n".encode("utf-16"), "q.csv, line 1, is not UTF-8"),
        ("q.csv", b"question,answer\n" + b"?" * 4001 + b",Ann\n", "q.csv, line 2, has a question of 4,001 characters"),
        ("q.jsonl", b'{"question": "Who?", "answer": "Ann"}\n{', "q.jsonl, line 2, is no JSON"),
        ("q.jsonl", b'["Who?"]', "q.jsonl, line 1, is no object whose question, answer and site are texts"),
        ("q.jsonl", b'{"question": "Who?", "answer": 7}', "q.jsonl, line 1, is no object whose question, answer and site are texts"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(name: str, data: bytes, said: str):
    with pytest.raises(InputError) as caught:
        parsed(name, data)
    assert str(caught.value).startswith(said)


def test_ten_thousand_questions_are_taken_and_one_more_is_not():
    rows = [f"Who is {number}?,Ann" for number in range(MOST + 1)]
    assert len(parsed("q.csv", "\n".join(["question,answer", *rows[:-1]]).encode())) == MOST
    with pytest.raises(InputError, match="line 10002, is beyond the 10,000 questions of one file"):
        parsed("q.csv", "\n".join(["question,answer", *rows]).encode())


def test_each_sample_answer_is_told_by_the_documents_of_the_site_that_it_names_and_a_planted_one_is_not():
    asked = parsed("questions.csv", (SAMPLES / "questions.csv").read_bytes())
    assert (len(asked), sum(not one.answer for one in asked)) == (12, 1)
    for one in (one for one in asked if one.answer):
        held = [[file.read_text(encoding="utf-8") for file in (SAMPLES / site).iterdir() if file.suffix in PLAIN] for site in one.sites]
        documents = [text for texts in held for text in texts]
        assert all(any(is_told(claim, text, one.question) for text in documents) for claim in claims(one.answer)), one
        assert not any(is_told(f"{one.answer[:-1]} of Zanzibar 9999.", text, one.question) for text in documents)
