"""The policy file: read anew at each use, and what holds while it cannot be read."""

import contextlib

import pytest

from edge_node.database.schema import Database
from edge_node.documents.store import DocumentStore
from edge_node.egress.policy_file import NAME, WITHDRAWN_AFTER_S, PolicyFile
from edge_node.policy.rules import STANDARD, parse
from tests.support.storing import SetClock

GOOD = b'version = 1\nunlabelled = "evidence"\n'


@pytest.fixture
def database(tmp_path):
    opened = Database(tmp_path / "edge.db")
    yield opened
    opened.close()


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def file(tmp_path, database, clock):
    opened = PolicyFile(tmp_path / NAME, clock)
    opened.open(database, "full")
    opened.path.write_bytes(GOOD)
    assert opened.current().unlabelled == "evidence"
    return opened


def spoil(file, content):
    file.path.unlink(missing_ok=True)
    if content is not None:
        file.path.write_bytes(content)


@pytest.mark.parametrize("content", [b"", b"version = ", b"\xff", None])
def test_without_a_readable_policy_nothing_is_shared_at_once_and_withdrawn_after_ten_seconds(file, clock, content):
    spoil(file, content)
    assert (bool(file.current().fault), file.lasting().unlabelled) == (True, "evidence")
    clock.time += WITHDRAWN_AFTER_S - 0.1
    assert file.lasting().unlabelled == "evidence"
    clock.time += 0.1
    assert file.lasting() is file.current()


def test_a_file_that_is_broken_in_several_ways_is_unreadable_since_the_first(file, clock):
    for content in (b"", b"version", None, b"version = 1\nunl"):
        spoil(file, content)
        assert file.current().fault
        clock.time += WITHDRAWN_AFTER_S / 4
    assert file.lasting().fault


def test_each_save_has_its_own_ten_seconds(file, clock):
    for _ in range(5):
        spoil(file, b"")
        assert file.lasting().unlabelled == "evidence"
        clock.time += WITHDRAWN_AFTER_S - 1
        spoil(file, GOOD)
        assert file.lasting() is file.current()


def test_a_readable_policy_that_shares_less_acts_at_once(file):
    file.path.write_bytes(b'version = 1\nunlabelled = "never"\n')
    assert file.lasting().unlabelled == "never"


def test_an_edge_that_starts_without_a_readable_policy_has_no_last_one(file, database, clock):
    spoil(file, b"")
    assert PolicyFile(file.path, clock).lasting().fault


def test_the_first_start_writes_the_standard_policy_and_a_later_one_does_not(tmp_path, database, clock):
    first = PolicyFile(tmp_path / "first.toml", clock)
    first.open(database, "full")
    assert not first.current().fault
    first.path.unlink()
    first.open(database, "full")
    assert "No such file" in first.current().fault


@pytest.mark.parametrize(("share", "questions"), [("full", "yes"), ("evidence", "yes"), ("summary", "ask"), ("never", "ask")])
def test_the_first_policy_shares_what_was_chosen_and_where_no_passage_leaves_questions_wait_for_a_yes(
    tmp_path, database, clock, share, questions
):
    file = PolicyFile(tmp_path / NAME, clock)
    file.open(database, share)
    assert (file.current().unlabelled, file.current().questions) == (share, questions)
    assert file.current().model_copy(update={"unlabelled": "full", "questions": "yes"}) == parse(STANDARD)


def test_an_upgrade_leaves_a_policy_that_is_there_as_it_is_and_says_so_once(tmp_path, database, clock, caplog):
    database.set_meta("policy_seen", "1")  # as the release before has left it
    (tmp_path / NAME).write_bytes(b"version = 1\n")
    for _ in range(2):
        PolicyFile(tmp_path / NAME, clock).open(database, "summary")
    assert (tmp_path / NAME).read_bytes() == b"version = 1\n"
    assert caplog.text.count('the policy of this site is as it was: unlabelled = "full", questions = "yes"') == 1


def test_a_store_with_documents_that_is_older_than_policies_lets_leave_what_it_let_before_and_says_so(tmp_path, clock, caplog):
    with contextlib.closing(Database(tmp_path / "edge.db")) as database:
        DocumentStore(database, clock).accept("a.md", b"Pumps.", reader="a.md")
        file = PolicyFile(tmp_path / NAME, clock)
        file.open(database, "summary")
        assert file.current().unlabelled == "full"
    assert "this store has documents and no policy" in caplog.text
