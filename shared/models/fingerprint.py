"""Tell one vector space from another."""

from __future__ import annotations

import hashlib

import numpy as np

from shared.ports import FloatArray

PROBE = "The pump at ward 7 was replaced on 3 March; who signed the report?"


def fingerprint(name: str, probe: FloatArray) -> str:
    """``name/dimension/hash`` of the unit vector (d,) of ``PROBE``, rounded to hundredths, which hides noise in the last digits.

    >>> fingerprint("tiny", np.array([0.6, 0.8], dtype=np.float32))
    'tiny/2/be3cf2bf897a'
    """
    rounded = np.rint(probe * 100).astype(np.int8)
    return f"{name}/{probe.shape[0]}/{hashlib.sha256(rounded.tobytes()).hexdigest()[:12]}"
