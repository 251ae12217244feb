import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.journal import Journal


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


def test_a_row_is_on_its_way_to_the_disk_at_once(tmp_path):
    file = tmp_path / "journal.jsonl"
    with Journal(file) as journal:
        journal.add("answers", "a", {"n": 1})
        assert file.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("torn", ['{"stage": "answers", "key": "b", "row"', '{"stage": "answers", "key": "b", "row": {"n": 2}}', "\0\0\0"])
def test_a_torn_last_line_is_dropped_and_its_unit_can_be_done_again(tmp_path, torn):
    file = tmp_path / "journal.jsonl"
    whole = '{"stage": "answers", "key": "a", "row": {"n": 1}}\n'
    file.write_text(whole + torn)
    with Journal(file) as journal:
        assert journal.rows("answers") == [{"n": 1}]
        journal.add("answers", "b", {"n": 3})
    assert len(file.read_text().splitlines()) == 2
    with Journal(file) as journal:
        assert journal.rows("answers") == [{"n": 1}, {"n": 3}]


def test_a_bad_line_in_the_middle_is_named(tmp_path):
    file = tmp_path / "journal.jsonl"
    file.write_text('{"stage": "answers"}\n{"stage": "answers", "key": "a", "row": {}}\n')
    with pytest.raises(BenchmarkError, match="line 1"):
        Journal(file)


def test_no_unit_is_noted_twice(tmp_path):
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.add("answers", "a", {})
        with pytest.raises(ValueError, match="already"):
            journal.add("answers", "a", {})
