from shared.text.sentences import names_in


def test_small_words_stay_inside_a_name_and_punctuation_ends_one():
    assert names_in("The Bank of the North, and Ann Lee of Orrin Mill.") == ["The Bank of the North", "Ann Lee of Orrin Mill"]


def test_a_lower_case_letter_of_any_alphabet_begins_no_name():
    assert names_in("große éclair où ça") == []


def test_a_script_without_capitals_has_no_names():
    assert names_in("机器学习是什么 Москва") == ["Москва"]


def test_a_small_word_at_the_end_belongs_to_no_name():
    assert names_in("Orrin Mill of the") == ["Orrin Mill"]
