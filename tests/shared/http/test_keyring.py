import ast
import inspect

import pytest

from cloud_server.database.opening import open_ring
from shared.errors import Conflict, InputError, NotFound, Unauthenticated
from shared.http import keyring
from shared.http.keyring import DAY_S, KeyRing


@pytest.fixture
def opened(tmp_path, database_url):
    """Opens the ring, as another process would."""
    return lambda: open_ring(tmp_path, database_url)


@pytest.fixture
def ring(opened):
    ring = opened()
    yield ring
    ring.close()


@pytest.mark.parametrize(
    ("role", "roles"), [("read", {"read"}), ("write", {"read", "write"}), ("admin", {"read", "write", "admin"}), ("metrics", {"metrics"})]
)
def test_a_key_names_its_holder_and_what_he_may(ring, role, roles):
    caller = ring.caller_of(ring.add("ops", role, now=1.0), now=2.0)
    assert (caller.name, set(caller.roles)) == ("ops", roles)


def test_the_secret_is_not_in_the_store(tmp_path):
    ring = KeyRing(tmp_path)
    token = ring.add("ops", "read", now=1.0)
    ring.close()
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert token[17:].encode() not in stored
    assert b"ops" in stored


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1] + ("A" if t[-1] != "A" else "B"), lambda t: "dgk_" + "0" * 12 + t[16:], lambda t: t[1:]]
)
def test_a_changed_key_is_unknown(ring, change):
    token = ring.add("ops", "read", now=1.0)
    with pytest.raises(Unauthenticated) as refused:
        ring.caller_of(change(token), now=2.0)
    assert refused.value.code == "bad_key"


def test_a_key_ends_when_it_expires_and_when_it_is_revoked(ring):
    short, long = ring.add("short", "read", now=0.0, days=1), ring.add("long", "read", now=0.0)
    ring.caller_of(short, now=DAY_S - 0.1)
    with pytest.raises(Unauthenticated, match="expired"):
        ring.caller_of(short, now=DAY_S)
    ring.revoke("long", now=5.0)
    with pytest.raises(Unauthenticated, match="revoked"):
        ring.caller_of(long, now=6.0)


def test_a_revocation_by_another_process_counts_at_the_next_request(ring, opened):
    token = ring.add("ops", "read", now=0.0)
    ring.caller_of(token, now=1.0)
    other = opened()
    other.revoke(ring.list()[0].key_id, now=1.0)
    other.close()
    with pytest.raises(Unauthenticated, match="revoked"):
        ring.caller_of(token, now=1.0)


def test_a_ring_with_a_revoked_key_is_not_empty(ring):
    assert ring.is_empty()
    ring.add("ops", "read", now=0.0)
    ring.revoke("ops", now=1.0)
    assert not ring.is_empty()


def test_a_name_is_taken_until_its_key_is_revoked(ring):
    ring.add("ops", "read", now=0.0)
    with pytest.raises(Conflict):
        ring.add("ops", "admin", now=1.0)
    ring.revoke("ops", now=2.0)
    ring.add("ops", "admin", now=3.0)
    assert [(key.role, key.revoked) for key in ring.list()] == [("read", 2.0), ("admin", None)]


@pytest.mark.parametrize(("name", "role"), [("", "read"), ("a b", "read"), ("x" * 65, "read"), ("ops", "edge"), ("ops", "root")])
def test_a_name_or_a_role_that_cannot_be_is_refused(ring, name, role):
    with pytest.raises(InputError):
        ring.add(name, role, now=0.0)


def test_an_unknown_key_cannot_be_revoked(ring):
    with pytest.raises(NotFound):
        ring.revoke("nobody", now=0.0)


def test_secrets_are_compared_in_constant_time_only():
    tree = ast.parse(inspect.getsource(keyring))
    equals = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq)]
    assert not [text for text in equals if "hash" in text or "secret" in text or "token" in text]
    assert "hmac.compare_digest" in ast.unparse(tree)


def test_a_key_that_was_revoked_is_said_to_be_so(ring):
    ring.add("ops", "read", now=0.0)
    ring.revoke("ops", now=1.0)
    for name in ("ops", ring.list()[0].key_id):
        with pytest.raises(Conflict, match="was revoked already"):
            ring.revoke(name, now=2.0)
    assert ring.list()[0].revoked == 1.0


def test_an_admins_key_that_has_expired_is_no_way_in_and_may_be_revoked(ring):
    ring.add("old", "admin", now=0.0, days=1)
    ring.add("root", "admin", now=0.0)
    with pytest.raises(Conflict, match="no admin's key stays"):
        ring.revoke_remotely("root", now=DAY_S + 1)
    assert ring.revoke_remotely("old", now=DAY_S + 1).name == "old"
    assert [key.name for key in ring.list() if key.revoked is None] == ["root"]
    assert ring.revoke("root", now=DAY_S + 2).revoked == DAY_S + 2


def test_an_admins_key_that_will_expire_is_no_way_in_for_later(ring):
    ring.add("root", "admin", now=0.0)
    ring.add("guest", "admin", now=0.0, days=1)
    with pytest.raises(Conflict) as refused:
        ring.revoke_remotely("root", now=1.0)
    assert refused.value.next_step == "make another admin's key, without an end, first"
    assert ring.revoke_remotely("guest", now=1.0).name == "guest"
