"""Half of a character is found wherever a body is cut into pieces."""

import json

from hypothesis import given
from hypothesis import strategies as st

from shared.http import json_shape
from shared.http.half_characters import holds_half_a_pair

UNITS = st.sampled_from([r"\ud83d", r"\uDE00", r"\ud83d\ude00", r"\u00e4", r"\\", r"\"", "a", "uD83D", "ü", "\U0001f600"])


def has_half(text):
    """Of what Python's own parser reads."""
    return any("\ud800" <= character <= "\udfff" for character in json.loads(text))


@given(st.lists(UNITS, max_size=30), st.integers(7, 40))
def test_it_is_found_however_the_pieces_fall(units, size):
    text = f'"{"".join(units)}"'
    whole, json_shape.PIECE_BYTES = json_shape.PIECE_BYTES, size
    try:
        assert holds_half_a_pair(text.encode()) == has_half(text)
    finally:
        json_shape.PIECE_BYTES = whole


def test_half_a_character_in_bytes_is_found_too():
    assert holds_half_a_pair(b'"' + b"x" * 300_000 + b'\xed\xa0\xbd"')
    assert not holds_half_a_pair(b'"\xed\x9f\xbf"')
