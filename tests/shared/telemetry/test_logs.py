"""Lines and objects of a log: closed fields, the request's id, no error's words."""

import io
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.telemetry.correlation import working
from shared.telemetry.logs import FACTS, JsonLines, Lines, Unquoted, use

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GIVEN = f"00-{TRACE}-00f067aa0ba902b7-01"
FIELDS = {"at", "level", "logger", "message", "service", "edge", "request"}


def written(form, message="%s came", *values, **given):
    """What a handler with this form writes."""
    out, log = io.StringIO(), logging.Logger("dgrag.test")
    handler = logging.StreamHandler(out)
    handler.setFormatter(form)
    log.addHandler(handler)
    log.warning(message, *(values or ("ward",)), **given)
    return out.getvalue()


def test_an_object_has_closed_fields_and_its_time_has_a_zone():
    line = json.loads(written(JsonLines("edge", "ward")))
    assert line.keys() == FIELDS
    assert line | {"at": ""} == {
        "at": "",
        "level": "WARNING",
        "logger": "dgrag.test",
        "message": "ward came",
        "service": "edge",
        "edge": "ward",
        "request": "",
    }
    assert line["at"].endswith("+00:00")


@given(st.text())
def test_whatever_a_message_says_it_stays_one_line_of_json(text):
    line = written(JsonLines("cloud"), "%s", text)
    assert line.count("\n") == 1
    assert json.loads(line)["message"] == text


@given(st.text())
def test_no_text_of_a_header_is_logged(header):
    with working(header):
        assert json.loads(written(JsonLines("cloud")))["request"].isalnum()
        line = written(Lines()).strip()
    assert len(line.rpartition(" [")[2]) == 33


def test_work_for_a_request_bears_its_id():
    with working(GIVEN):
        assert json.loads(written(JsonLines("edge", "ward")))["request"] == TRACE
        assert written(Lines()).endswith(f" WARNING dgrag.test ward came [{TRACE}]\n")
    assert written(Lines()).endswith(" WARNING dgrag.test ward came\n")


@pytest.mark.parametrize("form", [Lines(), JsonLines("edge")])
def test_an_error_is_told_by_its_kind_and_place_and_not_by_its_words(form):
    try:
        raise ValueError("a canary")
    except ValueError:
        line = written(form, exc_info=True)
    assert "ValueError at test_logs.py:" in line
    assert "canary" not in line


def test_facts_are_fields_of_the_object():
    assert json.loads(written(JsonLines("edge"), extra={FACTS: {"status": 200}})).keys() == FIELDS | {"status"}


def test_json_is_written_where_the_settings_want_it_and_lines_stay_else(monkeypatch):
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    use("text", service="edge")
    assert isinstance(handler.formatter, Lines)
    use("json", service="edge", edge="ward")
    assert isinstance(handler.formatter, JsonLines)


def unquoted(message, *values, **given):
    """What is left of a library's record."""
    out, log = io.StringIO(), logging.Logger("asyncio")
    log.addFilter(Unquoted())
    handler = logging.StreamHandler(out)
    handler.setFormatter(JsonLines("edge"))
    log.addHandler(handler)
    log.error(message, *values, **given)
    told = json.loads(out.getvalue())
    return told["message"], told.get("error", "")


@pytest.mark.parametrize(
    ("message", "values", "left"),
    [
        ("socket.send() raised exception.", (), "socket.send() raised exception"),
        ("ASGI callable should return None, but returned '%s'.", ("a canary",), "ASGI callable should return None, but returned '%s'."),
        (
            "Cancel %s running task(s), timeout graceful shutdown exceeded",
            (3,),
            "Cancel 3 running task(s), timeout graceful shutdown exceeded",
        ),
        ("Error loading ASGI app. a canary", (), "Error loading ASGI app"),
        ("<Task name='a canary'> is gone", (), "an error"),
        ("", (), "an error"),
    ],
)
def test_of_a_librarys_message_stays_what_it_always_says(message, values, left):
    assert unquoted(message, *values) == (left, "")


@given(st.text())
def test_nothing_of_a_callback_or_behind_the_first_line_stays(text):
    assert unquoted(f"Exception in callback {text}") == ("Exception in callback", "")
    assert unquoted(f"Task exception was never retrieved\nfuture: {text}") == ("Task exception was never retrieved", "")


def test_an_error_of_the_system_is_told_in_the_systems_words():
    assert unquoted(OSError(98, "a canary at a canary")) == ("Address already in use", "OSError")
    assert unquoted(ValueError("a canary")) == ("an error", "ValueError")


def test_a_traceback_that_is_told_as_text_is_that_of_the_error_being_handled():
    try:
        raise ValueError("a canary")
    except ValueError as error:
        message, told = unquoted(f"ValueError: {error}\nTraceback: {error}")
    assert message == "ValueError"
    assert told.startswith("ValueError at test_logs.py:")
