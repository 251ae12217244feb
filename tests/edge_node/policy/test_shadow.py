from hypothesis import given
from hypothesis import strategies as st

from edge_node.policy.shadow import Shadow

ODD = st.text(alphabet="aZ1 -\n\t*\\@&;#60\u00ad\u200b\u0308\uff11\u0661\u2212\ufb01é", max_size=60)


@given(st.one_of(st.text(max_size=60), ODD))
def test_each_character_has_a_place_in_the_original_and_they_never_go_back(text):
    shadow = Shadow.of(text)
    places = [shadow.place(row, row + 1) for row in range(len(shadow.text))]
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)


def test_an_ordinary_text_is_its_own_shadow():
    assert Shadow.of("The ward wrote 12 (twelve) forms, on 3/4.").places is None


def test_a_compound_that_breaks_at_its_hyphen_keeps_it():
    assert Shadow.of("Jean-\nPaul, Nightin-\ngale, 219-09-\n1234").text == "Jean- Paul, Nightingale, 219-09-1234"
