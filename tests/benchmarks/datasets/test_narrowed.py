import pytest

from benchmarks.datasets.corpus import DatasetError
from benchmarks.datasets.narrowed import few_questions, fewer_clients, fewer_documents, with_questions
from benchmarks.datasets.passages import Passages


@pytest.fixture
def corpus(multihop):
    return Passages.read(multihop, "client_iid")


def test_fewer_documents_keep_only_the_questions_that_they_can_answer(corpus):
    """Of a, b, c and d two are kept, a and c or b and d; q-within needs a and b, q-across a and c."""
    found = fewer_documents(corpus, 2, seed=0)
    kept = {one.document_id for one in found.documents()}
    assert kept in ({"a", "c"}, {"b", "d"})
    expected = ["q-across"] if "a" in kept else []
    assert [one.question_id for one in found.questions()] == [*expected, "q-homeless", "q-home"]
    assert {document_id for document_id, _ in found.rows(kept)} == kept


def test_of_few_questions_all_that_they_need_is_kept_and_others_fill_up(corpus):
    """Whichever is asked, what it needs is among the three documents; the seed says which the others are."""
    for seed in range(8):
        found = few_questions(corpus, 1, 3, seed=seed)
        kept = [one.document_id for one in found.documents()]
        (asked,) = found.questions()
        assert len(kept) == 3
        assert set(asked.gold) <= set(kept)
        assert kept == sorted(kept)
    assert few_questions(corpus, 1, 3, seed=5) == few_questions(corpus, 1, 3, seed=5)


def test_few_questions_among_all_documents(corpus):
    found = few_questions(corpus, 2, -1, seed=0)
    assert (len(found.questions()), found.documents()) == (2, corpus.documents())


def test_questions_that_need_more_documents_than_there_are_to_be_are_refused(corpus):
    with pytest.raises(DatasetError, match="need 3 documents, more than 2"):
        few_questions(corpus, -1, 2, seed=0)


def test_the_clients_with_fewest_documents_become_one(corpus):
    """Client 0 has two documents, 1 and 2 one each."""
    found = fewer_clients(corpus, 2)
    assert [one.domain for one in found.documents()] == ["client-0", "client-0", "client-1", "client-1"]
    assert {one.domain for one in found.questions()} == {"client-0", "client-1"}


@pytest.mark.parametrize("most", [3, 9])
def test_as_many_clients_as_there_are_stay_as_they_are(corpus, most):
    assert fewer_clients(corpus, most) == corpus


def test_an_empty_field_is_one_client_for_all(multihop):
    corpus = Passages.read(multihop, "")
    assert {one.domain for one in (*corpus.documents(), *corpus.questions())} == {"client-0"}


def test_questions_of_a_file_are_asked_by_the_clients_in_turn_and_have_no_answers(corpus, write_jsonl, tmp_path):
    file = write_jsonl(tmp_path / "asked.jsonl", [{"id": f"q{number}", "question": "What are the themes?"} for number in range(4)])
    found = with_questions(corpus, file).questions()
    assert [one.domain for one in found] == ["client-0", "client-1", "client-2", "client-0"]
    assert {(one.references, one.gold) for one in found} == {((), ())}


@pytest.mark.parametrize(
    ("rows", "told"), [([], "has no questions"), ([{"id": "q"}], r"asked\.jsonl:1: `question` is missing"), (None, "cannot read")]
)
def test_a_file_without_questions_is_refused(corpus, write_jsonl, tmp_path, rows, told):
    file = tmp_path / "asked.jsonl"
    if rows is not None:
        write_jsonl(file, rows)
    with pytest.raises(DatasetError, match=told):
        with_questions(corpus, file)


@pytest.mark.data
def test_the_news_have_five_categories_where_the_two_smallest_are_one(data_folder):
    corpus = fewer_clients(Passages.read(data_folder / "multihop_rag", "client_category"), 5)
    sizes = [sum(one.domain == client for one in corpus.documents()) for client in sorted({one.domain for one in corpus.documents()})]
    assert sorted(sizes) == [8, 29, 34, 57, 60]
