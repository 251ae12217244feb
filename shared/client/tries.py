"""When a call that failed is made again: never a call that would do something twice, and never before the service wants it."""

from __future__ import annotations

import random
from http import HTTPStatus

from shared.client.errors import ServiceError, Unreachable
from shared.errors import DeadlinePassed
from shared.limits import Deadline

FIRST_S, LONGEST_S = 0.25, 8.0  # mean of the first wait, and of the longest, where the service names none
PASSING = frozenset(
    {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT},
)


class Tries:
    """The tries of one call within ``deadline``: the first one, and ``more`` where the call is ``repeatable``."""

    def __init__(self, deadline: Deadline, *, more: int, repeatable: bool) -> None:
        self._deadline = deadline
        self._more = more if repeatable else 0
        self._failed = 0

    def left_s(self) -> float:
        """Seconds for the next try. Raises DeadlinePassed."""
        if left := self._deadline.left_s():
            return left
        raise DeadlinePassed(deadline_s=self._deadline.seconds)

    def wait_s(self, failure: ServiceError | Unreachable) -> float:
        """Seconds until the next try, by chance somewhat more than the service asks for. Raises ``failure`` where it was the last one.

        >>> tries = Tries(Deadline(60), more=1, repeatable=True)
        >>> 2 <= tries.wait_s(ServiceError("busy", status=429, code="", retry_after_s=2.0)) < 2.5
        True
        >>> tries.wait_s(Unreachable("gone"))
        Traceback (most recent call last):
        shared.client.errors.Unreachable: gone
        """
        asked_s = 0.0
        if isinstance(failure, ServiceError):
            if failure.status not in PASSING:
                raise failure
            asked_s = failure.retry_after_s or 0.0
        wait_s: float = asked_s + random.uniform(0.5, 1.5) * min(FIRST_S * 2**self._failed, LONGEST_S)
        self._failed += 1
        if self._failed > self._more or wait_s >= self._deadline.left_s():
            raise failure
        return wait_s
