import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.metrics.text import covered, exact_match, f1, rouge_l_recall
from deploy.evaluation.text import accuracy, normalised

WORDS = st.text(alphabet="ab the,.No", max_size=30)
LISTS = st.lists(WORDS, max_size=3)


def test_rouge_l_recall_is_the_longest_common_subsequence_over_the_references_words():
    """Of "supply falls when costs rise" the answer has supply, when and rise in order: 3 of 5."""
    assert rouge_l_recall("Supply curves shift when prices of inputs rise.", "supply falls when costs rise") == pytest.approx(3 / 5)


def test_words_out_of_order_count_once():
    assert rouge_l_recall("b a", "a b") == 0.5


def test_a_longer_answer_has_no_lower_recall():
    short, reference = "the liver stores glycogen", "glycogen is stored by the liver"
    assert rouge_l_recall(short + " and much else", reference) >= rouge_l_recall(short, reference)


@pytest.mark.parametrize(("answer", "reference"), [("", "a cat"), ("a cat", ""), ("", ""), ("кот", "кот"), ("dog", "cat")])
def test_without_common_words_recall_is_zero(answer, reference):
    assert rouge_l_recall(answer, reference) == 0.0


@pytest.mark.parametrize(
    ("answer", "references", "matches"),
    [
        ("the George Orwell!", ["George Orwell"], 1.0),
        ("George", ["George Orwell"], 0.0),
        ("two", ["2", "Two"], 1.0),
        ("Yes", ["yes."], 1.0),
        ("anything", [], 0.0),
        ("A.", ["the"], 1.0),  # both are nothing but an article: a degenerate reference, matched by nothing else
    ],
)
def test_exact_match_ignores_case_articles_and_punctuation(answer, references, matches):
    assert exact_match(answer, references) == matches


def test_f1_is_the_harmonic_mean_of_precision_and_recall():
    """3 words said, 2 of them right, of 4 wanted: precision 2/3, recall 1/2, so 4/7."""
    assert f1("red green blue", ["red green white black"]) == pytest.approx(4 / 7)


def test_f1_counts_a_repeated_word_as_often_as_the_reference_has_it():
    assert f1("no no no cat", ["cat"]) == pytest.approx(2 / 5)


def test_f1_takes_the_best_reference():
    assert f1("Stanley Hall", ["Granville", "Stanley Hall"]) == 1.0


def test_a_yes_that_says_more_than_yes_has_no_f1():
    assert f1("yes they both are", ["yes"]) == 0.0
    assert f1("Yes.", ["yes"]) == 1.0


@pytest.mark.parametrize(
    ("answer", "references", "right"),
    [
        ("She was born in the Paris of 1900.", ["Paris of 1900"], 1.0),
        ("Parisian", ["Paris"], 0.0),  # a part of a word is no answer
        ("Stanley G. Hall", ["Stanley Hall"], 0.0),
        ("No, although yes was said.", ["no"], 1.0),
        ("Yes, there are no others.", ["no"], 0.0),
        ("I know nothing.", ["no"], 0.0),
        ("anything", ["..."], 0.0),
        ("", ["..."], 1.0),
        ("anything", [], 0.0),
    ],
)
def test_accuracy_asks_whether_the_answer_contains_an_accepted_one(answer, references, right):
    assert accuracy(answer, references) == right


def test_coverage_finds_an_answer_whatever_its_case_and_punctuation():
    assert covered("… led by G. STANLEY-HALL …", ["Stanleyhall"]) is True
    assert covered("nothing of it", ["Stanley Hall"]) is False


@pytest.mark.parametrize("references", [[], ["", "the"]])
def test_coverage_is_unknown_where_no_answer_is(references):
    assert covered("text", references) is None


@given(WORDS)
def test_normalising_twice_changes_nothing(text):
    assert normalised(normalised(text)) == normalised(text)


@given(WORDS, LISTS)
def test_every_metric_lies_between_zero_and_one(answer, references):
    for metric in (exact_match, f1, accuracy):
        assert 0 <= metric(answer, references) <= 1
    for reference in references:
        assert 0 <= rouge_l_recall(answer, reference) <= 1


@given(WORDS, LISTS)
def test_an_exact_match_has_full_f1_and_is_accurate(answer, references):
    if exact_match(answer, references):
        assert f1(answer, references) == accuracy(answer, references) == 1


@given(WORDS, LISTS, WORDS)
def test_one_more_accepted_answer_never_lowers_a_metric(answer, references, other):
    for metric in (exact_match, f1, accuracy):
        assert metric(answer, [*references, other]) >= metric(answer, references)
