"""Texts that hold half of a surrogate pair, as a program makes them that cuts an emoji in two."""

from __future__ import annotations

import re

_RAW = re.compile(rb"\xed[\xa0-\xbf]")  # a half in bytes, which is no UTF-8, though Python's json takes it
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_WELL_FORMED = re.compile(  # possessive: linear, whatever the body
    rb"(?:[^\\]++|\\[^u]|\\u(?![dD][89a-fA-F])|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+"
)


def holds_half_a_pair(body: bytes) -> bool:
    r"""Whether a string in a JSON text holds half of a surrogate pair, as an escape or in bytes.

    >>> halves = [rb'"a \ud83d?"', rb'"\ude00"', rb'"\ud83d\ud83d\ude00"', b'"\xed\xa0\xbd"', rb'"\\\\\uD83D"']
    >>> all(map(holds_half_a_pair, halves))
    True
    >>> any(map(holds_half_a_pair, [rb'"\ud83d\ude00"', rb'"\\ud83d"', rb'"\u00e4"', b'"\xf0\x9f\x98\x80"']))
    False
    """
    if _RAW.search(body):
        return True
    if not _HALF.search(body):
        return False
    end = _WELL_FORMED.match(body).end()  # type: ignore[union-attr] # it matches nothing, too
    return body.startswith(b"\\u", end)


def well_formed(text: str) -> str:
    r"""The text with U+FFFD for each half of a surrogate pair, which no encoding has; two halves side by side are one character.

    >>> well_formed("a \ud83d pump, \ud83d\ude00") == "a \ufffd pump, \U0001f600"
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
