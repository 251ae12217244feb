"""Keys at the console, the same for both services: who may come in, a new key, and the end of one."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from shared.http.access import Rule, Rules
from shared.http.console.pages import pages_of
from shared.http.console.routes import BLANK_IS_NONE, sessions_of
from shared.http.keyring import KeyRing, MadeKey
from shared.http.keys import ADMINS
from shared.ports import Clock
from shared.settings import KeyRole

FORM = 4 * 2**10


class KeyForm(BaseModel):
    """The form of a new key; no days: it does not expire."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(max_length=64)]
    role: KeyRole
    days: Annotated[float | None, Field(ge=0.01, le=36_500), BLANK_IS_NONE] = None


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
        """Make a key; its token is shown now and never again. Who makes the first one is signed in with it: else nobody comes in now."""
        made = await asyncio.to_thread(ring.add_remotely, form.name, form.role, now=clock.now(), days=form.days)
        if made.closes_open_mode:
            await sessions_of(request).begin(request, made.key_id)
        return await listed(request, made)

    @router.delete(f"{path}/{{key_id}}")
    async def revoke_key(key_id: str, request: Request) -> HTMLResponse:
        """End a key from the next request on."""
        await asyncio.to_thread(ring.revoke_remotely, key_id, now=clock.now())
        return await listed(request)

    return router
