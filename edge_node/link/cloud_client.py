"""The cloud's routes as methods. The seam is the httpx client: production, ASGI in tests, a fault transport in fault tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import httpx
import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from shared.errors import CloudRefused, CloudUnavailable, Unsendable
from shared.loopback import is_loopback
from shared.records import Answer, EdgeId, SummaryDelta
from shared.wire import (
    DEADLINE_HEADER,
    DeltaBody,
    Enrolled,
    Enrolment,
    EvidenceReply,
    PollReply,
    QuestionBody,
)

Body = TypeVar("Body", bound=BaseModel)
MAX_BODY_BYTES = 16 * 2**20
ANSWER = TypeAdapter(Answer)


def cloud_http(url: str) -> httpx.AsyncClient:
    """The client for the cloud at ``url``; one on this machine is never asked through the environment's proxy."""
    return httpx.AsyncClient(base_url=url, trust_env=not is_loopback(httpx.URL(url).host))


class CloudClient:
    """Speaks to one cloud for one edge. Every method raises CloudUnavailable, CloudRefused or Unsendable, and nothing else."""

    def __init__(self, http: httpx.AsyncClient, edge: EdgeId) -> None:
        self._http = http
        self.edge = edge

    async def enrol(self, *, deadline_s: float = 10.0) -> Enrolled:
        """Say who we are; learn what the cloud knows of us."""
        content, _ = await self._call("POST", "/v1/edges", Enrolment(edge=self.edge, public_key="A" * 43 + "="), deadline_s)
        return _parse(Enrolled, content)

    async def push(self, delta: SummaryDelta, *, deadline_s: float = 60.0) -> tuple[Enrolled, int]:
        """Send a delta; returns what the cloud knows now, and the bytes sent. CloudRefused(reason="resync") asks for a snapshot."""
        body = _made(lambda: DeltaBody.from_record(delta))
        content, sent = await self._call("PUT", f"/v1/edges/{self.edge}/summaries", body, deadline_s)
        return _parse(Enrolled, content), sent

    async def poll(self, *, wait_s: float) -> PollReply:
        """Wait for requests, at most ``wait_s`` seconds."""
        content, _ = await self._call("POST", f"/v1/edges/{self.edge}/poll?wait_s={wait_s}", None, wait_s + 10.0)
        return _parse(PollReply, content)

    async def reply(self, request_id: str, reply: EvidenceReply, *, deadline_s: float = 30.0) -> None:
        """Answer a request."""
        await self._call("POST", f"/v1/edges/{self.edge}/replies/{request_id}", reply, deadline_s)

    async def ask(self, question: str, *, query_id: str, deadline_s: float) -> tuple[Answer, int, int]:
        """Escalate a question; returns the cloud's answer, bytes sent and bytes received."""
        body = _made(lambda: QuestionBody(question=question, query_id=query_id))
        content, sent = await self._call("POST", "/v1/questions", body, deadline_s)
        try:
            return ANSWER.validate_json(content), sent, len(content)
        except ValidationError as error:
            raise CloudUnavailable("the cloud's answer is not of the agreed form") from error

    async def _call(self, method: str, path: str, body: BaseModel | None, deadline_s: float) -> tuple[bytes, int]:
        sent = b"" if body is None else body.model_dump_json().encode()
        headers = {"content-type": "application/json", DEADLINE_HEADER: str(int(deadline_s * 1000))}
        try:
            async with (
                asyncio.timeout(deadline_s),  # httpx counts between bytes only: a dripping peer would hold us for ever
                self._http.stream(method, path, content=sent, headers=headers, timeout=deadline_s) as response,
            ):
                content = bytearray()
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > MAX_BODY_BYTES:
                        raise CloudUnavailable(f"the cloud sent more than {MAX_BODY_BYTES} bytes")
        except TimeoutError as error:
            raise CloudUnavailable(f"no answer from the cloud in {deadline_s:.0f} s") from error
        except httpx.HTTPError as error:
            raise CloudUnavailable(f"the cloud cannot be reached ({type(error).__name__})") from error
        _check(response.status_code, bytes(content))
        return bytes(content), len(sent)


def _made(make: Callable[[], Body]) -> Body:
    try:
        return make()
    except ValidationError as error:
        faults = [f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in error.errors(include_input=False)[:3]]
        raise Unsendable(error.title, fields="; ".join(faults)) from error


def _check(status: int, content: bytes) -> None:
    if status < 400:
        return
    if status >= 500:
        raise CloudUnavailable(f"the cloud answered with status {status}")
    try:
        problem = orjson.loads(content)
    except orjson.JSONDecodeError:
        problem = {}
    facts = problem if isinstance(problem, dict) else {}
    raise CloudRefused(str(facts.get("detail", f"status {status}")), status=status, reason=str(facts.get("code", "")))


def _parse(kind: type[Body], content: bytes) -> Body:
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise CloudUnavailable(f"the cloud's {kind.__name__} is not of the agreed form") from error
