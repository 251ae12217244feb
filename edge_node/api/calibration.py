"""The gate's thresholds, set from the site's own documents: one call tries one question or two, the last one chooses."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from edge_node.api.access import GuardedRoute, Node
from edge_node.api.memories import CallerDep
from edge_node.calibration.choice import Choice

router = APIRouter(prefix="/v1/calibration", tags=["calibration"], route_class=GuardedRoute)
QUESTIONS = 40


class StepBody(BaseModel):
    """What a calibration is to ask, and whether its choice is put in force."""

    model_config = ConfigDict(extra="forbid")

    questions: Annotated[int, Field(ge=16, le=400)] = QUESTIONS
    apply: bool = True


@dataclass(frozen=True, slots=True)
class StepReply:
    """How far it is. ``choice``: None until all is asked."""

    done: int
    total: int
    seconds: float  # of a question
    choice: Choice | None = None


@router.get("")
async def calibration(node: Node, questions: Annotated[int, Query(ge=16, le=400)] = QUESTIONS) -> dict[str, Any]:
    """What is set and whether it is in use; ``done`` and ``total`` of the questions of the next calibration, and the seconds of one."""
    now = await node.calibration.progress(questions)
    held = await asyncio.to_thread(node.calibration.view)
    return held | {"done": now.done, "total": now.total, "seconds": now.seconds}


@router.post("")
async def calibrate(body: StepBody, node: Node, caller: CallerDep) -> StepReply:
    """Try the next question or two, in the turn of a question; when all are tried, choose. To be called until there is a ``choice``.

    400 ``bad_input``: there are too few documents to ask about; 409 ``conflict``: another model has taken over meanwhile.
    """
    async with node.admissions.questions.turn(caller.asker):
        now = await node.calibration.step(body.questions)
    choice = None
    if now.done >= now.total:
        choice = await node.calibration.finish(apply=body.apply, now=node.documents.clock.now())
    return StepReply(now.done, now.total, now.seconds, choice)


@router.delete("", status_code=204)
async def reset(node: Node) -> None:
    """The thresholds of the settings are in force again, and what was asked is forgotten."""
    await node.calibration.reset()
