"""What can go wrong with a call, as types; each error has a ``message`` and the ``next_step`` that a person can take.

DgragError
├── ServiceError      the service said no: ``status``, ``title``, ``code``, ``next_step``, ``request``, ``retry_after_s``
│   ├── BadRequest        what was sent cannot be used (400, 413, 415, 422)
│   ├── Unauthenticated   no API key, or none that the service knows (401)
│   ├── Forbidden         the key may not (403)
│   ├── NotFound          no such document, answer or job (404)
│   ├── Conflict          does not fit the present state (409)
│   ├── TooMany           this key asks too much; ask again after ``retry_after_s`` (429)
│   ├── Unavailable       the service has no time, or is being stopped (502, 503, 504)
│   └── NotBuilt          this service does not have it (501)
├── Unreachable       nobody answers there, or the connection broke
├── BadReply          what came is no reply of a dgrag service, or only half of one
├── DeadlinePassed    it took longer than the caller allows
└── SettingsError     an address or a key that cannot be used
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import httpx2

from shared.errors import DgragError
from shared.limits import retry_after_s
from shared.tls import trouble


class ServiceError(DgragError):
    """A service said no, in its own words (RFC 9457). ``request``: its id in the service's log.

    ``retry_after_s``: how long the service asks to wait; None: it names no time.
    """

    code = "refused"

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        next_step: str = "",
        title: str = "",
        request: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, next_step=next_step)
        self.status = status
        self.code = code
        self.title = title
        self.request = request
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return f"{self.message} – {self.next_step}" if self.next_step else self.message


class BadRequest(ServiceError):
    """What was sent cannot be used."""


class Unauthenticated(ServiceError):
    """No API key, or none that the service knows."""


class Forbidden(ServiceError):
    """The key may not."""


class NotFound(ServiceError):
    """No such document, answer or job."""


class Conflict(ServiceError):
    """It does not fit the present state."""


class TooMany(ServiceError):
    """The key asks too much at once."""


class Unavailable(ServiceError):
    """The service has no time, is being stopped, or cannot reach what it needs."""


class NotBuilt(ServiceError):
    """The service does not have what was asked for."""


class Unreachable(DgragError):
    """Nobody answers there, or the connection broke."""

    code = "unreachable"


class BadReply(DgragError):
    """What came is no reply of a dgrag service, or only half of one."""

    code = "bad_reply"


NO_KEY = "set DGRAG_API_KEY to a key of this service, or give it: `dgrag --key dgk_… …`, Client(url, api_key=…)"  # a person types no header
BY_STATUS: dict[int, type[ServiceError]] = {
    HTTPStatus.BAD_REQUEST: BadRequest,
    HTTPStatus.UNAUTHORIZED: Unauthenticated,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: BadRequest,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: BadRequest,
    HTTPStatus.UNPROCESSABLE_ENTITY: BadRequest,
    HTTPStatus.TOO_MANY_REQUESTS: TooMany,
    HTTPStatus.NOT_IMPLEMENTED: NotBuilt,
    HTTPStatus.BAD_GATEWAY: Unavailable,
    HTTPStatus.SERVICE_UNAVAILABLE: Unavailable,
    HTTPStatus.GATEWAY_TIMEOUT: Unavailable,
}


def body(response: httpx2.Response) -> Any:
    """The JSON of a 2xx answer. Raises ServiceError otherwise, BadReply when it is not JSON.

    >>> call = httpx2.Request("GET", "http://edge/v1/status")
    >>> body(httpx2.Response(429, json={"detail": "wait"}, headers={"Retry-After": "2"}, request=call))
    Traceback (most recent call last):
    shared.client.errors.TooMany: wait
    """
    try:
        value = response.json() if response.content else None
    except ValueError as error:
        raise BadReply(f"{response.url} does not answer JSON (HTTP {response.status_code})", next_step="is it a dgrag service?") from error
    if response.is_success:
        return value
    raise refusal(value if isinstance(value, dict) else {}, response)


def refusal(problem: dict[str, Any], response: httpx2.Response) -> ServiceError:
    """The error that a problem document tells of, by the status."""
    said = problem.get("detail") or problem.get("title") or f"HTTP {response.status_code} from {response.url}"
    words = {name: str(problem.get(name, "")) for name in ("code", "next_step", "title", "request")}
    if words["code"] == "no_credentials":
        words["next_step"] = NO_KEY
    wait_s = retry_after_s(response.headers.get("retry-after", ""), date=response.headers.get("date", ""))
    return BY_STATUS.get(response.status_code, ServiceError)(str(said), status=response.status_code, retry_after_s=wait_s, **words)


def unreachable(error: httpx2.RequestError) -> Unreachable:
    """What befell a call, and what to do."""
    url = str(error.request.url)
    if why := trouble(error, url):
        return Unreachable(f"the service at {url} cannot be called", next_step=why)
    match error:
        case httpx2.ConnectError():
            return Unreachable(f"nothing answers at {url}", next_step="see `dgrag status`, or start a cluster with `dgrag up`")
        case httpx2.TimeoutException():
            return Unreachable(f"no answer in time from {url}", next_step="try again, or read the service's log")
        case _:
            return Unreachable(f"the connection to {url} broke: {error}", next_step="read the service's log")
