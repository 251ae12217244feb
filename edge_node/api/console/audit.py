"""The egress ledger at the console: what has left this site, whether the list of it is whole, and as a file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from edge_node.api.access import Node
from edge_node.api.console.access import ConsoleRoute
from edge_node.api.policy import verify
from edge_node.database.backup import FILE
from edge_node.egress.ledger import Ledger, ledger_of, read_disclosed
from edge_node.egress.ledger_export import FORMS
from edge_node.node import EdgeNode
from shared.http.console.pages import pages_of

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
ON_A_PAGE = 50
READ_AT_ONCE = 1_000  # records of a file
MOST_REQUESTERS = 10


@router.get("/console/audit")
async def audit_page(request: Request, node: Node, before: Annotated[int, Query(ge=1, lt=2**53)] = 2**53 - 1) -> HTMLResponse:
    """What has left, newest first; ``before``: from the record before this one."""
    return pages_of(request).page(request, "own/audit.html", **await asyncio.to_thread(_left, node, before))


@router.get("/console/audit/verify")
async def verified(request: Request, node: Node) -> HTMLResponse:
    """Whether the ledger is whole. Reads all of it."""
    return pages_of(request).page(request, "own/verified.html", found=await verify(node))


@router.get("/console/audit/export/{form}")
async def export(form: Annotated[str, Path(pattern=f"^({'|'.join(FORMS)})$")], node: Node) -> StreamingResponse:
    """All records as a file, oldest first."""
    name = f'attachment; filename="egress-{datetime.now(UTC):%Y-%m-%d}.{form}"'
    return StreamingResponse(_lines(node.ledger, form), headers={"content-disposition": name}, media_type=FORMS[form].media_type)


def _left(node: EdgeNode, before: int) -> dict[str, Any]:
    records = node.ledger.newest(before=before, limit=ON_A_PAGE)
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    with ledger_of(node.settings.state_dir / FILE) as connection:
        had = read_disclosed(connection, since=today, limit=MOST_REQUESTERS)
    older = records[-1].seq if len(records) == ON_A_PAGE and records[-1].seq > 1 else 0
    return {"records": records, "had": had, "older": older, "is_newest": before == 2**53 - 1, "count": node.ledger.count()}


def _lines(ledger: Ledger, form: str) -> Iterator[str]:
    yield FORMS[form].head
    after = 0
    while records := ledger.entries(after=after, limit=READ_AT_ONCE):
        after = records[-1].seq
        yield "".join(map(FORMS[form].line, records))
