import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import TooLarge
from shared.http import json_shape
from shared.http.json_shape import MAX_DEPTH, check_shape, shape_of

TEXTS = st.text(alphabet='ab"\\[]{},\n é')
VALUES = st.recursive(
    st.none() | TEXTS | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner),
    max_leaves=40,
)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def count(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inner))


def empty(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else (0 if inner else 1) + sum(map(empty, inner))


@given(VALUES, st.integers(1, 9), st.integers(0, 20), st.booleans())
def test_depth_and_number_are_those_of_the_value_wherever_a_piece_ends(value, piece, most, plain):
    body = json.dumps(value, ensure_ascii=plain).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_shape, "PIECE_BYTES", piece)
        by_depth = shape_of(body, most_values=10**6, most_depth=most)
        by_number = shape_of(body, most_values=most, most_depth=10**6)
    assert (by_depth.depth > most) is (depth(value) > most)
    if count(value) > most:
        assert by_number.values > most
    if by_number.values > most:
        assert count(value) + empty(value) > most  # an empty list counts as if it had a value


@pytest.mark.parametrize(
    "body",
    [b'["' + b'\\"' * 4_000_000 + b'"' + b"[" * 40, "[1]".encode("utf-16"), b"[" * (MAX_DEPTH + 1)],
    ids=["behind a long string of escapes", "in UTF-16", "plainly"],
)
def test_what_is_too_deep_or_may_be_is_refused(body):
    with pytest.raises(TooLarge, match="32 levels"):
        check_shape(body)


def test_too_many_values_are_refused_and_commas_in_a_text_are_none():
    check_shape(b'["' + b"," * 100_000 + b'"]', max_values=2)
    with pytest.raises(TooLarge, match="3 values"):
        check_shape(b"[1,2,3]", max_values=3)
