"""Which sites a question would reach: the summaries that it matches, with their scores."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict

from cloud_server.api import questions
from cloud_server.api.access import CallerDep, CloudDep
from cloud_server.api.console.access import ConsoleRoute
from shared.http.console.pages import pages_of
from shared.wire import MatchBody, Question

router = APIRouter(include_in_schema=False, route_class=ConsoleRoute)
SHOWN = 10
ALL = -1.0  # a cosine that every summary has


class MatchForm(BaseModel):
    """The form of a question to be matched. ``far``: show summaries that are too far from it, too."""

    model_config = ConfigDict(extra="forbid")

    question: Question
    far: bool = False


@router.get("/console/match")
async def match_page(request: Request) -> HTMLResponse:
    """Where a question is given."""
    return pages_of(request).page(request, "own/match.html")


@router.post("/console/match")
async def match(form: Annotated[MatchForm, Form()], request: Request, cloud: CloudDep, caller: CallerDep) -> HTMLResponse:
    """The summaries that it matches, as a piece of the page."""
    body = MatchBody(question=form.question, m=SHOWN, min_score=ALL if form.far else None)
    found = await questions.match(body, cloud, caller, request)
    least, lead = cloud.settings.match_threshold, cloud.settings.match_lead
    return pages_of(request).page(request, "own/matched.html", found=found, least=least, lead=lead)
