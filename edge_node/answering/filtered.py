"""Reads for a question from the documents that it is about, although documents come and change meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from edge_node.egress.sharing import Sharing
from edge_node.records import Filters
from shared.errors import Conflict

T = TypeVar("T")
STAYS = "a question with filters stays at this site"
TRIES = 5


async def read_filtered(
    sharing: Sharing, labels: frozenset[str] | None, filters: Filters | None, work: Callable[[frozenset[str]], Awaitable[T]]
) -> T:
    """What ``work`` makes without the documents that the asker may not read or does not ask about.

    Where one of these came to be served meanwhile, and ``work`` may have read it, it works again. (Labels have a check of their own, after
    the whole answer: ``EdgeNode.read_by``.) Raises Conflict where that happens again and again, and as ``work``.
    """
    for _ in range(TRIES):
        withheld = await asyncio.to_thread(sharing.beyond, labels, filters)
        made = await work(withheld)
        if filters is None or not await asyncio.to_thread(sharing.is_newly_beyond, labels, filters, withheld):
            return made
    raise Conflict("documents that do not match the filters keep coming while it is read", next_step="ask again in a while")
