"""Jobs: how far they are, and what can be done about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
from fastapi import APIRouter
from sse_starlette import EventSourceResponse

from edge_node.api.access import GuardedRoute
from edge_node.api.deps import Node
from edge_node.store.replies import usage
from shared.errors import NotFound

router = APIRouter(prefix="/v1", route_class=GuardedRoute)
EVENT_EVERY_S = 0.25  # at most: each event asks the store
EVENT_WAIT_S = 15.0  # a comment line at least this often keeps proxies from closing the stream


@router.get("/jobs/{job_id}")
async def get_job(job_id: str, node: Node) -> dict[str, Any]:
    """What indexing this document has cost so far, and where it stands."""
    return await asyncio.to_thread(_job, node, job_id)


@router.get("/jobs/{job_id}/events")
async def job_events(job_id: str, node: Node) -> EventSourceResponse:
    """Server-sent events ``progress`` until the job has ended, or ``gone`` when its document is deleted meanwhile."""
    await asyncio.to_thread(_job, node, job_id)  # an unknown job is a 404, not an empty stream

    async def events() -> AsyncIterator[dict[str, str]]:
        while True:
            seen = node.worker.news.changes
            try:
                job = await asyncio.to_thread(_job, node, job_id)
            except NotFound:
                yield {"event": "gone", "data": orjson.dumps({"job_id": job_id}).decode()}
                return
            yield {"event": "progress", "data": orjson.dumps(job).decode()}
            if job["ended_at"] is not None:
                return
            await asyncio.sleep(EVENT_EVERY_S)
            await node.worker.news.next_change(seen, wait_s=EVENT_WAIT_S)

    return EventSourceResponse(events())


@router.post("/jobs/{job_id}/cancel")
async def cancel_job(job_id: str, node: Node) -> dict[str, Any]:
    """Stop a job; its document is parked as ``cancelled``, and a former version of it goes on being served."""
    await node.cancel(job_id)
    return await asyncio.to_thread(_job, node, job_id)


@router.post("/jobs/{job_id}/retry", status_code=202)
async def retry_job(job_id: str, node: Node) -> dict[str, Any]:
    """Try the document of a job again, with a new job: a parked one, or one that was indexed with shortfalls."""
    return await asyncio.to_thread(_job, node, await node.retry(job_id))


def _job(node: Node, job_id: str) -> dict[str, Any]:
    """A job with the step it is in, its own or the settle for which it waits, and with seconds until that ends.

    While it runs, its calls and tokens are what the edge's write path has used of the model since it began.
    """
    job = node.queue.get(job_id)
    step, eta_s = node.worker.news.place_of(job_id) if job["ended_at"] is None else (None, None)
    if running := node.worker.news.jobs.get(job_id):
        used = usage(node.queue.database).values()
        for field, total, before in zip(("calls", "tokens_in", "tokens_out"), used, running.used_before, strict=True):
            job[field] += total - before
    if step is None or not step.step:
        return job | {"step": job["status"], "done": 0, "total": 0, "eta_s": None}
    return job | {"step": step.step, "done": step.done, "total": step.total, "eta_s": eta_s}
