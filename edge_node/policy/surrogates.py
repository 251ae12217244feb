"""Other names in the place of names: k-ary randomised response over public cells, one draw a name for ever (FD-RAG Prop. 2; goal P3)."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from edge_node.extraction.names import normalise
from edge_node.policy.rules import NAME_KINDS, NameKind
from edge_node.policy.shadow import Shadow

IntArray = NDArray[np.int64]
Chances = NDArray[np.uint64]

CELL = 8  # names, k of the paper
NAMES = 256  # of a kind: one byte chooses a stand-in without bias
_KEY_CHARS = 32
_UNIT = 2.0**-53


def key_of(name: str) -> str:
    """Return what all spellings of a name have in common: as an entity's key, and without accents; "" where no name is left.

    >>> key_of("Dr. Müller's"), key_of("DR MULLER")
    ('dr muller', 'dr muller')
    """
    return normalise(Shadow.of(name).text)


@dataclass(frozen=True, slots=True)
class Surrogates:
    """The public list: ``NAMES`` names of each kind, cells of ``CELL`` in a row. ``rows``: where each key (see ``key_of``) stands."""

    version: int
    names: Mapping[NameKind, tuple[str, ...]]
    rows: Mapping[NameKind, Mapping[str, int]]

    @classmethod
    def parse(cls, text: str) -> Surrogates:
        """Read the list from TOML, for each kind its cells. Raises KeyError where a kind is missing, else TOMLDecodeError."""
        read = tomllib.loads(text)
        names: dict[NameKind, tuple[str, ...]] = {kind: tuple(name for cell in read[kind] for name in cell) for kind in NAME_KINDS}
        rows = {kind: {key_of(name): row for row, name in enumerate(of_it)} for kind, of_it in names.items()}
        return cls(read["version"], names, rows)


@dataclass(frozen=True, slots=True)
class ReleasedName:
    """What is told in the place of one name, for ever: a row of the ledger of epsilon. The name itself is not in it.

    name_key: of ``name_key_of``; kind: of the list that the surrogate is from; epsilon: what this draw costs the name, once.
    """

    name_key: str
    kind: NameKind
    surrogate: str
    epsilon: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """How names are drawn, and what has been drawn. ``secret``: of this store, told to nobody; ``released``: by ``name_key``."""

    surrogates: Surrogates
    secret: bytes
    epsilon: float
    budget: float
    released: Mapping[str, ReleasedName]

    def of(self, name: str, kind: NameKind) -> ReleasedName | None:
        """Return what has been told in the place of a name before, whatever epsilon is now; else its draw; None: epsilon is over budget.

        A draw counts once it is in ``released``, which must be so before it leaves.
        """
        before = self.released.get(name_key_of(name, self.secret))
        if before is not None or self.epsilon > self.budget:
            return before
        return drawn(name, kind, self.surrogates, secret=self.secret, epsilon=self.epsilon)


def name_key_of(name: str, secret: bytes) -> str:
    """Return a name's key in the ledger, the same for all spellings and kinds: 32 hexadecimal digits, which say nothing without the secret.

    >>> name_key_of("the Anchor Mills", b"s") == name_key_of("Anchor Mill", b"s") != name_key_of("Anchor Mill", b"t")
    True
    """
    return _keyed(secret, "key", key_of(name)).hex()[:_KEY_CHARS]


def drawn(name: str, kind: NameKind, surrogates: Surrogates, *, secret: bytes, epsilon: float) -> ReleasedName:
    """Draw what is told in the place of a name: one of its cell, the same one whenever it is drawn with this secret and epsilon.

    The cell is that of the name's place in the list, or, as nearly always, of a stand-in that only the secret tells. It is not made
    around the name, or the set of possible outputs would give the name away.
    """
    key, names = key_of(name), surrogates.names[kind]
    row = surrogates.rows[kind].get(key)
    if row is None:
        row = _keyed(secret, "stand-in", kind, key)[0]
    # with epsilon in it: two draws of one name, if the ledger is lost and epsilon changed between, then cost their sum; two cuts of one
    # chance would tell the name for certain
    chances = np.frombuffer(_keyed(secret, "response", key, repr(float(epsilon)))[:16], dtype=">u8").astype(np.uint64)
    place = int(responded(np.array([row % CELL]), chances[np.newaxis], epsilon=epsilon)[0])
    return ReleasedName(name_key_of(name, secret), kind, names[row - row % CELL + place], float(epsilon))


def responded(places: IntArray, chances: Chances, *, epsilon: float) -> IntArray:
    """Return k-ary randomised responses: the place itself with e^ε / (e^ε + k - 1), else each of the k - 1 others alike (Prop. 2).

    places (n,) in [0, CELL); chances (n, 2), uniform over 64 bits. Whatever is returned, two places of a cell make it likely in a ratio of
    at most e^ε.

    >>> responded(np.array([3, 3]), np.array([[0, 0], [2**64 - 1, 6]], dtype=np.uint64), epsilon=2.0)
    array([3, 2])
    """
    keep = 1.0 / (1.0 + (CELL - 1) * math.exp(-epsilon))
    is_kept = (chances[:, 0] >> np.uint64(11)).astype(np.float64) * _UNIT < keep
    others = (places + 1 + (chances[:, 1] % np.uint64(CELL - 1)).astype(np.int64)) % CELL
    return np.where(is_kept, places, others)


def _keyed(secret: bytes, *parts: str) -> bytes:
    """HMAC-SHA256; as JSON no two lists of parts are one message."""
    return hmac.digest(secret, json.dumps(parts).encode(), hashlib.sha256)
