"""How many values a JSON text has and how deep it is nested, before anything parses it.

The time of a parser goes with the number of values. NumPy counts them in a fraction of that time. It
skips what is in strings, and works piece by piece, so that other threads run between two pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shared.errors import TooLarge

MAX_DEPTH = 32
MAX_VALUES = 10_000  # of a body, unless its route's rule says otherwise: some milliseconds of a parser
PIECE_BYTES = 256 * 2**10  # a millisecond or two
STRUCTURE = b'"[]{},'
REST = bytes(set(range(256)) - set(STRUCTURE))
QUOTE, COMMA, OPENING, CLOSING = ord('"'), ord(","), (ord("["), ord("{")), (ord("]"), ord("}"))


@dataclass(frozen=True, slots=True)
class JsonShape:
    """``values``: at least as many as the text has, keys aside; ``depth``: of its nesting."""

    values: int
    depth: int


def check_shape(body: bytes, *, max_values: int = MAX_VALUES) -> None:
    """Raises TooLarge for a body with too many values or too deep a nesting. For large ones: in a thread."""
    shape = shape_of(body, most_values=max_values)
    if shape.depth > MAX_DEPTH:
        raise TooLarge("the nesting of the request body", limit=MAX_DEPTH, unit="levels")
    if shape.values > max_values:
        raise TooLarge("the request body", limit=max_values, unit="values")


def shape_of(body: bytes, *, most_values: int, most_depth: int = MAX_DEPTH) -> JsonShape:
    """The shape of a JSON text; only of its beginning where this exceeds one of the limits.

    Bytes with a NUL, which are no JSON in UTF-8, count as deeper than allowed.

    >>> shape_of(b'{"a": [1, 2], "b": "[,[,"}', most_values=4)
    JsonShape(values=5, depth=2)
    """
    if b"\0" in body:  # UTF-16 and UTF-32, whose strings this cannot tell from structure
        return JsonShape(0, most_depth + 1)
    at_most = 1 + sum(map(body.count, (b",", b"[", b"{")))
    if at_most <= most_values and at_most <= most_depth:
        return JsonShape(at_most, at_most)
    values, depth, deepest, is_inside = 1, 0, 0, False
    for piece in pieces(body):
        if values > most_values or deepest > most_depth:
            break
        outside, is_inside = _outside_strings(piece, is_inside=is_inside)
        opening, closing = np.isin(outside, OPENING), np.isin(outside, CLOSING)
        depths = depth + np.cumsum(opening.astype(np.int32) - closing)
        values += int(np.count_nonzero(opening) + np.count_nonzero(outside == COMMA))
        if depths.size:
            depth, deepest = int(depths[-1]), max(deepest, int(depths.max()))
    return JsonShape(values, deepest)


def pieces(body: bytes) -> Iterator[bytes]:
    """The body in parts, none of which ends between a backslash and what that escapes."""
    start = 0
    while start < len(body):
        piece = body[start : start + PIECE_BYTES]
        backslashes = len(piece) - len(piece.rstrip(b"\\"))
        yield (piece := piece if backslashes % 2 == 0 else body[start : start + PIECE_BYTES + 1])
        start += len(piece)


def _outside_strings(piece: bytes, *, is_inside: bool) -> tuple[np.ndarray, bool]:
    """Brackets and commas outside of strings, and whether the piece ends inside of one.

    ``is_inside``: whether it begins inside of one.
    """
    bare = piece.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, REST)
    characters = np.frombuffer(bare, dtype=np.uint8)
    quotes = characters == QUOTE
    inside = np.logical_xor.accumulate(quotes) ^ is_inside
    ends_inside = bool(inside[-1]) if inside.size else is_inside
    return characters[~(inside | quotes)], ends_inside
