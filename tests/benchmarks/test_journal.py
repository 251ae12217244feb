import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.journal import END, START, TRIES, Journal, Session


def test_what_was_added_is_there_after_a_restart_in_its_order(tmp_path):
    with Journal(tmp_path / "run" / "journal.jsonl") as journal:
        journal.add("answers", "b", {"n": 1})
        journal.add("answers", "a", {"n": 2})
        journal.add("routing", "a", {"n": 3})
    with Journal(tmp_path / "run" / "journal.jsonl") as journal:
        assert journal.rows("answers") == [{"n": 1}, {"n": 2}]
        assert journal.done("routing", "a")
        assert not journal.done("routing", "b")
        assert journal.rows("judging") == []


def test_a_row_that_is_no_object_is_told_with_its_line(tmp_path):
    (tmp_path / "journal.jsonl").write_text('{"stage": "answers", "key": "a", "row": ["error"], "at": 1}\n')
    with pytest.raises(BenchmarkError, match="line 1, cannot be read"):
        Journal(tmp_path / "journal.jsonl")


def test_a_row_is_on_its_way_to_the_disk_at_once(tmp_path):
    file = tmp_path / "journal.jsonl"
    with Journal(file) as journal:
        journal.add("answers", "a", {"n": 1})
        assert file.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    "torn", ['{"stage": "answers", "key": "b", "row"', '{"stage": "answers", "key": "b", "row": {"n": 2}, "at": 1}', "\0\0\0"]
)
def test_a_torn_last_line_is_dropped_and_its_unit_can_be_done_again(tmp_path, torn):
    file = tmp_path / "journal.jsonl"
    whole = '{"stage": "answers", "key": "a", "row": {"n": 1}, "at": 1}\n'
    file.write_text(whole + torn)
    with Journal(file) as journal:
        assert journal.rows("answers") == [{"n": 1}]
        journal.add("answers", "b", {"n": 3})
    assert len(file.read_text().splitlines()) == 2
    with Journal(file) as journal:
        assert journal.rows("answers") == [{"n": 1}, {"n": 3}]


def test_a_bad_line_in_the_middle_is_named(tmp_path):
    file = tmp_path / "journal.jsonl"
    file.write_text('{"stage": "answers"}\n{"stage": "answers", "key": "a", "row": {}, "at": 1}\n')
    with pytest.raises(BenchmarkError, match="line 1"):
        Journal(file)


def test_no_unit_is_noted_twice(tmp_path):
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.add("answers", "a", {})
        with pytest.raises(ValueError, match="already"):
            journal.add("answers", "a", {})


def test_a_unit_that_failed_is_not_done_and_is_asked_again_so_often(tmp_path):
    file = tmp_path / "journal.jsonl"
    for tried in range(TRIES):
        with Journal(file) as journal:
            assert journal.tries("answers", "a") == tried
            assert not journal.done("answers", "a")
            journal.add("answers", "a", {"error": "503", "n": tried})
            assert journal.rows("answers") == [{"error": "503", "n": tried}]
    with Journal(file) as journal:
        assert journal.done("answers", "a")
        with pytest.raises(ValueError, match="already"):
            journal.add("answers", "a", {"error": ""})


def test_a_try_that_succeeds_takes_the_place_of_the_one_that_failed(tmp_path):
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.add("answers", "a", {"error": "503"})
        journal.add("answers", "b", {"error": ""})
        journal.add("answers", "a", {"error": "", "n": 1})
        assert journal.done("answers", "a")
        assert journal.rows("answers") == [{"error": "", "n": 1}, {"error": ""}]
        assert journal.row("answers", "a") == {"error": "", "n": 1}


def test_a_session_that_was_killed_counts_until_its_last_unit(tmp_path):
    times = iter([100.0, 130.0, 1000.0, 1001.5, 1060.0])
    for ends in (False, True):
        with Journal(tmp_path / "journal.jsonl", clock=lambda: next(times)) as journal:
            journal.add(START, str(ends), {})
            journal.add("answers", str(ends), {})
            if ends:
                journal.add(END, "1", {})
    with Journal(tmp_path / "journal.jsonl") as journal:
        assert journal.sessions() == [
            Session("1970-01-01T00:01:40+00:00", 30.0, ended=False),
            Session("1970-01-01T00:16:40+00:00", 60.0, ended=True),
        ]
