import json

import pytest
from typer.testing import CliRunner

from deploy.cli.keys import app
from deploy.cluster.errors import ClusterError
from shared.http.keyring import KeyRing


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def test_a_key_is_made_shown_once_listed_and_revoked(tmp_path):
    made = run("add", "ops", "--role", "admin", "--state", tmp_path)
    token = made.stdout.strip()
    ring = KeyRing(tmp_path)
    assert ring.caller_of(token, now=0.0).name == "ops"
    ring.close()
    listed = run("list", "--state", tmp_path, "--json").stdout
    assert token[17:] not in listed
    assert [(key["name"], key["role"], key["revoked"]) for key in json.loads(listed)] == [("ops", "admin", None)]
    assert "revoked ops" in run("revoke", "ops", "--state", tmp_path).stdout
    assert json.loads(run("list", "--state", tmp_path, "--json").stdout)[0]["revoked"] > 0


def test_the_first_key_says_that_it_ends_access_without_keys_and_later_ones_do_not(tmp_path):
    first = run("add", "ops", "--role", "admin", "--state", tmp_path).stderr
    assert "from now on the service lets in nobody without one" in first
    assert "nobody" not in run("add", "guest", "--state", tmp_path).stderr
    run("revoke", "ops", "--state", tmp_path)
    run("revoke", "guest", "--state", tmp_path)
    assert "nobody" not in run("add", "again", "--state", tmp_path).stderr


def test_a_key_may_have_an_end(tmp_path):
    run("add", "guest", "--days", "2", "--state", tmp_path)
    (key,) = json.loads(run("list", "--state", tmp_path, "--json").stdout)
    assert key["expires"] - key["created"] == pytest.approx(2 * 86_400)


def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path):
    with pytest.raises(ClusterError, match="no folder"):
        run("list", "--state", tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


def test_the_first_key_of_a_service_that_never_ran_makes_its_folder(tmp_path):
    made = run("add", "ops", "--state", tmp_path / "cloud")
    assert made.stdout.strip().startswith("dgk_")
    assert (tmp_path / "cloud").stat().st_mode & 0o077 == 0
