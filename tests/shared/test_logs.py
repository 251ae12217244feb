"""Lines and objects of a log: closed fields, the request's id, no error's words."""

import io
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.correlation import working
from shared.logs import FACTS, JsonLines, Lines, use

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
