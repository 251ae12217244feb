import json

from hypothesis import given
from hypothesis import strategies as st

from shared.http.doorkeeper import is_too_deep

VALUES = st.recursive(
    st.none() | st.text() | st.integers(), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner), max_leaves=40
)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@given(VALUES, st.integers(0, 6))
def test_the_depth_seen_in_bytes_is_that_of_the_value(value, most):
    assert is_too_deep(json.dumps(value, ensure_ascii=False).encode(), most=most) is (depth(value) > most)


def test_a_long_string_of_escapes_without_an_end_is_read_once():
    assert not is_too_deep(b"[" * 40 + b"]" * 8, most=40)
    assert is_too_deep(b'["' + b'\\"' * 4_000_000 + b'"' + b"[" * 40)


def test_utf_16_is_not_taken():
    assert is_too_deep("[1]".encode("utf-16"))
