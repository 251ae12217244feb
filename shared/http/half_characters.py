"""Bodies that hold half of a character, as a program sends them that cuts an emoji in two."""

from __future__ import annotations

import re

from shared.http.json_shape import pieces

_RAW = re.compile(rb"\xed[\xa0-\xbf]")  # a half in bytes, which is no UTF-8, though Python's json takes it
_FIRST, _SECOND = rb"[89abAB][0-9a-fA-F]{2}", rb"[c-fC-F][0-9a-fA-F]{2}"  # behind "\ud"
_HALF = re.compile(rb"\\u[dD](?:%b(?!\\u[dD]%b)|(?<!\\u[dD]%b\\u[dD])%b)" % (_FIRST, _SECOND, _FIRST, _SECOND))
_ESCAPE = 6  # bytes of one


def holds_half_a_pair(body: bytes) -> bool:
    r"""Whether a string in a JSON text holds half of a surrogate pair, as an escape or in bytes.

    >>> halves = [rb'"a \ud83d?"', rb'"\ude00"', rb'"\ud83d\ud83d\ude00"', b'"\xed\xa0\xbd"', rb'"\\\\\uD83D"']
    >>> all(map(holds_half_a_pair, halves))
    True
    >>> any(map(holds_half_a_pair, [rb'"\ud83d\ude00"', rb'"\\ud83d"', rb'"\u00e4"', b'"\xf0\x9f\x98\x80"']))
    False
    """
    if b"\xed" not in body and b"\\u" not in body:
        return False
    begin, text = 0, b""
    for piece in pieces(body):
        text = text[-3 * _ESCAPE :] + piece.replace(rb"\\", rb"\/")
        end = len(text) - 2 * _ESCAPE  # of what is behind it, the next piece decides
        if any(half.start() < end for half in _HALF.finditer(text, begin)) or _RAW.search(text):
            return True
        begin = max(0, min(_ESCAPE, end))
    return _HALF.search(text, begin) is not None
