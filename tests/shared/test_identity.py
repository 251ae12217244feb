import base64
import os
import stat

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from shared import identity as identity_of_shared
from shared.errors import SettingsError
from shared.identity import FIELD, LOW_ORDER, is_signed, load_identity, make_identity, open_identity, save_identity


def test_a_key_is_made_once_in_a_file_that_only_its_owner_reads(tmp_path):
    path = tmp_path / "identity" / "edge.key"
    made = open_identity(path)
    assert open_identity(path).key_id == made.key_id
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["edge.key"]


def test_the_umask_plays_no_part(tmp_path):
    before = os.umask(0)
    try:
        save_identity(tmp_path / "edge.key", make_identity())
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "edge.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o666, 0o610])
def test_a_key_that_others_can_read_is_refused_in_words(tmp_path, mode):
    path = tmp_path / "edge.key"
    save_identity(path, make_identity())
    path.chmod(mode)
    with pytest.raises(SettingsError) as told:
        load_identity(path)
    assert f"chmod 600 {path}" in told.value.next_step


@pytest.mark.parametrize("content", [b"", b"nonsense", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_file_that_holds_no_key_is_refused_in_words(tmp_path, content):
    path = tmp_path / "edge.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(SettingsError, match="holds no Ed25519 key"):
        load_identity(path)


def test_a_key_of_another_kind_is_refused_in_words(tmp_path):
    path = tmp_path / "edge.key"
    private = generate_private_key(SECP256R1())
    path.write_bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    path.chmod(0o600)
    with pytest.raises(SettingsError, match="holds no Ed25519 key"):
        load_identity(path)


def test_a_signature_fits_its_message_and_its_key_only():
    identity, other = make_identity(), make_identity()
    signature = identity.sign(b"head")
    assert is_signed(b"head", signature=signature, public_key=identity.public_key)
    assert not is_signed(b"tail", signature=signature, public_key=identity.public_key)
    assert not is_signed(b"head", signature=signature, public_key=other.public_key)
    for nonsense in ("", "é", "AAAA", signature[:-4]):
        assert not is_signed(b"head", signature=nonsense, public_key=identity.public_key)
        assert not is_signed(b"head", signature=signature, public_key=nonsense)


def anybodys_signature():
    """Without any private key: R is the neutral point, s is 0."""
    return base64.b64encode((1).to_bytes(32, "little") + bytes(32)).decode()


@pytest.mark.parametrize("y", sorted({*LOW_ORDER, FIELD, FIELD + 1}))
@pytest.mark.parametrize("sign", [0, 1 << 255])
def test_a_key_of_low_order_is_none(y, sign):
    key = base64.b64encode((y | sign).to_bytes(32, "little")).decode()
    assert not any(is_signed(b"%d" % n, signature=anybodys_signature(), public_key=key) for n in range(32))


@pytest.mark.parametrize("y", sorted(LOW_ORDER))
def test_control_such_a_key_would_sign_anything(y, monkeypatch):
    """A message in eight, at least; and that it is so shows that the numbers are the right ones."""
    monkeypatch.setattr(identity_of_shared, "LOW_ORDER", frozenset())
    key = base64.b64encode(y.to_bytes(32, "little")).decode()
    assert any(is_signed(b"%d" % n, signature=anybodys_signature(), public_key=key) for n in range(200))


def test_no_text_form_shows_the_private_half():
    identity = make_identity()
    assert repr(identity) == str(identity) == f"Identity({identity.key_id})"
