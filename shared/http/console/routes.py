"""Routes of pages: an error is a page too, a visitor without a key is asked for one, and the browser gets its cookie."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Annotated, Any, cast

from fastapi import APIRouter, Form, Request, Response
from fastapi.routing import APIRoute
from pydantic import BeforeValidator

from shared.errors import NotFound, Unauthenticated
from shared.http.access import Rule, Rules, guarded
from shared.http.console.pages import STATIC, TYPES, asset, pages_of, sentence
from shared.http.console.sessions import Sessions
from shared.http.doorkeeper import account_of
from shared.http.problems import KNOWN, Told, told_of
from shared.telemetry import correlation

CONSOLE_PATH = "/console"
LOGIN = "/console/session"
MOST_KEY_CHARS = 256
BLANK_IS_NONE = BeforeValidator(lambda value: None if value == "" else value)  # of a form's field that was left empty
IN_MESSAGES = {"HX-Retarget": "#messages", "HX-Reswap": "innerHTML", "HX-Reselect": ".notice"}
STEPS = {  # for a person, where a program is sent to the description of the routes; by the error's code
    "no_such_route": "check the address, or begin at the first page",
    "method_not_allowed": "begin at the first page, and do it from there",
    "slow_body": "send it again",
}
FOREVER = "public, max-age=31536000, immutable"
CONSOLE: Rules = {  # a part of each service's rules
    ("GET", f"{STATIC}/{{name}}"): Rule(frozenset({"anyone"}), 1024),
    ("POST", LOGIN): Rule(frozenset({"anyone"}), 1024, is_page=True),
    ("DELETE", LOGIN): Rule(frozenset({"anyone"}), 1024, is_page=True),
}


def sessions_of(request: Request) -> Sessions:
    """The sessions of the service that was asked."""
    return cast("Sessions", request.app.state.sessions)


def console_route(rules: Rules) -> type[APIRoute]:
    """A route class for ``APIRouter(route_class=…)``, of pages and pieces of pages."""

    class ConsoleRoute(guarded(rules)):  # type: ignore[misc] # a class that is made
        """A guarded route whose errors a person reads."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handled(request: Request) -> Response:
                sessions_of(request).id_of(request)
                try:
                    response = cast("Response", await handle(request))
                except KNOWN as error:
                    response = refused(request, error)
                if not request.url.path.startswith(STATIC):  # what others may keep has nothing of one visitor's
                    sessions_of(request).keep(request, response)
                return response

            return handled

    return ConsoleRoute


def refused(request: Request, error: Exception) -> Response:
    """An error as a page. Who has no key is asked for it."""
    told = told_of(error, request)
    if not isinstance(error, Unauthenticated) or request.url.path == LOGIN:
        return shown(request, told)
    if sessions_of(request).is_withheld(request):  # by the browser, on a link from elsewhere: our own page asks again, with the cookie
        return pages_of(request).page(request, "shared/again.html")
    headers = {**told.headers} | (IN_MESSAGES | {"HX-Refresh": "true"} if is_piece(request) else {})
    why = sessions_of(request).why_over(request) if error.code == "no_credentials" else f"{sentence(error.message)}: {error.next_step}."
    return pages_of(request).page(request, "shared/login.html", status=told.status, headers=headers, why=why)


def is_piece(request: Request) -> bool:
    """Whether a page of ours asks, for a part of itself."""
    return "hx-request" in request.headers


def shown(request: Request, told: Told) -> Response:
    """What is told of an error as a page; as a piece of one, it goes to the place for messages."""
    told = replace(told, next_step=STEPS.get(told.code, told.next_step))
    template, headers = ("shared/problem.html", IN_MESSAGES) if is_piece(request) else ("shared/error.html", {})
    values = {"told": told, "request_id": correlation.request_id_of(request.scope)}
    return pages_of(request).page(request, template, status=told.status, headers={**told.headers, **headers}, **values)


def console_problem(request: Request, told: Told) -> Response | None:
    """An error outside of the routes of pages, where a browser wants a page or a piece of one; None: a program asks.

    As ``shared.http.problems.install_problems`` wants it.
    """
    path = request.url.path
    if path not in ("/", CONSOLE_PATH) and not path.startswith(f"{CONSOLE_PATH}/"):
        return None
    if not is_piece(request) and "text/html" not in request.headers.get("accept", ""):
        return None
    response = shown(request, told)
    sessions_of(request).keep(request, response)
    return response


def console_router(route_class: type[APIRoute]) -> APIRouter:
    """Scripts and styles, signing in and signing out."""
    router = APIRouter(route_class=route_class, include_in_schema=False)

    @router.get(f"{STATIC}/{{name}}")
    async def static(name: str) -> Response:
        """A script or a style."""
        if (content := asset(name)) is None:
            raise NotFound("file", name[:80])
        kind = TYPES[name.rpartition(".")[2]]
        return Response(content, headers={"cache-control": FOREVER, "content-type": f"{kind}; charset=utf-8"})

    @router.post(LOGIN)
    async def sign_in(request: Request, key: Annotated[str, Form(max_length=MOST_KEY_CHARS)]) -> Response:
        """Begin a session with an API key; the page that was wanted is loaded again."""
        sessions, guard, token = sessions_of(request), request.app.state.guard, key.strip()
        try:
            key_id = await sessions.key_of(token)
        except Unauthenticated:
            guard.count_failure(request, account=account_of(token))
            raise
        guard.count_sign_in(key_id)
        await sessions.begin(request, key_id)
        return Response(status_code=204, headers={"HX-Refresh": "true"})

    @router.delete(LOGIN)
    async def sign_out(request: Request) -> Response:
        """End a session."""
        await sessions_of(request).end(request)
        return Response(status_code=204, headers={"HX-Refresh": "true"})

    return router
