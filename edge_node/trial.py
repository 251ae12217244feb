"""``dgrag policy try``: what a site would send, without a cloud and without a socket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from pydantic import ValidationError

from edge_node.build import Adapters, build_node
from edge_node.egress.bodies import reply_body
from edge_node.egress.dry_run import HeldBack, Shown, acknowledged, copied, held, next_memories, next_sync
from edge_node.egress.memory_sharing import MemorySharing
from edge_node.egress.policy_file import NAME
from edge_node.node import EdgeNode
from edge_node.records import silent
from edge_node.settings import EdgeSettings
from shared.errors import InputError
from shared.wire import EVIDENCE_BUDGET_TOKENS, POINTS_MAX_BYTES, EvidenceRequest, SharedLevel, Task

DEADLINE_MS = 600_000


async def shown_evidence(
    node: EdgeNode,
    question: str,
    requester: str,
    purpose: str | None,
    *,
    budget_tokens: int = EVIDENCE_BUDGET_TOKENS,
    task: Task = "evidence",
    level: SharedLevel = "dynamic",
    max_bytes: int = POINTS_MAX_BYTES,
) -> Shown:
    """The reply that a requester would get from a cloud that asks for so much; no meter counts it. Raises InputError.

    level, max_bytes: of the points for a global answer; a budget is for evidence. What is held back is told of evidence alone.
    """
    try:
        request = EvidenceRequest(
            request_id="try",
            question=question,
            requester=requester,
            purpose=purpose,
            budget_tokens=budget_tokens,
            deadline_ms=DEADLINE_MS,
            task=task,
            level=level,
            whole=True,
            max_bytes=max_bytes,
        )
    except ValidationError as error:
        raise InputError("this cannot be asked", next_step="a shorter question or name, and a purpose like `treatment`") from error
    served = await (node.for_others.tried_evidence(request) if task == "evidence" else node.overview.tried_points(request))
    shown = Shown.of("evidence" if served.reply.evidence else "refusal", reply_body(served.reply), rule=served.rule)
    return await _with_held(node, shown, request) if task == "evidence" else shown


async def _with_held(node: EdgeNode, shown: Shown, request: EvidenceRequest) -> Shown:
    """The reply with what is nearest to the question here and stays."""
    near, kept = await node.for_others.near(request)
    documents = defaultdict[str, list[str]](list)
    for one, rule in kept:
        documents[rule].append(one.document)
    held = tuple(HeldBack(rule, len(names), tuple(dict.fromkeys(names))) for rule, names in documents.items())
    return replace(shown, near=len(near), held=held)


@asynccontextmanager
async def trial(settings: EdgeSettings, parts: Adapters) -> AsyncIterator[EdgeNode]:
    """An edge on a copy of the store of ``settings``, settled under its policy, without any line. Raises as ``back_up``, ``build_node``."""
    policy = settings.state_dir / NAME
    with copied(settings.state_dir) as folder:
        there = settings.policy_file or (policy if policy.exists() else None)  # None: as a first start, but in the copy's folder
        node = build_node(settings.model_copy(update={"state_dir": folder, "policy_file": there, "cloud_url": ""}), parts)
        try:
            await node.strategy.open()
            await node.strategy.settle(silent)
            yield node
        finally:
            node.close()


def trial_sync(node: EdgeNode) -> list[Shown]:
    """The next sync of an edge that is only tried: its store is a copy."""
    bodies = next_sync(node.graph, epoch=node.graph.epoch(), version=acknowledged(node.graph))
    memories = MemorySharing.of(node.sharing, node.documents, node.graph)
    memories.renew()
    told = next_memories(memories.told, version=held(node.graph))
    return [*(Shown.of("summaries", body) for body in bodies), *(Shown.of("memories", body) for body in told)]
