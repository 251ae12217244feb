"""The sharing policy: which one is in force, and what would leave under it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from edge_node.api.access import GuardedRoute, Node
from edge_node.egress.dry_run import Shown, shown_sync
from edge_node.egress.ledger import Entry, Fault
from edge_node.egress.policy_editor import FormerPolicy, PolicyText, checked
from edge_node.egress.policy_file import MAX_BYTES
from edge_node.node import EdgeNode
from edge_node.policy.rules import doubts
from edge_node.trial import shown_evidence
from shared.http.access import Caller, caller_of
from shared.wire import EVIDENCE_BUDGET_TOKENS, POINTS_MAX_BYTES, Purpose, Question, SharedLevel, Task

MOST_FAULTS = 100
router = APIRouter(prefix="/v1/policy", route_class=GuardedRoute)

audit_router = APIRouter(prefix="/v1", tags=["audit"], route_class=GuardedRoute)


class Audit(BaseModel):
    """``GET /v1/audit``: records by number; ``after`` is where the next page begins."""

    records: list[Entry]
    after: int


@audit_router.get("/audit")
async def audit(node: Node, after: Annotated[int, Query(ge=0, lt=2**53)] = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Audit:
    """A page of the egress ledger: every body that has left this site, with its recipient, purpose, rule and hash; never its text."""
    records = await asyncio.to_thread(node.ledger.entries, after=after, limit=limit)
    return Audit(records=records, after=records[-1].seq if records else after)


class Verified(BaseModel):
    """``GET /v1/audit/verify``. ``faults``: the first hundred of ``fault_count``; none: the ledger is whole, as far as is seen here."""

    records: int
    whole: bool
    fault_count: int
    faults: list[Fault]


@audit_router.get("/audit/verify")
async def verify(node: Node) -> Verified:
    """Whether each record is as it was written, and is the one that the cloud countersigned, as far as this edge kept that.

    Reads the whole ledger. A ledger that was written anew with all signs of it is seen by `dgrag audit verify --cloud` only.
    """
    records, faults = await asyncio.to_thread(lambda: (node.ledger.count(), node.ledger.verify()))
    return Verified(records=records, whole=not faults, fault_count=len(faults), faults=faults[:MOST_FAULTS])


class TryBody(BaseModel):
    """Somebody's question, and how much a cloud asks for. Without a question, only the next sync is shown."""

    model_config = ConfigDict(extra="forbid")

    question: Question | None = None
    requester: Annotated[str, Field(max_length=80)] = ""
    purpose: Purpose | None = None
    budget_tokens: Annotated[int, Field(ge=1, le=100_000)] = EVIDENCE_BUDGET_TOKENS
    task: Task = "evidence"  # "reports": points for a global answer
    level: SharedLevel = "dynamic"  # of the reports
    max_bytes: Annotated[int, Field(ge=1_000, le=250_000)] = POINTS_MAX_BYTES  # of the reply with points


class CheckBody(BaseModel):
    """The text of a policy file."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(max_length=MAX_BYTES)]


class PolicyBody(CheckBody):
    """A policy for the place of the one whose hash its writer has read; "": of whichever there is."""

    base: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")]


@dataclass(frozen=True, slots=True)
class PolicyCheck:
    """The key of a policy's meaning, and what it may not do as its owner thinks."""

    key: str
    warnings: tuple[str, ...]


class PolicyHistory(BaseModel):
    """``GET /v1/policy/history``."""

    versions: list[FormerPolicy]


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """``GET /v1/policy/history/{number}``."""

    number: int
    text: str


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


@router.put("")
async def put_policy(body: PolicyBody, node: Node, caller: Annotated[Caller, Depends(caller_of)]) -> PolicyText:
    """Put a policy in force, by the text of its file; the former one goes into the history. To restore one, send its text.

    400 ``bad_input``: it cannot be read; 409 ``conflict``: ``base`` is not the present text's hash, or its owner keeps the file elsewhere.
    """
    return await asyncio.to_thread(node.policies.replace, body.text, base=body.base, who=caller.name)


@router.post("/check")
async def check_policy(body: CheckBody) -> PolicyCheck:
    """What putting this policy in force would say. Nothing is written."""
    found = await asyncio.to_thread(checked, body.text)
    return PolicyCheck(found.key, doubts(found))


@router.get("/text")
async def policy_text(node: Node) -> PolicyText:
    """The text of the policy file; its ``hash`` is the ``base`` of a change."""
    return await asyncio.to_thread(node.policies.present)


@router.get("/history")
async def policy_history(node: Node) -> PolicyHistory:
    """The texts that were replaced over HTTP, newest first: when, by whom, and what they meant. The newest hundred are kept."""
    return PolicyHistory(versions=await asyncio.to_thread(node.policies.history))


@router.get("/history/{number}")
async def former_policy(number: Annotated[int, Path(ge=1, lt=2**53)], node: Node) -> PolicyVersion:
    """A text that was replaced."""
    return PolicyVersion(number, await asyncio.to_thread(node.policies.former, number))


@router.post("/try")
async def try_policy(body: TryBody, node: Node) -> TryReply:
    """The exact bytes of the next sync and, for a question, of the reply to the requester. Nothing leaves, and no meter counts."""
    key, current = await asyncio.to_thread(lambda: (node.sharing.policy.key, node.sharing.is_told()))
    sync = await asyncio.to_thread(shown_sync, node.settings.state_dir) if current else []
    return TryReply(key, current, tuple(sync), await _evidence(node, body))


async def _evidence(node: EdgeNode, body: TryBody) -> Shown | None:
    if body.question is None:
        return None
    return await shown_evidence(
        node,
        body.question,
        body.requester,
        body.purpose,
        budget_tokens=body.budget_tokens,
        task=body.task,
        level=body.level,
        max_bytes=body.max_bytes,
    )
