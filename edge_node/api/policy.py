"""The sharing policy: which one is in force, and what would leave under it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from edge_node.api.access import GuardedRoute
from edge_node.api.deps import Node
from edge_node.policy.dry_run import Shown, shown_sync
from edge_node.policy.trial import shown_evidence
from shared.wire import Purpose, Question

router = APIRouter(prefix="/v1/policy", route_class=GuardedRoute)


class TryBody(BaseModel):
    """Somebody's question. Without one, only the next sync is shown."""

    model_config = ConfigDict(extra="forbid")

    question: Question | None = None
    requester: Annotated[str, Field(max_length=80)] = ""
    purpose: Purpose | None = None


@dataclass(frozen=True, slots=True)
class TryReply:
    """The bodies. ``current``: False where the summaries are being made anew, so that none of them leaves now."""

    key: str
    current: bool
    sync: tuple[Shown, ...]
    evidence: Shown | None


@router.get("")
async def policy(node: Node) -> dict[str, Any]:
    """The policy in force. ``fault``: why nothing is shared; ``current``: the summaries obey it already."""
    return await asyncio.to_thread(node.sharing.view)


@router.post("/try")
async def try_policy(body: TryBody, node: Node) -> TryReply:
    """The exact bytes of the next sync and, for a question, of the reply to the requester. Nothing leaves, and no meter counts."""
    key, current = await asyncio.to_thread(lambda: (node.sharing.policy.key, node.sharing.is_told()))
    sync = await asyncio.to_thread(shown_sync, node.settings.state_dir) if current else []
    evidence = await shown_evidence(node, body.question, body.requester, body.purpose) if body.question else None
    return TryReply(key, current, tuple(sync), evidence)
