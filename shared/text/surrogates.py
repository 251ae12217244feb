"""Texts that hold half of a surrogate pair, as a program makes them that cuts an emoji in two."""

from __future__ import annotations


def well_formed(text: str) -> str:
    r"""The text with U+FFFD for each half of a surrogate pair, which no encoding has; two halves side by side are one character.

    >>> well_formed("a \ud83d pump, \ud83d\ude00") == "a \ufffd pump, \U0001f600"
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
