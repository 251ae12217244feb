import pytest

from benchmarks.peers.scores import cut, score
from shared.models.fake import WordTokenizer

GOLD = 'Osric Vale\nOsric Vale was a miller who said "grain" often, and who kept the Harrow Mill for forty years until it burnt.'


def judged(context, answers=("forty years",), gold=(GOLD,), budget=1000):
    return score(context, answers=answers, gold=gold, budget_tokens=budget, tokenizer=WordTokenizer())


@pytest.mark.parametrize("printed", [GOLD, GOLD.replace("\n", "\\n").replace('"', '\\"'), GOLD.replace('"', '""')])
def test_a_passage_is_known_as_it_is_in_json_and_in_csv(printed):
    assert judged(f"Sources: {printed}").gold == 1.0


def test_the_share_of_gold_passages_is_of_all_that_are_needed():
    assert judged(GOLD, gold=(GOLD, "Another passage.")).gold == 0.5


def test_an_answer_counts_as_whole_words_only():
    assert judged("It took Forty  Years!").covered
    assert not judged("It took fortyyears").covered
    assert not judged("a notion", answers=("no",)).covered


def test_what_is_beyond_the_budget_does_not_count():
    context = "one two three forty years"
    assert not judged(context, budget=3).covered
    assert judged(context, budget=5).covered
    assert judged(context, budget=3).tokens == 3
    assert cut(context, 2, WordTokenizer()) == "one two"


def test_what_is_not_known_is_not_judged():
    found = judged("anything", answers=(), gold=())
    assert (found.covered, found.gold) == (None, None)
