"""Where a sentence ends, and where a full stop ends none."""

import pytest

from shared.text.sentences import sentences


def parts(text):
    return [text[start:end].strip() for start, end in sentences(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Ermengarde of Tours (d. 20 March 851) was a queen.",
        "Balarama (c. 1956 – 2023) was an elephant.",
        "See Spine, vol. 31, pp. 2171–2178, and p. 7 of the annex.",
        "West et al. (2009) and Kim et al. identified them.",
        "It opens at 3:00 p.m. on Monday and closes at 1 a.m. on Tuesday.",
        "Prof. Alder and Capt. Bell climbed Mt. Everest.",
        "Am 12. März kam Nr. 7 zum 2. Mal, z. B. mit Dr. Weiß.",
    ],
)
def test_a_full_stop_within_a_sentence_ends_none(text):
    assert parts(text) == [text]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("They left at 5 p.m.", "They came back."),
        ("They couldn't.", "12 of them left."),
        ("It was the ward's.", "3 were replaced."),
        ("It weighs 5 g.", "3 more do not."),
        ("We drove 90 km/h.", "3 cars stood."),
        ("Die Länge ist 5 m.", "12 Pfähle fehlen."),
        ("We take plan b.", "4 people agree."),
        ("So found Kim et al.", "The pump was new."),
        ("Sie mutieren im Gen.", "Dann bricht es ab."),
        ("It was sung by Reema Sen.", "It was a hit."),
        ("泵坏了。", "换了！"),
    ],
)
def test_a_sentence_ends_where_another_begins(first, second):
    assert parts(f"{first} {second}") == [first, second]


def test_a_name_with_a_mark_of_exclamation_ends_no_sentence():
    text = "Pick Me Up! is British. Really? (it is) Yes! It is."
    assert [text[start:end].strip() for start, end in sentences(text)] == ["Pick Me Up! is British.", "Really? (it is) Yes!", "It is."]
