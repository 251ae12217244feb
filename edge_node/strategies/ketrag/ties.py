"""Who goes first among equals: a hash of the id, never the order in which things came."""

from __future__ import annotations

from hashlib import blake2b


def tie_of(key: str, *, seed: int = 0) -> int:
    """A number in [0, 2**64) that looks drawn at random, but is always the same for a key and a seed >= 0.

    >>> tie_of("c1") == tie_of("c1"), tie_of("c1") == tie_of("c1", seed=7)
    (True, False)
    """
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, salt=seed.to_bytes(16, "big"))
    return int.from_bytes(digest.digest(), "big")
