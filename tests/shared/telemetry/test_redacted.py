"""What a log tells of an error."""

import pytest

from shared.telemetry.logs import MAX_DEPTH, redacted


def test_the_lines_and_the_cause_are_told_and_no_message():
    try:
        try:
            raise KeyError("canary")
        except KeyError as error:
            raise ValueError("canary") from error
    except ValueError as error:
        told = redacted(error)
    assert told.startswith("ValueError at test_redacted.py:")
    assert ", from KeyError at test_redacted.py:" in told
    assert "canary" not in told


def test_an_error_deep_down_is_told_by_its_innermost_lines():
    def sink(depth):
        return sink(depth - 1) if depth else 1 / 0

    with pytest.raises(ZeroDivisionError) as raised:
        sink(50)
    assert redacted(raised.value).count("test_redacted.py") == 6


def test_no_error_is_told_as_such():
    assert redacted(None) == "no error"


def test_an_error_that_is_its_own_cause_is_told_to_a_bounded_depth():
    error = ValueError("canary")
    error.__cause__ = error
    told = redacted(error)
    assert (told.count("ValueError"), told[-3:]) == (MAX_DEPTH, "...")
