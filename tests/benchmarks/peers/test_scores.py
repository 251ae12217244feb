import pytest

from benchmarks.peers.scores import score

GOLD = 'Osric Vale\nOsric Vale was a miller who said "grain" often, and who kept the Harrow Mill for forty years until it burnt.'


def judged(context, answers=("forty years",), gold=(GOLD,), most=1000):
    return score(context, answers=answers, gold=gold, most_chars=most)


@pytest.mark.parametrize("printed", [GOLD, GOLD.replace("\n", "\\n").replace('"', '\\"'), GOLD.replace('"', '""')])
def test_a_passage_is_known_as_it_is_in_json_and_in_csv(printed):
    assert judged(f"Sources: {printed}").gold == 1.0


def test_the_share_of_gold_passages_is_of_all_that_are_needed():
    assert judged(GOLD, gold=(GOLD, "Another passage.")).gold == 0.5


def test_an_answer_counts_as_whole_words_only():
    assert judged("It took Forty  Years!").covered
    assert not judged("It took fortyyears").covered
    assert not judged("a notion", answers=("no",)).covered


def test_of_every_context_the_same_number_of_characters_is_judged():
    context = "one two three forty years"
    assert not judged(context, most=24).covered
    assert judged(context, most=25).covered
    assert judged(context, most=24).chars == 24
    assert judged(context).chars == 25


def test_what_is_not_known_is_not_judged():
    found = judged("anything", answers=(), gold=())
    assert (found.covered, found.gold) == (None, None)
