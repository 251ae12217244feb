"""What a link is like, in the words of ``--link``. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from deploy.cluster.errors import ClusterError

HOW = "write it as rate=50mbit delay=15ms loss=1% queue=100ms"
UNITS = {  # what one of each unit is in the unit of the field
    "rate": {"kbit": 1e-3, "mbit": 1.0, "gbit": 1e3},
    "delay": {"us": 1e-3, "ms": 1.0, "s": 1e3},
    "queue": {"us": 1e-3, "ms": 1.0, "s": 1e3},
    "loss": {"%": 0.01},
}
FIELDS = {"rate": "mbit", "delay": "delay_ms", "queue": "queue_ms", "loss": "loss"}


@dataclass(frozen=True, slots=True)
class Shape:
    """Each direction of a link: the defaults are the paper's (DGRAG §IV-D1), without loss."""

    mbit: float = 50.0  # Mbit/s
    delay_ms: float = 15.0  # one way: a round trip takes twice as long
    loss: float = 0.0  # probability that a packet is lost, 0 to 1
    queue_ms: float = 100.0  # a packet that would wait longer for its turn is dropped


def parsed(words: Iterable[str], base: Shape) -> Shape:
    """``base`` with what the words say. Raises ClusterError for a word that says nothing.

    >>> parsed(["rate=5mbit", "loss=1%"], Shape())
    Shape(mbit=5.0, delay_ms=15.0, loss=0.01, queue_ms=100.0)
    """
    shape = base
    for word in words:
        name, _, text = word.partition("=")
        found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)([a-z%]+)", text)
        if name not in UNITS or not found or found[2] not in UNITS[name]:
            raise ClusterError(f"a link cannot be {word!r}", next_step=HOW)
        value = float(found[1]) * UNITS[name][found[2]]
        if not math.isfinite(value) or (name == "loss" and value > 1.0) or (name == "rate" and not value):
            raise ClusterError(f"a link cannot be {word!r}", next_step=HOW)
        shape = replace(shape, **{FIELDS[name]: value})
    return shape


def words_of(shape: Shape) -> str:
    """The shape as it would be written.

    >>> words_of(Shape(loss=0.01))
    'rate=50mbit delay=15ms loss=1% queue=100ms'
    """
    return f"rate={shape.mbit:g}mbit delay={shape.delay_ms:g}ms loss={shape.loss * 100:g}% queue={shape.queue_ms:g}ms"
