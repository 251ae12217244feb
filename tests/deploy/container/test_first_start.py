"""What `setup` makes, and what an edge takes over of it: users come in everywhere, and no edge holds their secret."""

import stat

import pytest

from deploy.cluster.errors import ClusterError
from deploy.container.first_start import KNOWN_KEYS, adopt_keys, set_up, token
from shared.errors import Unauthenticated
from shared.http.keyring import KeyRing

NOW = 1_800_000_000.0


@pytest.fixture
def folders(tmp_path):
    """State of the cloud, trust, keys; a volume each."""
    found = [tmp_path / name for name in ("state", "trust", "keys")]
    for folder in found:
        folder.mkdir()
    return found


def contents(folders):
    return {path: path.read_bytes() for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()}


def caller(state, secret):
    ring = KeyRing(state)
    try:
        return ring.caller_of(secret, now=NOW)
    finally:
        ring.close()


def test_done_twice_nothing_has_changed(folders):
    set_up(*folders, now=NOW)
    before = contents(folders)
    set_up(*folders, now=NOW + 60)
    assert {path.name for path in before} >= {"ca.pem", "cloud.pem", "cloud-key.pem", "enrol", "user", KNOWN_KEYS}
    assert {path: text for path, text in contents(folders).items() if "keys.db" not in path.name} == {
        path: text for path, text in before.items() if "keys.db" not in path.name
    }


def test_the_cloud_takes_the_keys_each_with_its_role(folders):
    set_up(*folders, now=NOW)
    state, _, keys = folders
    assert {name: sorted(caller(state, token(keys, name)).roles) for name in ("enrol", "user")} == {
        "enrol": ["admin", "read", "write"],
        "user": ["read", "write"],
    }


def test_an_edge_takes_the_user_in_and_not_the_operator(folders, tmp_path):
    set_up(*folders, now=NOW)
    adopt_keys(tmp_path / "edge", folders[1])
    assert caller(tmp_path / "edge", token(folders[2], "user")).name == "user"
    with pytest.raises(Unauthenticated):
        caller(tmp_path / "edge", token(folders[2], "enrol"))


def test_a_scraper_needs_one_volume_and_reads_metrics_only(folders, tmp_path):
    set_up(*folders, now=NOW)
    adopt_keys(tmp_path / "edge", folders[1])
    for state in (folders[0], tmp_path / "edge"):
        assert set(caller(state, token(folders[1], "metrics")).roles) == {"metrics"}


def test_no_secret_that_opens_documents_is_where_edges_read(folders, tmp_path):
    set_up(*folders, now=NOW)
    adopt_keys(tmp_path / "edge", folders[1])
    secrets = [token(folders[2], name).split("_", 2)[2].encode() for name in ("enrol", "user")]  # a secret may hold a "_" too
    seen = b"".join(contents([folders[1], tmp_path / "edge"]).values())
    assert b"PRIVATE" not in seen
    assert not [secret for secret in secrets if secret in seen]


def test_files_are_for_their_user_only(folders):
    set_up(*folders, now=NOW)
    for path in (folders[2] / "user", folders[0] / "tls" / "cloud-key.pem"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_lost_token_is_replaced_and_the_former_one_ends_everywhere(folders, tmp_path):
    set_up(*folders, now=NOW)
    adopt_keys(tmp_path / "edge", folders[1])
    former = token(folders[2], "user")
    (folders[2] / "user").unlink()
    set_up(*folders, now=NOW)
    adopt_keys(tmp_path / "edge", folders[1])
    for state in (folders[0], tmp_path / "edge"):
        assert caller(state, token(folders[2], "user")).name == "user"
        with pytest.raises(Unauthenticated, match="revoked"):
            caller(state, former)


def test_a_key_that_an_edge_has_revoked_does_not_come_back(folders, tmp_path):
    set_up(*folders, now=NOW)
    adopt_keys(tmp_path / "edge", folders[1])
    ring = KeyRing(tmp_path / "edge")
    ring.revoke("user", now=NOW)
    ring.close()
    adopt_keys(tmp_path / "edge", folders[1])
    with pytest.raises(Unauthenticated, match="revoked"):
        caller(tmp_path / "edge", token(folders[2], "user"))


def test_a_lost_certificate_is_made_anew_together_with_its_authority(folders):
    set_up(*folders, now=NOW)
    before = (folders[1] / "ca.pem").read_bytes()
    (folders[0] / "tls" / "cloud.pem").unlink()
    set_up(*folders, now=NOW)
    assert (folders[1] / "ca.pem").read_bytes() != before


def test_an_edge_outside_a_trial_has_no_keys_to_take_over(tmp_path):
    adopt_keys(tmp_path / "edge", tmp_path)
    assert not (tmp_path / "edge").exists()


def test_a_file_that_is_not_ours_is_said(tmp_path):
    (tmp_path / KNOWN_KEYS).write_text('[{"key": 1}]')
    with pytest.raises(ClusterError, match="cannot be read"):
        adopt_keys(tmp_path / "edge", tmp_path)


def test_a_key_that_was_not_made_is_said(tmp_path):
    with pytest.raises(ClusterError, match="no key 'user' yet"):
        token(tmp_path, "user")
