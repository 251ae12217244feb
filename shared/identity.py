"""Ed25519 keys of edges and clouds: made where they are used, kept in private files that survive a power cut, never sent."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shared.errors import SettingsError

KEY_ID_DIGITS = 32
FIELD = 2**255 - 19  # curve25519's
_OF_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
LOW_ORDER = frozenset({0, 1, FIELD - 1, _OF_ORDER_8, FIELD - _OF_ORDER_8})  # y of the points of order 1, 2, 4, 8: they sign anything


def replace_private(path: Path, content: bytes) -> None:
    """Write a file of mode 0600 in one step: there is never half a file, nor a moment in which others may read it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    with _opened(path.parent) as folder:
        os.fsync(folder)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Identity:
    """A private key, and what others may know of it."""

    private: Ed25519PrivateKey

    def __repr__(self) -> str:
        """The key's id: a private key must not get into a log."""
        return f"Identity({self.key_id})"

    @property
    def public_key(self) -> str:
        """32 bytes in base64: the form of ``shared.wire.PublicKey``."""
        return base64.b64encode(self.private.public_key().public_bytes_raw()).decode()

    @property
    def key_id(self) -> str:
        """As ``key_id`` of the public key."""
        return key_id(self.public_key)

    def sign(self, message: bytes) -> str:
        """The signature, in base64."""
        return base64.b64encode(self.private.sign(message)).decode()


def key_id(public_key: str) -> str:
    """First 32 hexadecimal digits of the SHA-256 of a public key in base64.

    >>> key_id("A" * 43 + "=")
    '66687aadf862bd776c8fc18b8e9f8e20'
    """
    return hashlib.sha256(base64.b64decode(public_key)).hexdigest()[:KEY_ID_DIGITS]


def public_key_of(public_key: str) -> Ed25519PublicKey:
    """The key itself. Raises ValueError for anything that is no Ed25519 key in base64, or one of low order."""
    raw = base64.b64decode(public_key, validate=True)
    if int.from_bytes(raw, "little") % 2**255 % FIELD in LOW_ORDER:  # the highest bit is the sign of x
        raise ValueError("a public key of low order")
    return Ed25519PublicKey.from_public_bytes(raw)


def is_signed(message: bytes, *, signature: str, public_key: str) -> bool:
    """Whether ``signature`` (base64) over ``message`` was made with the private half of ``public_key`` (base64)."""
    try:
        public_key_of(public_key).verify(base64.b64decode(signature, validate=True), message)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def make_identity() -> Identity:
    """A new key, in memory only."""
    return Identity(Ed25519PrivateKey.generate())


def save_identity(path: Path, identity: Identity) -> None:
    """Write a key to a file of mode 0600 in a folder of mode 0700, in one step; it is on the disk when this returns."""
    pem = identity.private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    replace_private(path, pem)


def load_identity(path: Path) -> Identity:
    """Read a key. Raises SettingsError when others can read the file, or when it holds no Ed25519 key; FileNotFoundError."""
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise SettingsError(f"{path} can be read by others (mode {mode:04o})", next_step=f"chmod 600 {path}, and rotate the key")
    try:
        private = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise _no_key(path) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise _no_key(path)
    return Identity(private)


def open_identity(path: Path) -> Identity:
    """The key in a file, made at first use. Raises SettingsError as ``load_identity``."""
    if not path.exists():
        save_identity(path, make_identity())
    return load_identity(path)


def _no_key(path: Path) -> SettingsError:
    return SettingsError(f"{path} holds no Ed25519 key", next_step="restore it from a backup, or delete it and join anew")
