"""Numbers of things, and seconds, in words that people read."""

from __future__ import annotations


def counted(number: int, thing: str, things: str = "") -> str:
    """The number with its noun. ``things``: the plural where it does not end in a plain s.

    >>> counted(1, "passage"), counted(2000, "passage"), counted(0, "summary", "summaries")
    ('1 passage', '2,000 passages', '0 summaries')
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(0.4), duration(75), duration(7300)
    ('1 s', '1 min 15 s', '2 h 1 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
