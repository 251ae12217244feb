"""``dgrag edge join``, ``rotate``, ``identity`` and ``dgrag cloud invite`` against a cloud in this process."""

import asyncio
import re
from pathlib import Path

import httpx2
import orjson
import pytest
from typer.testing import CliRunner

from cloud_server.answering.coordinator import Models
from cloud_server.api.app import create_app
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from deploy.cli import cloud as cloud_verbs
from deploy.cli import membership
from deploy.cli.main import app
from deploy.cli.rest import ACCESS, Access
from deploy.cluster.errors import ClusterError
from edge_node.egress.ledger import ledger_of, read_entries
from edge_node.policy.rules import STANDARD, parse
from shared.errors import CloudRefused, InputError, SettingsError
from shared.http.open_mode import CALLER
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from tests.support.signed import URL


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    models = Models(HashEmbedder(), ScriptedGenerator(lambda _: "-"), WordTokenizer())
    built = build_cloud(CloudSettings(state_dir=tmp_path / "cloud"), models)
    served = create_app(built)
    monkeypatch.setattr(membership, "cloud_http", lambda url, **_: httpx2.AsyncClient(transport=httpx2.ASGITransport(served), base_url=url))

    def handler(request):
        async def sent():
            async with httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(served), base_url=URL) as http:
                return await http.request(request.method, request.url.path, content=request.content, headers=request.headers)

        answer = asyncio.run(sent())
        return httpx2.Response(answer.status_code, content=answer.content, headers={"content-type": "application/json"})

    monkeypatch.setattr(cloud_verbs, "client", lambda: httpx2.Client(transport=httpx2.MockTransport(handler)))
    yield built
    built.close()
    served.state.guard.close()


def test_an_invitation_is_a_command_that_works_once(cloud, tmp_path, capsys):
    cloud_verbs.invite("ward", 5.0, False, tmp_path, URL)
    line = capsys.readouterr().out
    found = re.fullmatch(rf"dgrag edge join --cloud {URL} --token (inv_\S{{43}}) --id ward --state \.dgrag/edges/ward\n", line)
    assert found
    membership.join(URL, "ward", tmp_path / "ward", found[1])
    assert "ward has joined" in capsys.readouterr().out
    with pytest.raises(CloudRefused, match="used"):
        membership.join(URL, "ward", tmp_path / "other", found[1])


@pytest.mark.parametrize("way", ["the environment", "standard input"])
def test_an_invitation_need_not_stand_in_the_list_of_processes(cloud, tmp_path, way):
    token = cloud.credentials.invites.invite("ward", ttl_s=60.0, replaces=True).token
    told = CliRunner().invoke(
        app,
        ["edge", "join", "--cloud", URL, "--id", "ward", "--state", str(tmp_path), *(["--token", "-"] if way == "standard input" else [])],
        env={"DGRAG_TOKEN": token, "DGRAG_EDGE_CLOUD_CA": "ca.pem"} if way == "the environment" else {},
        input=f"{token}\n",
    )
    assert told.exit_code == 0, told.exception
    assert cloud.database.row("SELECT count(*) FROM invites")[0] == 0
    needed = "DGRAG_EDGE_CLOUD_CA=ca.pem " if way == "the environment" else ""
    assert f"start it with: {needed}dgrag edge run --id ward" in told.output


def test_a_name_that_is_none_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(InputError, match="no edge id"):
        membership.join(URL, "w w", tmp_path / "ward")
    assert not (tmp_path / "ward").exists()


def test_an_invitation_for_a_cloud_on_loopback_says_that_it_is_one(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cloud_verbs, "_post", lambda *_: {"token": "inv_x"})
    cloud_verbs.invite("ward", 5.0, False, tmp_path, "https://cloud.example:8099")
    elsewhere = capsys.readouterr()
    cloud_verbs.invite("ward", 5.0, False, tmp_path, URL)
    assert ("--cloud https://cloud.example:8099 " in elsewhere.out, elsewhere.err) == (True, "")
    assert "this machine only" in capsys.readouterr().err


def test_the_identity_tells_keys_and_cloud(cloud, tmp_path, capsys):
    membership.join(URL, "ward", tmp_path / "ward")
    capsys.readouterr()
    membership.identity(tmp_path / "ward", as_json=True)
    facts = orjson.loads(capsys.readouterr().out)
    assert (facts["edge"], facts["cloud"], facts["cloud_key_id"]) == ("ward", URL, cloud.credentials.identity.key_id)
    assert [key.key_id for key in cloud.credentials.keys.live("ward")] == [facts["key_id"]]


def test_a_rotation_names_the_new_key_and_every_body_is_in_the_ledger(cloud, tmp_path, capsys):
    membership.join(URL, "ward", tmp_path / "ward")
    membership.rotate(tmp_path / "ward")
    newest = cloud.credentials.keys.live("ward")[0].key_id
    assert f"ward signs with key {newest} now" in capsys.readouterr().out
    with ledger_of(tmp_path / "ward" / "edge.db") as connection:
        assert [entry.kind for entry in read_entries(connection)] == ["enrolment", "rotation"]


def test_an_edge_that_joined_nowhere_is_told_so(tmp_path):
    for verb in (membership.rotate, membership.identity):
        with pytest.raises(ClusterError, match="has joined no cloud"):
            verb(tmp_path)


def test_a_cloud_elsewhere_is_not_called_in_clear(tmp_path):
    with pytest.raises(SettingsError, match="in clear"):
        membership.join("http://cloud.example", "ward", tmp_path, "inv_x")


def test_open_invitations_are_listed_and_withdrawn(cloud, tmp_path, capsys):
    cloud_verbs.invite("ward", 5.0, False, tmp_path, URL)
    cloud_verbs.invites(tmp_path, URL)
    assert capsys.readouterr().out.splitlines()[-1].split() == ["ward", "5", "min", "no"]
    cloud_verbs.withdraw("ward", tmp_path, URL)
    assert cloud.credentials.invites.open() == []


def test_an_edge_is_set_aside_and_released(cloud, tmp_path, capsys):
    membership.join(URL, "ward", tmp_path / "ward")
    cloud_verbs.quarantine("ward", "odd", tmp_path, URL)
    assert cloud.registry.quarantined() == {"ward"}
    cloud_verbs.release("ward", tmp_path, URL)
    assert cloud.registry.quarantined() == set()
    assert "released ward" in capsys.readouterr().out


def test_an_edge_without_a_policy_that_joins_a_cloud_elsewhere_gets_a_closed_one(cloud, tmp_path, capsys):
    token = cloud.credentials.invites.invite("ward", ttl_s=60.0, replaces=True).token
    membership.join("https://cloud.example", "ward", tmp_path / "ward", token)
    written = tmp_path / "ward" / "policy.toml"
    assert f"nothing leaves until you say what may: {written}\n" in capsys.readouterr().out
    policy = parse(written.read_text())
    assert (policy.unlabelled, policy.questions) == ("never", "ask")
    assert policy.model_copy(update={"unlabelled": "full", "questions": "yes"}) == parse(STANDARD)


def test_a_policy_that_is_there_stays_and_one_elsewhere_is_the_owners(cloud, tmp_path, capsys, monkeypatch):
    (tmp_path / "policy.toml").write_text("version = 1")
    token = cloud.credentials.invites.invite("ward", ttl_s=60.0, replaces=True).token
    membership.join("https://cloud.example", "ward", tmp_path, token)
    assert (tmp_path / "policy.toml").read_text() == "version = 1"
    monkeypatch.setenv("DGRAG_EDGE_POLICY_FILE", str(tmp_path / "policy.toml"))
    token = cloud.credentials.invites.invite("bank", ttl_s=60.0, replaces=True).token
    membership.join("https://cloud.example", "bank", tmp_path / "bank", token)
    assert not (tmp_path / "bank" / "policy.toml").exists()
    assert "nothing leaves" not in capsys.readouterr().out


def test_null_control_a_cloud_on_this_machine_changes_no_policy(cloud, tmp_path, capsys):
    membership.join(URL, "ward", tmp_path / "ward")
    assert not (tmp_path / "ward" / "policy.toml").exists()
    assert "nothing leaves" not in capsys.readouterr().out


def test_the_authority_of_the_whole_command_is_the_default_of_each_verb(cloud, tmp_path, monkeypatch):
    trusted, known = [], membership.cloud_http
    monkeypatch.setattr(membership, "cloud_http", lambda url, **given: trusted.append(given["ca"]) or known(url))
    monkeypatch.delenv("DGRAG_EDGE_CLOUD_CA", raising=False)
    state = ["--state", str(tmp_path / "ward")]
    for verb in (["edge", "join", "--cloud", URL, "--id", "ward"], ["edge", "rotate"], ["audit", "verify", "--cloud"]):
        for ca, own in (("all.pem", []), ("all.pem", ["--ca", "own.pem"])):
            told = CliRunner().invoke(app, ["--ca", ca, *verb, *state, *own])
            assert told.exit_code == 0, told.output
    assert trusted == [Path("all.pem"), Path("own.pem")] * 3
    assert ACCESS.get() == Access()  # a command leaves nothing to the next one of its process


def test_a_cloud_without_a_scheme_is_no_url(tmp_path):
    with pytest.raises(SettingsError, match="no URL"):
        membership.join("127.0.0.1:9", "ward", tmp_path, "inv_x")
