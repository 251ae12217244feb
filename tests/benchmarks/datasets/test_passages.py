import json

import pytest

from benchmarks.datasets.corpus import DatasetError
from benchmarks.datasets.passages import Passages
from benchmarks.records import Question, SourceDocument


def test_a_documents_domain_is_its_client(multihop):
    corpus = Passages.read(multihop, "client_iid")
    assert [(one.document_id, one.domain) for one in corpus.documents()] == [
        ("a", "client-0"), ("b", "client-0"), ("c", "client-1"), ("d", "client-2"),
    ]  # fmt: skip
    assert corpus.documents()[0] == SourceDocument("a", "client-0", "A", len("Of a."))


def test_another_field_deals_otherwise(multihop):
    assert {one.domain for one in Passages.read(multihop, "client_topic").documents()} == {"client-3"}


def test_a_question_is_asked_at_home_else_where_its_first_gold_is_else_in_turn(multihop):
    corpus = Passages.read(multihop, "client_iid")
    assert [question.domain for question in corpus.questions()] == ["client-0", "client-1", "client-2", "client-0"]
    assert corpus.questions()[0] == Question("q-within", "Who?", "client-0", ("Ada",), gold=("a", "b"), kind="bridge")
    assert corpus.questions()[2].references == ()


def test_without_a_home_the_first_gold_document_says_where(multihop, write_jsonl):
    write_jsonl(multihop / "questions.jsonl", [{"id": "q", "question": "Who?", "answers": [], "gold_doc_ids": ["d", "a"]}])
    (question,) = Passages.read(multihop, "client_iid").questions()
    assert (question.domain, question.kind) == ("client-2", "")


def test_rows_are_the_source_lines(multihop):
    lines = (multihop / "corpus.jsonl").read_bytes().splitlines(keepends=True)
    assert list(Passages.read(multihop, "client_iid").rows({"c", "a"})) == [("a", lines[0]), ("c", lines[2])]


def test_documents_of_other_sets_lie_among_this_ones_but_for_the_same_texts(multihop, tmp_path, write_jsonl):
    other = tmp_path / "other"
    other.mkdir()
    rows = [{"doc_id": "x", "text": "of  A.", "client_iid": 3}, {"doc_id": "b"}, {"doc_id": "y", "text": "Of y.", "client_iid": 3}]
    write_jsonl(other / "corpus.jsonl", rows)
    alone, corpus = Passages.read(multihop, "client_iid"), Passages.read(multihop, "client_iid", [other])
    assert [one.document_id for one in corpus.documents()] == [*(one.document_id for one in alone.documents()), "y"]
    assert corpus.questions() == alone.questions()
    assert [document_id for document_id, _ in corpus.rows({"b", "y"})] == ["b", "y"]
    assert [one.split(":")[0] for one in corpus.skipped()] == ["other/corpus.jsonl"]


def test_an_unknown_client_field_is_refused_with_those_that_there_are(multihop):
    with pytest.raises(DatasetError, match=r"`client` is missing .* client: client_iid, client_topic"):
        Passages.read(multihop, "client")


def test_malformed_rows_are_named_and_left_out(multihop, write_jsonl):
    ask = {"question": "Who?", "answers": [], "gold_doc_ids": []}
    again = {"doc_id": "a", "text": "Other.", "client_iid": 0}
    write_jsonl(multihop / "corpus.jsonl", [{"doc_id": "a", "text": "One.", "client_iid": 0}, again, {"doc_id": "b", "client_iid": 0}])
    write_jsonl(
        multihop / "questions.jsonl",
        [{**ask, "id": "q1"}, {**ask, "id": "q1"}, {**ask, "id": "q2", "gold_doc_ids": ["z"]}, {"id": "q3"}, {**ask, "id": "q4"}],
    )
    corpus = Passages.read(multihop, "client_iid")
    assert corpus.skipped() == (
        "corpus.jsonl:2: `doc_id` 'a' comes again",
        "corpus.jsonl:3: `text` is missing, blank or no text",
        "questions.jsonl:2: `id` 'q1' comes again",
        "questions.jsonl:3: the gold document 'z' is not in corpus.jsonl",
        "questions.jsonl:4: `gold_doc_ids` is no list of texts",
    )
    assert [question.question_id for question in corpus.questions()] == ["q1", "q4"]
    ((_, line),) = corpus.rows({"a"})
    assert json.loads(line)["text"] == "One."


@pytest.mark.parametrize("name", ["corpus.jsonl", "questions.jsonl"])
def test_a_set_without_one_of_its_files_is_refused(multihop, name):
    (multihop / name).unlink()
    with pytest.raises(DatasetError, match=f"no file matches '{name}'"):
        Passages.read(multihop, "client_iid")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "client", "documents", "questions"),
    [
        ("multihop/hotpotqa", "client_iid", 1242, 125),
        ("multihop/musique", "client_grouped", 1140, 59),
        ("multihop/2wikimultihopqa", "client_iid", 529, 65),
        ("multihop/ketrag_musique", "client_iid", 6761, 310),
        ("multihop_rag", "client_category", 188, 292),
        ("podcast", "client", 1122, 94),
    ],
)
def test_every_evaluation_set_is_read_whole(data_folder, name, client, documents, questions):
    corpus = Passages.read(data_folder / name, client)
    assert (len(corpus.documents()), len(corpus.questions()), corpus.skipped()) == (documents, questions, ())
