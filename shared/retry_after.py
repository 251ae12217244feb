"""The HTTP header Retry-After (RFC 9110 §10.2.3): seconds, or a date."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_S = 86_400.0  # a server that names more has lost its clock


def retry_after_s(value: str, *, date: str) -> float | None:
    """Seconds that a server asks to wait, at most LONGEST_S; None for nonsense.

    ``date`` is the same response's header Date: with both times by the server's clock, ours may be wrong.

    >>> retry_after_s("2", date=""), retry_after_s("soon", date="")
    (2.0, None)
    >>> retry_after_s("Wed, 21 Oct 2026 07:28:03 GMT", date="Wed, 21 Oct 2026 07:28:00 GMT")
    3.0
    """
    if value.isascii() and value.isdigit():
        return min(float(value), LONGEST_S)
    until, now = _moment(value), _moment(date)
    return None if until is None or now is None else min(max(0.0, (until - now).total_seconds()), LONGEST_S)


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
