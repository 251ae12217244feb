"""Questions, and the matching of summaries alone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header

from cloud_server.routes.deps import CloudDep
from shared.records import Answer
from shared.sentences import questions_in
from shared.wire import DEADLINE_HEADER, Match, MatchBody, MatchReply, QuestionBody

router = APIRouter(prefix="/v1", tags=["questions"])
RemainingMs = Annotated[int | None, Header(alias=DEADLINE_HEADER, ge=1, le=3_600_000)]


@router.post("/questions")
async def ask(body: QuestionBody, cloud: CloudDep, deadline_ms: RemainingMs = None) -> Answer:
    """Answer an escalated question within the caller's remaining time; 403 ``expelled`` for an edge that was shut out."""
    limit_s = cloud.settings.answer_deadline_s
    return await cloud.coordinator.answer(body, deadline_s=limit_s if deadline_ms is None else min(limit_s, deadline_ms / 1000))


@router.post("/match")
async def match(body: MatchBody, cloud: CloudDep) -> MatchReply:
    """The m summaries nearest to a question, best first, without a threshold."""
    questions = await cloud.models.embedder.embed(questions_in(body.question))
    found = await cloud.catalogue.match(questions, m=body.m, min_cosine=-1.0)
    return MatchReply(matches=[Match(edge=one.edge, summary_id=one.summary_id, score=one.score) for one in found[: body.m]])
