import json
import tracemalloc

import pytest

from benchmarks.datasets.corpus import DatasetError
from benchmarks.datasets.ultradomain import UltraDomain
from benchmarks.records import Question, SourceDocument


def test_rows_of_one_context_are_one_document_and_a_domain_may_have_several(domains):
    corpus = UltraDomain.read(domains, ["books/*.jsonl"])
    assert [(one.document_id, one.domain) for one in corpus.documents()] == [
        ("id-A", "art"), ("id-B", "art"), ("id-C", "cs"), ("id-D", "law"), ("id-E", "law"), ("id-F", "law"),
    ]  # fmt: skip
    assert corpus.documents()[0] == SourceDocument("id-A", "art", "Book A", len("The text of A."))


def test_each_row_is_a_question_whose_gold_is_its_context(domains):
    corpus = UltraDomain.read(domains, ["books/*.jsonl"])
    assert len(corpus.questions()) == 10
    assert corpus.questions()[2] == Question("art-q2", "Question 2?", "art", ("Answer 2.",), gold=("id-B",))


def test_the_domain_is_the_files_name_whatever_the_label_says(tmp_path, row, write_jsonl):
    write_jsonl(tmp_path / "biology.jsonl", [row(1, "A", label="other")])
    assert UltraDomain.read(tmp_path, ["*.jsonl"]).questions()[0].domain == "biology"


def test_rows_are_the_first_source_line_of_each_document_byte_by_byte(tmp_path, row, write_jsonl):
    odd = b'{"_id":"q","context_id": "id-A",  "context":"caf\\u00e9 \xc3\xa9", "input":"?!x", "answers":[]}'
    write_jsonl(tmp_path / "cs.jsonl", [odd, row(2, "A", context="café é"), row(3, "B")])
    rows = dict(UltraDomain.read(tmp_path, ["cs.jsonl"]).rows({"id-A", "id-B"}))
    assert rows["id-A"] == odd + b"\n"
    assert json.loads(rows["id-B"])["_id"] == "cs-q3"


def test_only_the_rows_that_are_asked_for_come(domains):
    corpus = UltraDomain.read(domains, ["books/*.jsonl"])
    assert [name for name, _ in corpus.rows(["id-E", "id-B", "id-none"])] == ["id-B", "id-E"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{", "cs.jsonl:2: is not JSON"),
        (b"[]", "cs.jsonl:2: is not a JSON object"),
        (b"\xff{}", "cs.jsonl:2: is not JSON"),
        ({"input": " "}, "cs.jsonl:2: `input` is missing, blank or no text"),
        ({"context": None}, "cs.jsonl:2: `context` is missing, blank or no text"),
        ({"context_id": 7}, "cs.jsonl:2: `context_id` is missing, blank or no text"),
        ({"answers": "one"}, "cs.jsonl:2: `answers` is no list of texts"),
        ({"answers": [1]}, "cs.jsonl:2: `answers` is no list of texts"),
        ({"_id": "cs-q1"}, "cs.jsonl:2: `_id` 'cs-q1' comes again"),
        ({"context_id": "id-A"}, "cs.jsonl:2: `context_id` 'id-A' already stands for another text"),
    ],
)
def test_a_malformed_row_is_named_and_costs_nothing_else(tmp_path, row, write_jsonl, bad, reason):
    second = bad if isinstance(bad, bytes) else row(2, "B") | bad
    write_jsonl(tmp_path / "cs.jsonl", [row(1, "A"), second, row(3, "C")])
    corpus = UltraDomain.read(tmp_path, ["cs.jsonl"])
    assert [skipped[: len(reason)] for skipped in corpus.skipped()] == [reason]
    assert [question.question_id for question in corpus.questions()] == ["cs-q1", "cs-q3"]
    assert [name for name, _ in corpus.rows({"id-A", "id-B", "id-C"})] == ["id-A", "id-C"]


def test_a_context_whose_first_row_is_malformed_comes_from_the_next_one(tmp_path, row, write_jsonl):
    write_jsonl(tmp_path / "cs.jsonl", [row(1, "A", input=""), row(2, "A")])
    ((_, line),) = UltraDomain.read(tmp_path, ["cs.jsonl"]).rows({"id-A"})
    assert json.loads(line)["_id"] == "cs-q2"


def test_blank_lines_are_nothing(tmp_path, row, write_jsonl):
    write_jsonl(tmp_path / "cs.jsonl", [b"", row(1, "A"), b"  "])
    assert UltraDomain.read(tmp_path, ["cs.jsonl"]).skipped() == ()


def test_a_text_that_two_domains_share_is_a_document_of_both(tmp_path, row, write_jsonl):
    for domain in ("art", "cs"):
        write_jsonl(tmp_path / f"{domain}.jsonl", [row(1, "A", domain=domain)])
    corpus = UltraDomain.read(tmp_path, ["*.jsonl"])
    assert [(one.document_id, one.domain) for one in corpus.documents()] == [("id-A", "art"), ("id-A", "cs")]
    assert len(list(corpus.rows({"id-A"}))) == 1


def test_two_files_of_one_name_are_refused(tmp_path, row, write_jsonl):
    for folder in ("old", "new"):
        write_jsonl(tmp_path / folder / "mix.jsonl", [row(1, "A")])
    with pytest.raises(DatasetError, match="two files are called 'mix'"):
        UltraDomain.read(tmp_path, ["*/mix.jsonl"])


def test_files_without_a_usable_row_are_refused_with_the_first_reason(tmp_path, write_jsonl):
    write_jsonl(tmp_path / "corpus.jsonl", [{"doc_id": "a", "text": "b"}])
    with pytest.raises(DatasetError, match=r"corpus\.jsonl; corpus\.jsonl:1: `context` is missing"):
        UltraDomain.read(tmp_path, ["corpus.jsonl"])


def test_memory_does_not_grow_with_the_file(tmp_path, row, write_jsonl):
    """Rows of 200 kB: 40 of them are 8 MB, and what is held for 30 more is their questions."""

    def peak(rows):
        write_jsonl(tmp_path / "cs.jsonl", [row(number, f"{number % 4}", context=f"{number % 4}" * 200_000) for number in range(rows)])
        tracemalloc.start()
        corpus = UltraDomain.read(tmp_path, ["cs.jsonl"])
        for _ in corpus.rows({one.document_id for one in corpus.documents()}):
            pass
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(corpus.documents()) == 4
        return held

    assert peak(40) < peak(10) + 200_000


@pytest.mark.data
def test_the_evaluation_files_are_read_whole(data_folder):
    corpus = UltraDomain.read(data_folder, ["standin_textbooks/*.jsonl", "ultradomain_mix/mix.jsonl"])
    counts = {name: [0, 0] for name in ("economics", "health", "politics", "psychology", "mix")}
    for document in corpus.documents():
        counts[document.domain][0] += 1
    for question in corpus.questions():
        counts[question.domain][1] += 1
    assert counts == {"economics": [8, 47], "health": [7, 42], "politics": [9, 29], "psychology": [8, 48], "mix": [37, 75]}
    assert corpus.skipped() == ()
