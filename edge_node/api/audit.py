"""What has left this site."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from edge_node.api.access import GuardedRoute
from edge_node.api.deps import Node
from edge_node.store.chain import Entry

router = APIRouter(prefix="/v1", tags=["audit"], route_class=GuardedRoute)


class Audit(BaseModel):
    """``GET /v1/audit``: records by number; ``after`` is where the next page begins."""

    records: list[Entry]
    after: int


@router.get("/audit")
async def audit(node: Node, after: Annotated[int, Query(ge=0, lt=2**53)] = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Audit:
    """A page of the egress ledger: every body that has left this site, with its recipient, purpose, rule and hash; never its text."""
    records = await asyncio.to_thread(node.ledger.entries, after=after, limit=limit)
    return Audit(records=records, after=records[-1].seq if records else after)
