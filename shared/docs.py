"""The OpenAPI document and its page, behind the guard: for this machine's users of a service without keys only (goal S1)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from shared.doorkeeper import LOCAL
from shared.guard import Caller, Rule, Rules, caller_of

OPENAPI, PAGE = "/openapi.json", "/docs"
DOCS: Rules = {("GET", path): Rule(frozenset({"read"}), 1024) for path in (OPENAPI, PAGE)}  # a part of each service's rules


def docs_router(route_class: type[APIRoute]) -> APIRouter:
    """The two routes; a caller with a key finds none (404), as nobody does who has no key (401) or comes from elsewhere (403)."""
    router = APIRouter(route_class=route_class, include_in_schema=False, dependencies=[Depends(_only_here)])

    @router.get(OPENAPI)
    async def document(request: Request) -> dict[str, Any]:
        """The document of the app that serves it."""
        described: dict[str, Any] = request.app.openapi()
        return described

    @router.get(PAGE)
    async def page(request: Request) -> HTMLResponse:
        """The document as a page."""
        return get_swagger_ui_html(openapi_url=OPENAPI, title=request.app.title)

    return router


def _only_here(caller: Annotated[Caller, Depends(caller_of)]) -> None:
    if caller is not LOCAL:
        raise HTTPException(404, "a service with keys shows no documentation")
