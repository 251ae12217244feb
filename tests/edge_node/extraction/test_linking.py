"""Entities that a question names."""

from edge_node.extraction.titles import has_names, named_in

KNOWN = {"orrin mill", "mill", "film", "vale house orrin", "1984", "who", "orrin mill and sons of the long valley road in upper"}


def find(key):
    return key if key in KNOWN else None


def test_the_longest_run_of_words_wins():
    assert named_in("Is the Orrin Mill open?", find) == {"orrin mill": True}


def test_a_common_word_is_no_name():
    assert named_in("Which film shows a mill?", find) == {"film": False, "mill": False}


def test_the_capital_of_the_first_word_says_nothing_but_that_of_a_first_name_does():
    assert named_in("Mill or film?", find)["mill"] is True
    assert named_in("Film of the year", find)["film"] is True
    assert named_in("Orrin Mill burnt", find) == {"orrin mill": True}


def test_a_number_can_be_a_name():
    assert named_in("Who wrote 1984?", find) == {"1984": True}


def test_an_entity_that_is_named_twice_is_a_name_if_it_is_one_once():
    assert named_in("Is a mill older than the Mill?", find) == {"mill": True}


def test_a_stop_word_is_never_an_entity():
    assert named_in("Who is who?", find) == {}


def test_names_do_not_run_across_a_comma_but_may_be_long():
    assert named_in("In Vale House, Orrin stayed", find) == {"vale house orrin": True}
    assert named_in("Orrin Mill and Sons of the Long Valley Road in Upper", find) == {
        "orrin mill and sons of the long valley road in upper": True
    }


def test_an_alias_is_its_entity():
    assert named_in("Is OM open?", {"om": "orrin mill"}.get) == {"orrin mill": True}


def test_a_question_without_words_names_nothing():
    assert named_in("?! ", find) == {}
    assert not has_names("")
