"""An edge's REST routes, as the tools call them: over a socket, or within the edge's own process.

Every string of a reply is made harmless here, once for all tools: an agent reads what strangers wrote into documents.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson
from httpx2 import ServerSentEvent

from edge_node.api.mcp.harmless import harmless
from shared.errors import DgragError

Tell = Callable[[str], Awaitable[None]]


class RouteRefused(DgragError):
    """A route said no, in its own words."""

    code = "refused"


@dataclass(frozen=True, slots=True)
class RestCaller:
    """The name of the edge that is called, and the roles of who calls."""

    edge: str
    roles: frozenset[str]


class Rest:
    """The routes of one edge, for one caller: ``http`` knows the address and shows the credentials."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def get(self, path: str, **query: str | int | None) -> dict[str, Any]:
        """What a route tells; a part of the query that is None is left out. Raises RouteRefused."""
        given = {name: value for name, value in query.items() if value is not None}
        return await self._told(self._http.get(path, params=given))

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """What a route tells to a body; a field that is None is left out. Raises RouteRefused."""
        return await self._told(self._http.post(path, json=_given(body)))

    async def answer(self, body: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        """The answer to a question; ``tell`` hears of each step when it has ended. Raises RouteRefused."""
        try:
            async with self._http.sse("/v1/query", method="POST", json={**_given(body), "stream": True}) as source:
                if not source.response.is_success:
                    await source.response.aread()
                    return value_of(source.response)
                async for event in source:
                    if (answer := await _heard(event, tell)) is not None:
                        return answer
        except httpx2.TransportError as error:
            raise _broken(error) from error
        raise RouteRefused("the edge ended its answer half-way", next_step="ask again, and see the edge's log")

    async def caller(self) -> RestCaller:
        """Which edge this is, and what the caller may do there. Raises RouteRefused."""
        told = await self.get("/v1/caller")
        return RestCaller(told["edge"], frozenset(told["roles"]))

    async def _told(self, call: Awaitable[httpx2.Response]) -> dict[str, Any]:
        try:
            return value_of(await call)
        except httpx2.TransportError as error:
            raise _broken(error) from error


def value_of(response: httpx2.Response) -> dict[str, Any]:
    """The object that a route answers, harmless. Raises RouteRefused for a problem, and for what is no object.

    >>> value_of(httpx2.Response(200, json={"name": "a <b>bold</b> name"}))
    {'name': 'a bold name'}
    """
    try:
        value = response.json()
    except ValueError as error:
        raise RouteRefused(f"the edge does not answer JSON (HTTP {response.status_code})", next_step="is it an edge?") from error
    told = harmless(value) if isinstance(value, dict) else {}
    if response.is_success:
        return told
    said = told.get("detail") or f"HTTP {response.status_code}"
    raise RouteRefused(str(said), next_step=str(told.get("next_step", "")))


async def _heard(event: ServerSentEvent, tell: Tell) -> dict[str, Any] | None:
    data = orjson.loads(event.data)
    match event.event:
        case "answer":
            return dict(harmless(data))
        case "error":
            raise RouteRefused(harmless(data)["detail"])
        case "step":
            await tell(str(data["step"]))
    return None


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _broken(error: httpx2.TransportError) -> RouteRefused:
    return RouteRefused(f"the edge cannot be called ({type(error).__name__})", next_step="is it running? see `dgrag status`")
