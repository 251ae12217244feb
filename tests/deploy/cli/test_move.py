"""The verbs of a cloud whose store several clouds share."""

import json

import pytest
from typer.testing import CliRunner

from deploy.cli.main import app
from deploy.cluster.errors import ClusterError
from shared.http.keyring import KeyRing
from tests.support.running_cloud import running_cloud

pytestmark = pytest.mark.process


def run(*arguments, url="", **more):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False, env={"DGRAG_CLOUD_DATABASE_URL": url})


async def test_a_cloud_is_moved_and_its_keys_are_those_of_the_common_store_from_then_on(tmp_path, postgres):
    async with running_cloud(tmp_path) as one:
        await one.http.post("/v1/keys", json={"name": "ops", "role": "admin"})
    url = postgres.fresh()
    assert json.loads(run("cloud", "move", "--state", tmp_path, "--json", url=url).stdout)["keys"] == 1
    run("cloud", "key", "add", "guest", "--state", tmp_path, url=url)
    names = [key["name"] for key in json.loads(run("cloud", "key", "list", "--state", tmp_path, "--json", url=url).stdout)]
    assert names == ["ops", "guest"]
    edges = run("edge", "key", "list", "--state", tmp_path, "--json", url=url).stdout
    assert [key["name"] for key in json.loads(edges)] == ["ops"], "an edge has its own"
    ring = KeyRing(tmp_path)
    assert [key.name for key in ring.list()] == ["ops"]
    ring.close()


async def test_what_to_do_afterwards_is_said_and_where_to_move_has_to_be(tmp_path, postgres):
    async with running_cloud(tmp_path):
        pass
    with pytest.raises(ClusterError, match="nothing says where to"):
        run("cloud", "move", "--state", tmp_path)
    done = run("cloud", "move", "--state", tmp_path, "--to", postgres.fresh())
    assert "ledger_heads" in done.stdout
    assert "never start one on these files again" in done.stderr


def test_keys_are_said_to_be_keys_in_the_help():
    assert "API keys of the users of this service" in run("cloud", "key", "--help").stdout
