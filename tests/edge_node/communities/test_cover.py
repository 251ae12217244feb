"""The sentences that say most of what several texts share."""

from hypothesis import given, settings
from hypothesis import strategies as st

from edge_node.communities.cover import cover, node_text
from shared.text.sentences import content_words

SENTENCES = st.lists(st.sampled_from(["pump", "ward", "the", "gate", "leaks"]), min_size=1, max_size=9).map(
    lambda words: f"{' '.join(words)}. "
)
CHILDREN = st.lists(st.lists(SENTENCES, max_size=5).map("".join), max_size=6)


def words(text):
    return len(text.split())


def said(*children, max_tokens=100):
    return node_text(children, max_tokens=max_tokens, count=words, terms=content_words)


def test_the_sentence_about_what_the_most_children_hold_comes_first():
    """Pump is in three children: "The pump." weighs 3; "Gates close." weighs 1 on average."""
    assert said("Gates close. The pump.", "A pump leaks at night.", "Old pump houses stand here.", max_tokens=2) == "The pump."


def test_what_was_said_weighs_nothing_any_more():
    """After "Pump, ward." (2 and 2) the second child's same words add nothing; "Gate, lot." (1 and 1) does."""
    assert said("Pump, ward.", "Ward, pump. Gate, lot.", max_tokens=4) == "Pump, ward. Gate, lot."


def test_of_two_that_weigh_the_same_the_first_is_taken():
    assert said("Gates close.", "Pumps leak.", max_tokens=2) == "Gates close."


def test_sentences_stand_in_the_childrens_order():
    assert said("It rains. The pumps leak.", "The pump leaked.", max_tokens=5) == "It rains. The pumps leak."


def test_a_word_counts_once_a_child():
    """Ward stands in two children, pump three times in one."""
    assert said("Pump, pump, pump.", "Ward.", "Ward.", max_tokens=1) == "Ward."


def test_nothing_is_said_twice():
    assert said(*["The ward uses pumps."] * 5) == "The ward uses pumps."


def test_where_no_sentence_fits_the_heaviest_is_cut_behind_a_word():
    """Pump is in both children, so "Pump stations fail." weighs 4/3, and "Gates were closed." 1."""
    assert said("Gates were closed.", "Pump stations fail.", "The pump house burnt down.", max_tokens=2) == "Pump stations"


def test_a_text_of_small_words_alone_is_said_as_it_is():
    assert said("And so it was.") == "And so it was."


def test_blank_children_say_nothing():
    assert said("", " \n ") == said() == ""


def test_lines_of_a_child_become_one_line():
    assert said("Pump\nward") == "Pump ward"


def test_a_word_longer_than_the_budget_is_left_out():
    assert node_text(["x" * 50], max_tokens=3, count=len, terms=content_words) == ""


@given(CHILDREN, st.integers(1, 30))
@settings(max_examples=25, deadline=None)
def test_a_text_fits_and_is_never_empty_where_there_are_words(children, most):
    text = said(*children, max_tokens=most)
    assert words(text) <= most
    assert bool(text) == any(child.strip() for child in children)


def covered(*children, max_tokens=100, most=None, least=1):
    return [one.text for one in cover(children, max_tokens=max_tokens, count=words, terms=content_words, most=most, least=least)]


def test_a_cover_stands_heaviest_first_and_has_at_most_so_many_sentences():
    """Pump is in both: "Pump." weighs 2, "Gates close." and "It rains." 1 each, and the former stands first."""
    children = ["Gates close.", "It rains."], ["Pump."], ["A pump."]
    assert covered(*children) == ["Pump.", "Gates close.", "It rains."]
    assert covered(*children, most=2) == ["Pump.", "Gates close."]


def test_a_sentence_with_fewer_words_than_asked_for_weighs_less():
    """Every word weighs 1: both sentences weigh 1 on average, and with four words at least the short one 2/4."""
    children = ["Pumps leak.", "Gates close every evening at dusk."]
    assert covered(children)[:1] == ["Pumps leak."]
    assert covered(children, least=4)[:1] == ["Gates close every evening at dusk."]


def test_a_cover_knows_where_each_sentence_stands():
    found = cover([[" ", "Gates close."], ["Pumps leak."]], max_tokens=9, count=words, terms=content_words)
    assert [one.place for one in found] == [(0, 1), (1, 0)]


def test_a_cover_of_blank_children_is_empty():
    assert covered([" "], []) == covered() == []
