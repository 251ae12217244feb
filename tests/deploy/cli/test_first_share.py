"""What new sites share, as `dgrag up` asks it once, says it and passes it on; and `dgrag policy share`, which changes it."""

import io
import json
import sys

import pytest
from typer.testing import CliRunner

from deploy.cli import policy
from deploy.cli.first_share import share_of_new
from deploy.cluster.state import StateDir
from edge_node.policy.rules import first_policy, parse
from shared.errors import InputError

ASKED = "What may leave ward, bank?"
NOBODY = "nobody was asked what may leave"


class Terminal(io.StringIO):
    """Where somebody sits."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Somebody who types a line; what is said comes back."""

    def typing(line):
        said = Terminal()
        monkeypatch.setattr(sys, "stdin", Terminal(f"{line}\n"))
        monkeypatch.setattr(sys, "stderr", said)
        return said

    return typing


@pytest.mark.parametrize(("typed", "share"), [("", "summary"), ("full", "full"), ("never", "never"), ("all\nevidence", "evidence")])
def test_somebody_at_a_terminal_is_asked_with_the_four_words_and_enter_takes_summary(terminal, typed, share):
    said = terminal(typed)
    assert share_of_new(["ward", "bank"], quiet=False) == share
    assert ASKED in said.getvalue()
    assert all(f"  {word}" in said.getvalue() for word in ("full", "evidence", "summary", "never"))


def test_a_script_is_not_asked_even_at_a_terminal(terminal, capsys):
    terminal("full")
    assert share_of_new(["ward"], quiet=True) == "summary"


@pytest.fixture
def unset(monkeypatch):
    monkeypatch.delenv("DGRAG_EDGE_SHARE", raising=False)


def environments(state):
    """What each edge was started with."""
    return {
        service.name: service.environment.get("DGRAG_EDGE_SHARE") for service in StateDir(state).charge().services if service.role == "edge"
    }


@pytest.mark.process
def test_without_a_terminal_new_sites_share_summaries_and_it_is_said_with_what_changes_it(dgrag, unset):
    code, out, err = dgrag("up", "--names", "ward", "--detach", "--json")
    assert (code, environments(dgrag.state)) == (0, {"ward": "summary"})
    assert json.loads(out)["edges"]
    assert f"{NOBODY} ward: summaries only; --share full|evidence|summary|never" in err
    assert "ward shares summary: facts in summaries, no passages" in err
    assert "`dgrag policy share WORD --edge ward`" in err


@pytest.mark.process
def test_a_word_on_the_command_line_asks_nobody_and_a_site_with_a_policy_is_asked_for_no_more(dgrag, unset):
    _, _, err = dgrag("up", "--names", "ward", "--share", "full", "--detach")
    assert (environments(dgrag.state), NOBODY in err) == ({"ward": "full"}, False)
    assert "ward shares full" in err
    dgrag("down")
    (dgrag.state / "edges" / "ward").mkdir(parents=True)  # as a real edge leaves its store
    _, _, err = dgrag("up", "--names", "ward,bank", "--detach")
    assert f"{NOBODY} bank: summaries only" in err
    dgrag("down")
    (dgrag.state / "edges" / "bank").mkdir(parents=True)
    assert NOBODY not in dgrag("up", "--detach")[2]


@pytest.mark.process
def test_a_word_that_is_none_starts_nothing(dgrag, unset):
    assert dgrag("up", "--share", "some", "--detach")[0] == 2
    assert not StateDir(dgrag.state).file.exists()


# ---------------------------------------------------------------- dgrag policy share


def run(*arguments):
    return CliRunner().invoke(policy.app, [*map(str, arguments)], env={"COLUMNS": "300"})


def test_policy_share_changes_one_line_keeps_the_former_text_and_never_lets_questions_go_by_itself(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text(first_policy("summary"))
    said = run("share", "full", "--state", tmp_path).output
    assert "documents without a label: full (before: summary)" in said
    assert "questions: they leave once who asks has said yes; --questions yes, ask or no changes that" in said
    lines = zip(first_policy("summary").splitlines(), file.read_text().splitlines(), strict=True)
    assert [one.split("=")[0].strip() for one, other in lines if one != other] == ["unlabelled"]
    assert [one.read_text() for one in (tmp_path / "policy-history").iterdir()] == [first_policy("summary")]
    run("share", "evidence", "--label", "patients", "--questions", "no", "--state", tmp_path)
    now = parse(file.read_text())
    assert (now.unlabelled, now.labels, now.questions) == ("full", {"patients": "evidence"}, "no")


def test_policy_share_says_where_exceptions_decide_first(tmp_path):
    (tmp_path / "policy.toml").write_text('version = 1\nunlabelled = "full"\n[[exceptions]]\nedges = ["a"]\nshare = "never"\n')
    assert "exceptions stay, and decide first" in run("share", "summary", "--state", tmp_path).output


def test_policy_share_without_a_policy_says_how_to_write_one(tmp_path):
    error = run("share", "full", "--state", tmp_path).exception
    assert isinstance(error, InputError)
    assert "dgrag policy init" in error.next_step
