"""How deep JSON is nested, seen from its bytes before any parser is let near them."""

from __future__ import annotations

import re

MAX_DEPTH = 32
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # possessive: linear, also for a string without an end
NO_BRACKET = bytes(set(range(256)) - set(b"[]{}"))


def is_too_deep(body: bytes, *, most: int = MAX_DEPTH) -> bool:
    """Whether arrays and objects are nested deeper than ``most``; a body with a NUL, which is no UTF-8 JSON, counts as too deep.

    >>> is_too_deep(b"[[1]]", most=2), is_too_deep(b"[[[1]]]", most=2), is_too_deep(b'["[[[["]', most=2)
    (False, True, False)
    """
    if b"\0" in body:  # UTF-16 and UTF-32, whose strings this cannot tell from structure
        return True
    if body.count(b"[") + body.count(b"{") <= most:
        return False
    depth = 0
    for bracket in STRING.sub(b"", body).translate(None, NO_BRACKET):
        depth += 1 if bracket in b"[{" else -1
        if depth > most:
            return True
    return False
