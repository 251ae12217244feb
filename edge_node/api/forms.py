"""Routes in the form of another service: its clients read errors in that form too."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, cast

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from edge_node.api.access import GuardedRoute
from shared.errors import DgragError
from shared.http.problems import KNOWN, Told, printable, status_of, told_of
from shared.telemetry.logs import redacted


def telling(form: Callable[[Told], dict[str, Any] | None]) -> type[GuardedRoute]:  # type: ignore[valid-type] # a class that is made
    """A route class whose errors, the guard's too, have the body that ``form`` makes, with the status that our own form has.

    None: it leaves this one to our own form.
    """

    class TellingRoute(GuardedRoute):  # type: ignore[misc, valid-type]
        """A guarded route with errors in another form."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handled(request: Request) -> Response:
                try:
                    return cast("Response", await handle(request))
                except KNOWN as error:
                    told = told_of(error, request)
                    body = form(told)
                    if body is None:
                        raise
                    return JSONResponse(body, told.status, told.headers)

            return handled

    return TellingRoute


def problem_of(error: BaseException, log: logging.Logger) -> Told:
    """What is told of an error within a stream, whose status has gone; one that nobody expected goes to the log."""
    if isinstance(error, DgragError):
        return Told(status_of(error), error.code, printable(error.message), error.next_step, {})
    log.error("an answer failed: %s", redacted(error))
    return Told(500, "internal", "an error inside the service; its log tells more", "report it with the log", {})


def said(told: Told) -> str:
    """What is wrong and what to do, in one line.

    >>> said(Told(404, "not_found", "there is no model 'x'", "list them", {}))
    "there is no model 'x' (list them)"
    """
    return told.detail + (f" ({told.next_step})" if told.next_step else "")
