"""Pages out of templates: every value is escaped, and the visitor's session and roles are at hand in each template."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, cast

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined

from shared.http.access import Caller, Role
from shared.http.console.sessions import Sessions
from shared.http.doorkeeper import LOCAL
from shared.plural import duration

STATIC = "/console/static"
ASSETS = files("shared.http.console") / "static"
TYPES = {"css": "text/css", "js": "text/javascript", "txt": "text/plain"}
UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the navigation; who lacks the role does not see it."""

    path: str
    title: str
    role: Role


def ago(seconds: float) -> str:
    """A span of time until now, in words.

    >>> ago(7_300.0), ago(60.0), ago(3.0)
    ('2 hours ago', '1 minute ago', 'just now')
    """
    for unit, size in UNITS:
        if (count := int(seconds // size)) > 0:
            return f"{count} {unit}{'s' * (count > 1)} ago"
    return "just now"


def sentence(words: str) -> str:
    """Words that begin as a sentence does.

    >>> sentence("the key was revoked"), sentence("")
    ('The key was revoked', '')
    """
    return words[:1].upper() + words[1:]


@cache
def asset(name: str) -> bytes | None:
    """A script or a style of the console; None: there is none of this name."""
    found = {one.name: one for one in ASSETS.iterdir() if one.is_file()}.get(name)
    return found.read_bytes() if found else None


@cache
def asset_path(name: str) -> str:
    """Where a browser finds an asset: by its hash, so that it may keep it for ever."""
    return f"{STATIC}/{name}?{sha256(asset(name) or b'').hexdigest()[:12]}"


class Pages:
    """The pages of one service.

    package: that has the service's own templates, as ``own/NAME.html``; those here are ``shared/NAME.html``. name: of the site.
    folder: of the service's state, as its operator types it; "FOLDER" where nobody is to be told.
    """

    def __init__(self, package: str, *, name: str, kind: str, folder: str, entries: Sequence[Entry], sessions: Sessions) -> None:
        loader = PrefixLoader({"own": PackageLoader(package), "shared": PackageLoader("shared.http.console")})
        self._templates = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        self._templates.filters |= {
            "ago": lambda then: ago(time.time() - then),
            "moment": _moment,
            "lasting": duration,
            "count": lambda number: f"{number:,}",
            "sentence": sentence,
        }
        self._templates.globals |= {"site": name, "kind": kind, "folder": folder, "entries": tuple(entries), "asset": asset_path}
        self._sessions = sessions

    def text(self, request: Request, template: str, **values: Any) -> str:
        """A template filled in for one visitor."""
        caller = cast("Caller | None", getattr(request.state, "caller", None))
        known = {"caller": caller, "is_open": caller is LOCAL, "token": self._sessions.token_of(request), "path": request.url.path}
        return self._templates.get_template(template).render(known | values, may=lambda role: caller is not None and role in caller.roles)

    def page(
        self, request: Request, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
    ) -> HTMLResponse:
        """The same as a response."""
        return HTMLResponse(self.text(request, template, **values), status, headers)


def pages_of(request: Request) -> Pages:
    """The pages of the service that was asked."""
    return cast("Pages", request.app.state.pages)


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
