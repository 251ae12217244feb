"""Powers: raised digits, which behind a figure or a unit stand as Unicode has them."""

from __future__ import annotations

import re

from edge_node.plugins.parsers.struck import STRUCK

_RAISED = str.maketrans("0123456789+-−()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾")
_FIGURE = re.compile(r"[ 0-9+\-−()]*")
_BASE = re.compile(r"(?:\d|(?<![^\W\d_])[^\W\d_]{1,2})\Z")  # a digit, or a word such as "km", "x"


def raised(text: str, before: str) -> str:
    """Superscript: its digits are raised behind a figure or a unit, as "103" is not 10³.

    Behind other words they are marks of notes, and stay as they are.

    >>> raised('3', '10'), raised('2', '12 m'), raised('2', 'Ward'), raised('st', '1')
    ('³', '²', '2', 'st')
    """
    is_power = _FIGURE.fullmatch(text) and _BASE.search(before.removesuffix(STRUCK)[-4:])
    return text.translate(_RAISED) if is_power else text
