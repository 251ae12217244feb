import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_node.extraction.names import is_general, is_noise, normalise, singular


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("The Infusion-Pumps", "infusion pump"),
        ("  infusion\n pump ", "infusion pump"),
        ("“Infusion Pump”", "infusion pump"),
        ("the body’s cells", "body cell"),
        ("Freud's theories", "freud theory"),
        ("U.S. Congress", "us congress"),
        ("US Congress", "us congress"),
        ("L-7713", "l 7713"),
        ("AT&T", "at&t"),
        ("C++", "c++"),
        ("ﬁne arteries", "fine artery"),
        ("Straße", "strasse"),
        ("their own", "own"),
        ("3.2 volts", "3.2 volt"),
    ],
)
def test_spellings_of_one_name_have_one_key(name, key):
    assert normalise(name) == key


@pytest.mark.parametrize("name", ["", " ", "the", "“…”", "—", "a an the", "?!"])
def test_nothing_is_left_of_a_name_without_a_word(name):
    assert normalise(name) == ""


@given(st.text(max_size=60))
def test_a_key_is_its_own_key(text):
    assert normalise(normalise(text)) == normalise(text)


@given(st.text(max_size=60))
def test_a_key_has_single_inner_spaces_only(text):
    key = normalise(text)
    assert key == " ".join(key.split())


@pytest.mark.parametrize("word", ["glass", "virus", "diagnosis", "economics", "series", "gas", "bus", "us", "dna", "v8s"])
def test_a_singular_word_stays(word):
    assert singular(word) == word


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("nerves", "nerve"),
        ("boxes", "box"),
        ("arteries", "artery"),
        ("sinuses", "sinus"),
        ("causes", "cause"),
        ("vertebrae", "vertebra"),
        ("men", "man"),
    ],
)
def test_a_plural_becomes_its_singular(plural, one):
    assert singular(plural) == one


@pytest.mark.parametrize(
    "name",
    [
        "they", "the others", "42", "42 %", "$5 million", "March 2024", "18 March", "the 1990s", "20th century", "Monday", "twelve",
        "Figure 3.2", "Table 1", "Chapter 4", "figures", "Link to Learning", "Learning Objectives", "x", "e.g.", "which of the",
        "https://example.org/a", "www.example.org", "a@example.org", "photo.jpg", "Mauss et al.",
        "one two three four five six seven eight nine", "", "···", "II",
    ],
)  # fmt: skip
def test_what_no_index_would_list_is_noise(name):
    assert is_noise(name)


@pytest.mark.parametrize(
    "name",
    [
        "Juniper Ward",
        "World War II",
        "US",
        "the US",
        "WHO",
        "L-7713",
        "RC-118",
        "vitamin C",
        "blood",
        "Table Mountain",
        "K+",
        "9/11 Commission",
        "Section 230 debate",
    ],
)
def test_what_an_index_would_list_is_no_noise(name):
    assert not is_noise(name)


@pytest.mark.parametrize("key", ["people", "example", "different type", "main idea", "large number", "long way", "two things"])
def test_general_words_alone_are_general(key):
    assert is_general(key)


@pytest.mark.parametrize("key", ["long run", "large intestine", "blood type", "nerve", "price level"])
def test_a_term_with_a_vague_word_is_not_general(key):
    assert not is_general(key)
