"""``dgrag demo`` with fake sites: each answers everything itself, so that only the first question is as expected."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.process

Dgrag = Callable[..., tuple[int, str, str]]  # the fixture of conftest.py


def test_the_demo_tells_which_answers_are_not_as_expected_and_stops(dgrag: Dgrag):
    code, out, err = dgrag("demo")
    assert code == 1
    assert "Expected: answered by nobody, and said so" in out
    assert "hospital knows: Which battery pack" in out
    assert "✗ was answered by local, expected cloud" in out
    assert "2. bank asks: Which company built" in out
    assert err.splitlines()[-1].startswith("dgrag: 4 of 4 answers not as expected: “Which battery pack")
    assert "each site and the cloud have a console in the browser: `dgrag demo --keep` leaves them running" in err
    assert dgrag("down")[1].startswith("nothing runs")


def test_a_small_model_is_not_judged_by_what_the_standard_one_says(dgrag: Dgrag):
    code, out, err = dgrag("demo", "--model", "small")
    assert (code, "✗" in out, "as expected" in out + err) == (0, False, False)
    assert "The standard model: answered by nobody, and said so" in out
    assert "this model: was answered by local, expected cloud" in out
    first, second, *_, last = err.splitlines()
    assert first == "what is expected of each answer is what the standard model says; the small model is not judged by it"
    assert "the small model is for trying things out" in second
    assert last == "the services of the demo worked; 0 of 4 answers as the standard model's: --model standard shows them all"


def test_the_summary_fits_into_80_columns_one_line_a_question(dgrag: Dgrag, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    table = dgrag("demo")[1].rpartition("Summary")[2].splitlines()[1:]
    assert [line.split()[0] for line in table[:7] if line.strip()] == ["#", "1", "2", "3", "4", "total"]
    assert "Which battery pack …" in table[1]


def test_the_demo_in_json_holds_the_answers_as_they_came(dgrag: Dgrag):
    code, out, _ = dgrag("demo", "--json")
    body = json.loads(out)
    assert (code, body["ok"], len(body["questions"])) == (1, False, 4)
    assert body["questions"][0]["answer"]["novelty"] == "a field of a later release"
    assert body["questions"][0]["fault"] == "does not say CX-40"
    assert 0 <= body["first_answer_s"] <= body["total_s"]


def test_a_kept_demo_goes_on_running(dgrag: Dgrag):
    _, _, err = dgrag("demo", "--keep", "--json")
    assert "stop with `dgrag down --state" in err
    status = json.loads(dgrag("status", "--json")[1])
    consoles = dict(line.strip().split(": ") for line in err.partition("open a console in a browser:\n")[2].splitlines()[:5])
    assert consoles == {edge["edge"]: edge["url"] for edge in status["edges"]} | {"cloud": consoles["cloud"]}
    assert [edge["edge"] for edge in status["edges"]] == ["hospital", "bank", "plant", "fieldoffice"]
