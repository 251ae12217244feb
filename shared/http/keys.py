"""The routes of API keys, the same for both services: who may come in, and who no longer."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field

from shared.http.access import Role, Rule, Rules
from shared.http.keyring import ApiKey, KeyRing, MadeKey
from shared.ports import Clock
from shared.settings import KeyRole

ADMINS: frozenset[Role] = frozenset({"admin"})
KEYS: Rules = {  # a part of each service's rules
    ("GET", "/v1/keys"): Rule(ADMINS, 1024),
    ("POST", "/v1/keys"): Rule(ADMINS, 4 * 2**10),
    ("DELETE", "/v1/keys/{key}"): Rule(ADMINS, 1024),
}


class KeyBody(BaseModel):
    """A key to be made. ``days``: until it expires; null: it never does."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(min_length=1, max_length=64)]
    role: KeyRole
    days: Annotated[float | None, Field(ge=0.01, le=36_500)] = None


class KeyList(BaseModel):
    """``GET /v1/keys``, the oldest first, revoked ones too."""

    keys: list[ApiKey]


def keys_router(route_class: type[APIRoute], ring: KeyRing, clock: Clock) -> APIRouter:
    """The routes over one service's keys; each change counts from the next request on."""
    router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=route_class)

    @router.get("")
    async def list_keys() -> KeyList:
        """All keys, without their secrets."""
        return KeyList(keys=await asyncio.to_thread(ring.list))

    @router.post("", status_code=201)
    async def make_key(body: KeyBody) -> MadeKey:
        """Make a key; its token is shown here only.

        The first one ends access without keys, so it must be an admin's, and must not expire (409).
        """
        return await asyncio.to_thread(ring.add_remotely, body.name, body.role, now=clock.now(), days=body.days)

    @router.delete("/{key}")
    async def revoke_key(key: Annotated[str, Path(max_length=64)]) -> ApiKey:
        """End a key, by its id or its name; 409 where no admin's key would stay that does not expire."""
        return await asyncio.to_thread(ring.revoke_remotely, key, now=clock.now())

    return router
