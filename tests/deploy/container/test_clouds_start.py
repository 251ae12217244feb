"""What several clouds need before the first starts: each step done twice changes nothing, and each holder gets its own part alone."""

import json
import stat
from pathlib import Path

import pytest

from cloud_server.registry.credentials import KEY_FILE
from cloud_server.settings import CloudSettings
from deploy.cluster.errors import ClusterError
from deploy.container.clouds_start import database_files, invited, proxy_files, share
from deploy.container.first_start import KEYS, set_up
from shared.http.keyring import KeyRing
from shared.identity import load_identity, make_identity, save_identity
from tests.support.running_cloud import running_cloud
from tests.support.signed import join

NOW = 1_800_000_000.0


def texts(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_password_is_made_once_and_stands_in_the_url(tmp_path):
    database_files(tmp_path)
    before = texts(tmp_path)
    database_files(tmp_path)
    assert texts(tmp_path) == before
    assert before["password"] in before["url"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_the_proxy_has_the_files_of_tls_and_not_the_clouds_key(tmp_path):
    state, trust, keys, proxy = (tmp_path / name for name in ("state", "trust", "keys", "proxy"))
    set_up(state, trust, keys, now=NOW)
    proxy_files(state, trust, proxy)
    assert {path.name for path in proxy.iterdir()} == {"cloud.pem", "cloud-key.pem", "ca.pem"}
    assert load_identity(state / KEY_FILE).key_id


def mounted(folder):
    """A Secret as Kubernetes mounts it: its group may read it."""
    folder.mkdir()
    known, tokens = [], {}
    made = KeyRing(folder / "ring")
    for name, role in KEYS.items():
        tokens[name] = made.add(name, role, now=NOW)
    for key in made.list():
        fields = {name: getattr(key, name) for name in ("key_id", "name", "role", "created", "expires", "revoked")}
        known.append({"key": fields, "hash": made.hash_of(key.key_id)})
    made.close()
    identity = make_identity()
    save_identity(folder / "cloud.key", identity)
    (folder / "cloud.key").chmod(0o440)
    (folder / "cloud-keys.json").write_text(json.dumps(known))
    return tokens, identity


def test_a_cloud_takes_its_key_and_its_users_from_a_mounted_secret(tmp_path):
    tokens, identity = mounted(tmp_path / "secret")
    for _ in range(2):
        share(tmp_path / "state", "", tmp_path / "secret" / "cloud-keys.json", tmp_path / "secret" / "cloud.key")
    assert load_identity(tmp_path / "state" / KEY_FILE).key_id == identity.key_id
    ring = KeyRing(tmp_path / "state")
    try:
        assert {name: sorted(ring.caller_of(tokens[name], now=NOW).roles) for name in tokens} == {
            "enrol": ["admin", "read", "write"],
            "user": ["read", "write"],
            "metrics": ["metrics"],
        }
    finally:
        ring.close()


def test_a_revoked_key_does_not_come_back_with_the_next_start(tmp_path):
    mounted(tmp_path / "secret")
    share(tmp_path / "state", "", tmp_path / "secret" / "cloud-keys.json", None)
    ring = KeyRing(tmp_path / "state")
    ring.revoke("user", now=NOW)
    share(tmp_path / "state", "", tmp_path / "secret" / "cloud-keys.json", None)
    assert [key.name for key in ring.list() if key.revoked is not None] == ["user"]
    ring.close()


@pytest.mark.parametrize("text", [None, "{}", '[{"key": 1}]'])
def test_a_file_that_is_not_ours_is_refused(tmp_path, text):
    file = tmp_path / "cloud-keys.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ClusterError, match="cannot be read"):
        share(tmp_path / "state", "", file, None)


async def test_an_edge_joins_with_an_invitation_out_of_the_store(tmp_path):
    written = invited("dgrag-edge-0", tmp_path, "")
    async with running_cloud(tmp_path) as running:
        answer = await join(running.http, "dgrag-edge-0", make_identity(), invitation=written)
        assert answer.status_code == 201
        again = await join(running.http, "dgrag-edge-0", make_identity(), invitation=written)
    assert again.status_code == 403


def test_a_database_url_from_the_folder_is_what_the_settings_read(tmp_path):
    database_files(tmp_path)
    settings = CloudSettings(state_dir=Path("/state"), database_url_file=tmp_path / "url")
    assert settings.store_url().endswith("@database/dgrag")
