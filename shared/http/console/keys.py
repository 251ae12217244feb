"""Keys at the console, the same for both services: who may come in, a new key, and the end of one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from shared.http.access import Role, Rule, Rules
from shared.http.console.pages import pages_of
from shared.http.console.routes import BLANK_IS_NONE
from shared.http.keyring import FIRST, KeyRing
from shared.http.keys import DAY_S
from shared.ports import Clock
from shared.settings import KeyRole

ADMINS: frozenset[Role] = frozenset({"admin"})
FORM = 4 * 2**10


class KeyForm(BaseModel):
    """The form of a new key; no days: it does not expire."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(max_length=64)]
    role: KeyRole
    days: Annotated[float | None, Field(ge=0.01, le=36_500), BLANK_IS_NONE] = None


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A key that was made now; ``notice``: what it changes for all, where it is the first."""

    name: str
    token: str
    notice: str


def key_rules(path: str) -> Rules:
    """Who may do what with keys at this path: a part of each service's rules."""
    return {
        ("GET", path): Rule(ADMINS, 1024, is_page=True),
        ("POST", path): Rule(ADMINS, FORM, is_page=True),
        ("DELETE", f"{path}/{{key_id}}"): Rule(ADMINS, 1024, is_page=True),
    }


def key_pages(route_class: type[APIRoute], path: str, ring: KeyRing, clock: Clock) -> APIRouter:
    """The pages over one service's keys."""
    router = APIRouter(route_class=route_class, include_in_schema=False)

    async def listed(request: Request, made: MadeKey | None = None) -> HTMLResponse:
        keys = await asyncio.to_thread(ring.list)
        return pages_of(request).page(request, "shared/keys.html", keys=keys, made=made, now=clock.now(), here=path)

    @router.get(path)
    async def keys_page(request: Request) -> HTMLResponse:
        """All keys, without their secrets."""
        return await listed(request)

    @router.post(path)
    async def make_key(form: Annotated[KeyForm, Form()], request: Request) -> HTMLResponse:
        """Make a key; its token is shown now and never again."""
        lasts_s = None if form.days is None else form.days * DAY_S
        token, first = await asyncio.to_thread(ring.add_remotely, form.name, form.role, now=clock.now(), lasts_s=lasts_s)
        return await listed(request, MadeKey(form.name, token, FIRST if first else ""))

    @router.delete(f"{path}/{{key_id}}")
    async def revoke_key(key_id: str, request: Request) -> HTMLResponse:
        """End a key from the next request on."""
        await asyncio.to_thread(ring.revoke_remotely, key_id, now=clock.now())
        return await listed(request)

    return router
