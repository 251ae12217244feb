import orjson
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.peers.corpus import cost_input, lines, quality_input, write
from shared.models.fake import WordTokenizer


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "corpus.jsonl"
    write(file, [{"doc_id": f"d{number}", "text": f"one two three {number}", "title": f"T{number}"} for number in range(10)])
    return file


def cut(source, tmp_path, tokens, new_tokens=7):
    return cost_input([source], tokens=tokens, new_tokens=new_tokens, tokenizer=WordTokenizer(), folder=tmp_path)


def test_documents_are_whole_and_just_reach_the_size(source, tmp_path):
    found = cut(source, tmp_path, 10)
    assert (found.count, found.tokens) == (3, 12)
    assert [row["id"] for row in lines(found.documents)] == ["d0", "d1", "d2"]


def test_the_added_document_is_unseen_and_the_same_at_every_size(source, tmp_path):
    (first,), (second,) = (list(lines(cut(source, tmp_path, tokens).new)) for tokens in (10, 20))
    assert first == second == {"id": "new-document", "text": "one two three 8\n\none two three 9"}


@pytest.mark.parametrize(("tokens", "new"), [(41, 1), (40, 1), (36, 7)])
def test_too_small_files_are_an_error(source, tmp_path, tokens, new):
    with pytest.raises(BenchmarkError, match="fewer than"):
        cut(source, tmp_path, tokens, new)


def test_a_multi_hop_set_has_titles_with_its_passages_and_a_limit_on_questions(source, tmp_path):
    write(tmp_path / "questions.jsonl", [{"id": f"q{number}", "question": "who"} for number in range(3)])
    (tmp_path / "out").mkdir()
    documents, questions, asked, passages = quality_input(tmp_path, limit=2, out=tmp_path / "out")
    assert passages["d0"] == "T0\none two three 0"
    assert [row["id"] for row in lines(questions)] == ["q0", "q1"] == [row["id"] for row in asked]
    assert len(list(lines(documents))) == 10


def test_a_sample_of_questions_is_asked_of_the_passages_that_came_with_it(source, tmp_path):
    write(tmp_path / "questions.jsonl", [{"id": f"q{n}", "question": "who", "candidate_doc_ids": [f"d{n}", "d9"]} for n in range(3)])
    (tmp_path / "out").mkdir()
    assert list(quality_input(tmp_path, limit=2, out=tmp_path / "out")[3]) == ["d0", "d1", "d9"]
    assert len(quality_input(tmp_path, limit=0, out=tmp_path / "out")[3]) == 10


def test_passages_of_other_sets_lie_among_the_sets_own_but_for_equal_texts(source, tmp_path):
    write(tmp_path / "questions.jsonl", [{"id": "q0", "question": "who", "candidate_doc_ids": ["d0"]}])
    (tmp_path / "other").mkdir()
    rows = [{"doc_id": "e0", "title": "T0", "text": "one two three 0"}, {"doc_id": "e1", "title": "E", "text": "four"}]
    write(tmp_path / "other" / "corpus.jsonl", rows)
    (tmp_path / "out").mkdir()
    found = quality_input(tmp_path, limit=1, among=[tmp_path / "other"], out=tmp_path / "out")
    assert found[3] == {"d0": "T0\none two three 0", "e1": "E\nfour"}
    assert len(list(lines(found[0]))) == 2


def test_a_file_that_is_absent_or_broken_is_named(tmp_path):
    with pytest.raises(BenchmarkError, match="nothing"):
        list(lines(tmp_path / "nothing.jsonl"))
    (tmp_path / "bad.jsonl").write_bytes(orjson.dumps({})[:1])
    with pytest.raises(BenchmarkError, match="bad"):
        list(lines(tmp_path / "bad.jsonl"))
