"""Documents at the console: added, what they would cost, listed while they are indexed, retried, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import batched
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from edge_node.api.access import Node
from edge_node.api.console.access import ConsoleRoute
from edge_node.api.documents import Receipt, add_document, cancel_job, delete_document, from_form, get_job, get_receipt, retry_job
from edge_node.documents.estimate import Estimate
from edge_node.node import EdgeNode
from shared.errors import Conflict, InputError, NotFound
from shared.http.console.pages import pages_of
from shared.http.middleware import while_connected
from shared.wire import MAX_NAME_CHARS

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
ON_A_PAGE = 50
MOST_UPLOADS = 200  # whose news a page shows
AT_ONCE = 1_000  # parked documents that are looked up together
Name = Annotated[str, Field(max_length=MAX_NAME_CHARS)]
Amount = Annotated[int, Field(ge=0, lt=2**53)]
CHANGED = {"HX-Trigger": "changed"}  # the list looks anew
