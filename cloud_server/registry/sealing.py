"""What one cloud writes for another, so that the store between them cannot read it."""

from __future__ import annotations

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shared.errors import StoreDamaged
from shared.identity import Identity

NONCE_BYTES = 12


class Sealer:
    """Seals with a key that only clouds of this identity have: a copy of the store's files tells nothing without it."""

    def __init__(self, identity: Identity) -> None:
        self._secret = identity.private.private_bytes_raw()

    def sealed(self, content: bytes, *, about: str) -> bytes:
        """The content, encrypted and bound to what it is about: each ``about`` has a key of its own (ChaCha20-Poly1305, HKDF-SHA256)."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher(about).encrypt(nonce, content, None)

    def opened(self, sealed: bytes, *, about: str) -> bytes:
        """The content. Raises StoreDamaged for what no cloud of this identity has sealed about this."""
        try:
            return self._cipher(about).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None)
        except (InvalidTag, ValueError) as error:
            raise StoreDamaged("the store holds a letter that no cloud with this key has sealed") from error

    def _cipher(self, about: str) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(self.key_for(f"letter {about}"))

    def key_for(self, purpose: str) -> bytes:
        """32 bytes for one purpose, the same at each cloud of this identity (HKDF-SHA256)."""
        return HKDF(SHA256(), length=32, salt=None, info=f"dgrag {purpose}".encode()).derive(self._secret)
