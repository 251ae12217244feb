"""The key of a local cluster that wants one: found by the state folder, shown to this machine only."""

from __future__ import annotations

import httpx
import pytest

from deploy.cli.rest import ACCESS, Access, AsGiven, enter
from deploy.cluster.state import StateDir


@pytest.fixture(autouse=True)
def access():
    token = ACCESS.set(Access())
    yield
    ACCESS.reset(token)


@pytest.fixture
def directory(tmp_path):
    made = StateDir(tmp_path)
    made.key_file.write_text("dgk_local\n")
    made.authority.write_text("PEM")
    return made


def shown(url):
    return next(AsGiven().auth_flow(httpx.Request("GET", url))).headers.get("authorization")


def test_a_cluster_with_a_key_lets_its_user_in(directory):
    assert shown("http://127.0.0.1:8100/v1/status") is None
    enter(directory)
    assert shown("http://127.0.0.1:8100/v1/status") == "Bearer dgk_local"
    assert ACCESS.get().ca == directory.authority


def test_the_key_of_a_local_cluster_is_shown_to_no_other_machine(directory):
    enter(directory)
    assert shown("https://edge.example.org/v1/status") is None


def test_a_key_that_the_command_was_given_comes_first(directory, tmp_path):
    ACCESS.set(Access("dgk_given", tmp_path / "own.pem"))
    enter(directory)
    assert ACCESS.get() == Access("dgk_given", tmp_path / "own.pem")


def test_a_cluster_without_a_key_changes_nothing(tmp_path):
    enter(StateDir(tmp_path / "other"))
    assert ACCESS.get() == Access()
