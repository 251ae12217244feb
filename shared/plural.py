"""Numbers of things in words that people read."""

from __future__ import annotations


def counted(number: int, thing: str, things: str = "") -> str:
    """The number with its noun. ``things``: the plural where it does not end in a plain s.

    >>> counted(1, "passage"), counted(2000, "passage"), counted(0, "summary", "summaries")
    ('1 passage', '2,000 passages', '0 summaries')
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"
