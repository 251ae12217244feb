"""The OpenAPI document and its page, behind the guard: for this machine's users of a service without keys only (goal S1).

The page is Swagger UI from an installed package: nothing is fetched from elsewhere, and no script stands within the page.
"""

from __future__ import annotations

from html import escape
from importlib.resources import as_file, files
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from shared.http.access import Caller, Rule, Rules, caller_of
from shared.http.doorkeeper import LOCAL
from shared.http.open_mode import HEADER

OPENAPI, PAGE = "/openapi.json", "/docs"
SCRIPT, STYLE, START = "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css", "/docs/start.js"
DOCS: Rules = {  # a part of each service's rules
    ("GET", path): Rule(frozenset({"read"}), 1024) for path in (OPENAPI, PAGE, SCRIPT, STYLE, START)
}
A_DAY = "private, max-age=86400"  # Swagger UI is shown to this machine only
ASSETS = files("fastapi_offline") / "static"  # only its files are used
HTML = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{title}}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{STYLE}">
</head>
<body>
<div id="swagger-ui"></div>
<script src="{SCRIPT}"></script>
<script src="{START}"></script>
</body>
</html>
"""
JAVASCRIPT = f"""SwaggerUIBundle({{
  url: "{OPENAPI}",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  requestInterceptor: (request) => {{ request.headers["{HEADER}"] = "1"; return request; }},
}});
"""


def docs_router(route_class: type[APIRoute]) -> APIRouter:
    """The routes; a caller with a key finds none (404), as nobody does who has no key (401) or comes from elsewhere (403)."""
    router = APIRouter(route_class=route_class, include_in_schema=False, dependencies=[Depends(_only_here)])

    @router.get(OPENAPI)
    async def document(request: Request) -> dict[str, Any]:
        """The document of the app that serves it."""
        described: dict[str, Any] = request.app.openapi()
        return described

    @router.get(PAGE)
    async def page(request: Request) -> HTMLResponse:
        """The document as a page."""
        return HTMLResponse(HTML.format(title=escape(request.app.title)))

    @router.get(SCRIPT)
    def script() -> FileResponse:
        """Swagger UI."""
        return _asset(SCRIPT)

    @router.get(STYLE)
    def style() -> FileResponse:
        """How Swagger UI looks."""
        return _asset(STYLE)

    @router.get(START)
    async def start() -> Response:
        """Starts Swagger UI."""
        return Response(JAVASCRIPT, media_type="text/javascript", headers={"cache-control": A_DAY})

    return router


def _asset(route: str) -> FileResponse:
    with as_file(ASSETS / route.rpartition("/")[2]) as file:
        return FileResponse(file, headers={"cache-control": A_DAY})


def _only_here(caller: Annotated[Caller, Depends(caller_of)]) -> None:
    if caller is not LOCAL:
        raise HTTPException(404, "a service with keys shows no documentation")
