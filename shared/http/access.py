"""Who may call which route, decided before a body is read: every route has a rule, and a route without one cannot be made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, Protocol, cast

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer

from shared.errors import TooLarge
from shared.http.json_shape import MAX_VALUES

Role = Literal["anyone", "read", "write", "admin", "metrics", "edge"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who stands behind a request."""

    name: str  # an API key's name, an edge's id, or "local": anybody on this machine, where there are no keys
    roles: frozenset[Role]
    labels: frozenset[str] | None = None  # reads documents with these labels and those without any; None: all documents

    @property
    def asker(self) -> str:
        """By whom requests are counted and turns are shared. Without keys all of this machine are one.

        >>> Caller("ward", frozenset({"edge"})).asker, Caller("ward", frozenset({"read"})).asker
        ('edge ward', 'key ward')
        """
        return f"{'edge' if 'edge' in self.roles else 'key'} {self.name}"


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may call a route, and how much body it reads."""

    roles: frozenset[Role]  # any of these; {"anyone"}: public
    max_body_bytes: int | None  # None: the route reads its body itself, a document, up to the cap of the whole service
    by_label: bool = False  # it tells nobody of a document that they may not read; without it, only who reads all may call
    is_page: bool = False  # of the console: a browser's session is taken in the place of a key, and a change brings the session's token
    max_values: int = MAX_VALUES  # of a JSON body
    max_body_bytes_of_writers: int | None = None  # of a caller that may write, too; None: as of others

    def body_limit(self, caller: Caller) -> int | None:
        """How much body of this caller the route reads, in bytes.

        >>> talk = Rule(frozenset({"read"}), 64, max_body_bytes_of_writers=4096)
        >>> [talk.body_limit(Caller("anna", frozenset({"read", *more}))) for more in ((), ("write",))]
        [64, 4096]
        """
        if self.max_body_bytes_of_writers is not None and "write" in caller.roles:
            return self.max_body_bytes_of_writers
        return self.max_body_bytes


PROBLEM = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("type", "title", "detail", "code", "next_step")} | {"status": {"type": "integer"}},
}
REFUSALS: dict[int | str, dict[str, Any]] = {  # what a route may answer before, or instead of, its own work
    status: {"description": HTTPStatus(status).phrase, "content": {"application/problem+json": {"schema": PROBLEM}}}
    for status in (401, 403, 408, 413, 415, 422, 429, 503)
}
SHOWN = "An API key, dgk_…, or a token of the issuer that is set; needed as soon as the service has any key or an issuer."
KEY = Depends(HTTPBearer(auto_error=False, scheme_name="key", description=SHOWN))
SIGNATURE = Depends(
    APIKeyHeader(name="Signature", auto_error=False, scheme_name="signature", description="An edge's RFC 9421 signature with Ed25519.")
)
Unusable = TooLarge | RequestValidationError
Rules = Mapping[tuple[str, str], Rule]  # by method and path template, as ("GET", "/v1/documents/{identity}")


class Guard(Protocol):
    """Stands before the routes of one service: ``app.state.guard``."""

    async def admit(self, request: Request, rule: Rule) -> Caller:
        """Let a request in, its body read, capped and checked. Raises Unauthenticated, Forbidden, TooLarge, Overloaded."""


def guarded(rules: Rules, *, on_unusable: Callable[[Request, Unusable], Awaitable[None]] | None = None) -> type[APIRoute]:
    """A route class for ``APIRouter(route_class=…)``: each route finds its rule when it is made (KeyError: it has none).

    ``on_unusable`` is told of a body that is too large, or not of the agreed form, before the caller is.
    """

    class GuardedRoute(APIRoute):
        """A route that asks who is there first, and whose description says so: its credentials, and how it refuses."""

        def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:
            roles = frozenset().union(*(rules[method, path].roles for method in given.get("methods") or ("GET",)))
            shown = [KEY] * bool(roles & {"read", "write", "admin", "metrics"}) + [SIGNATURE] * ("edge" in roles)
            others = [one for one in given.pop("dependencies", None) or () if one not in shown]  # an included router hands its own on
            responses = {**REFUSALS, **(given.pop("responses", None) or {})}
            super().__init__(path, endpoint, **given, dependencies=[*shown, *others], responses=responses)

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()
            by_method = {method: rules[method, self.path] for method in self.methods or ()}

            async def handled(request: Request) -> Response:
                guard = cast("Guard", request.app.state.guard)
                try:
                    request.state.caller = await guard.admit(request, by_method[request.method])
                    return await handle(request)
                except (TooLarge, RequestValidationError) as error:
                    if on_unusable is not None:
                        await on_unusable(request, error)
                    raise

            return handled

    return GuardedRoute


def is_form(request: Request) -> bool:
    """Whether the body is a form, whose parts may be files."""
    return request.headers.get("content-type", "").startswith("multipart/form-data")


def caller_of(request: Request) -> Caller:
    """Who called, for routes that need to know (``Annotated[Caller, Depends(caller_of)]``)."""
    return cast("Caller", request.state.caller)
