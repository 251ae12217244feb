"""The key of a local cluster that wants one: found by the state folder, shown to this machine only."""

from __future__ import annotations

import httpx2
import pytest

from deploy.cli.rest import ACCESS, Access, AsGiven, enter
from deploy.cli.status import _state, refusal
from deploy.cluster.state import ClusterState, Member, StateDir
from shared.client.errors import Unauthenticated, body


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
    return next(AsGiven().auth_flow(httpx2.Request("GET", url))).headers.get("authorization")


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


def problem(code, status=401):
    return {"detail": "this needs credentials", "code": code, "next_step": "send an API key: `Authorization: Bearer dgk_…`"}, status


def test_who_shows_no_key_is_told_what_a_person_sets_and_no_header():
    told, status = problem("no_credentials")
    with pytest.raises(Unauthenticated) as refused:
        body(httpx2.Response(status, json=told, request=httpx2.Request("GET", "http://127.0.0.1:8100/v1/status")))
    assert "DGRAG_API_KEY" in refused.value.next_step
    assert "Authorization" not in refused.value.next_step


@pytest.mark.parametrize("role", ["edge", "cloud"])
def test_a_ready_service_that_takes_a_key_is_said_to_take_one(role):
    member = Member(role, "ward", "http://127.0.0.1:8100")
    answers = iter([problem("no_credentials"), ({}, 200), ({"detail": "busy"}, 503)])

    def handler(request):
        told, status = next(answers)
        return httpx2.Response(status, json=told)

    with httpx2.Client(transport=httpx2.MockTransport(handler)) as http:
        told = [refusal(http, member) for _ in range(3)]
    assert told[0].startswith("this needs credentials – set DGRAG_API_KEY")
    assert told[1:] == ["", ""]
    cluster = ClusterState(members=(member,), runtime="docker")
    assert [_state(cluster, member, ready=True, shut=shut) for shut in (True, False)] == ["ready, takes a key", "ready"]
