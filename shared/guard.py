"""Who may call which route, decided before a body is read: every route has a rule, and a route without one cannot be made."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from shared.errors import TooLarge

Role = Literal["anyone", "read", "write", "admin", "edge"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who stands behind a request."""

    name: str  # an API key's name, an edge's id, or "local": anybody on this machine, where there are no keys
    roles: frozenset[Role]


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may call a route, and how much body it reads."""

    roles: frozenset[Role]  # any of these; {"anyone"}: public
    max_body_bytes: int | None  # None: the route reads its body itself, a document, up to the cap of the whole service


Unusable = TooLarge | RequestValidationError
Rules = Mapping[tuple[str, str], Rule]  # by method and path template, as ("GET", "/v1/documents/{identity}")


class Guard(Protocol):
    """Stands before the routes of one service: ``app.state.guard``."""

    async def admit(self, request: Request, rule: Rule) -> Caller:
        """Let a request in, its body read, capped and checked. Raises Unauthenticated, Forbidden, TooLarge, Overloaded."""


def guarded(rules: Rules, *, on_unusable: Callable[[Request, Unusable], None] = lambda *_: None) -> type[APIRoute]:
    """A route class for ``APIRouter(route_class=…)``: each route finds its rule when it is made (KeyError: it has none).

    ``on_unusable`` is told of a body that is too large, or not of the agreed form, before the caller is.
    """

    class GuardedRoute(APIRoute):
        """A route that asks who is there first."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()
            by_method = {method: rules[method, self.path_format] for method in self.methods or ()}

            async def handled(request: Request) -> Response:
                guard = cast("Guard", request.app.state.guard)
                try:
                    request.state.caller = await guard.admit(request, by_method[request.method])
                    return await handle(request)
                except (TooLarge, RequestValidationError) as error:
                    on_unusable(request, error)
                    raise

            return handled

    return GuardedRoute


def caller_of(request: Request) -> Caller:
    """Who called, for routes that need to know (``Annotated[Caller, Depends(caller_of)]``)."""
    return cast("Caller", request.state.caller)
