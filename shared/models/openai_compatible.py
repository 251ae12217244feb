"""A chat model behind any OpenAI-compatible server: vLLM, llama.cpp, a hosted one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

import httpx2

from shared.errors import ModelReplyError, ModelTimeout, ModelUnavailable
from shared.limits import RetryBudget, retry_after_s
from shared.models.chat_format import STREAM_END, ThinkingFilter, error_text, parse_event, parse_reply, request_body
from shared.ports import Prompt, Reply
from shared.telemetry import correlation

ATTEMPTS = 3
NO_WAY_IN = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
TIMEOUT = httpx2.Timeout(None, connect=5.0)  # the deadline of the call bounds all the rest
MAX_ERROR_BYTES = 64 * 1024


class OpenAIGenerator:
    """The port ``Generator`` over ``POST {http.base_url}/chat/completions``.

    ``max_reply_bytes`` caps one answer; ``retry_wait_s`` is the wait before a server that is busy or fails is asked again, when it
    names none. ``retries``: what all that repeat calls of this process share.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        *,
        model: str,
        api_key: str | None = None,
        max_reply_bytes: int = 4 * 1024 * 1024,
        retry_wait_s: float = 1.0,
        retries: RetryBudget | None = None,
    ) -> None:
        self._http = http
        self._model = model
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._max_reply_bytes = max_reply_bytes
        self._retry_wait_s = retry_wait_s
        self._retries = retries or RetryBudget()

    @property
    def name(self) -> str:
        """The model's name at the server."""
        return self._model

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """Answer within ``deadline_s`` seconds in all, retries included. Raises ModelTimeout, ModelUnavailable, ModelReplyError."""
        body = request_body(prompt, model=self._model)
        try:
            async with asyncio.timeout(deadline_s):
                response = await self._send(body, ends=asyncio.get_running_loop().time() + deadline_s)
                async with aclosing(response), aclosing(self._blocks(response)) as blocks:
                    raw = b"".join([block async for block in blocks])
        except TimeoutError as error:
            raise ModelTimeout(deadline_s=deadline_s) from error
        return parse_reply(raw, prompt)

    async def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """Yield the text of one sample piece by piece, without ``<think>`` blocks. Raises as ``generate``."""
        ends = asyncio.get_running_loop().time() + deadline_s
        view = ThinkingFilter()
        try:
            async with asyncio.timeout_at(ends):
                response = await self._send(request_body(prompt, model=self._model, stream=True), ends=ends)
            async with aclosing(response), aclosing(self._events(response)) as events:
                while data := await _next_before(ends, events):
                    if text := view.feed(parse_event(data)):
                        yield text
        except TimeoutError as error:
            raise ModelTimeout(deadline_s=deadline_s) from error
        if text := view.rest():
            yield text

    async def reach(self, *, deadline_s: float) -> None:
        """Ask the server for its list of models, which costs no turn of a model. Raises ModelTimeout, ModelUnavailable."""
        try:
            response = await self._http.get("models", headers=self._headers, timeout=deadline_s)
        except httpx2.TimeoutException as error:
            raise ModelTimeout(deadline_s=deadline_s) from error
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error
        if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) or _passing(response.status_code):
            raise ModelUnavailable(f"the model server answers with {response.status_code}", next_step="check its key, and look at its log")

    async def _send(self, body: dict[str, Any], *, ends: float) -> httpx2.Response:
        """Post until the server takes the request; the caller closes the response. Raises as ``generate``."""
        attempt = 0
        while True:
            attempt += 1
            response = await self._post(body)
            if response.status_code == HTTPStatus.OK:
                return response
            asked_s = retry_after_s(response.headers.get("Retry-After", ""), date=response.headers.get("Date", ""))
            async with aclosing(response):
                failure = await self._failure(response, next_step=_next_step(body), retry_after_s=asked_s or 0.0)
            wait_s = self._retry_wait_s * attempt if asked_s is None else asked_s
            late = asyncio.get_running_loop().time() + wait_s >= ends
            if not _passing(response.status_code) or attempt == ATTEMPTS or late or not self._retries.take():
                raise failure
            await asyncio.sleep(wait_s)

    async def _post(self, body: dict[str, Any]) -> httpx2.Response:
        headers = self._headers | correlation.headers()
        request = self._http.build_request("POST", "chat/completions", json=body, headers=headers, timeout=TIMEOUT)
        self._retries.attempt()
        try:
            return await self._http.send(request, stream=True)
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error

    async def _blocks(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """The body, as long as it stays below the cap."""
        size = 0
        try:
            async for block in response.aiter_bytes():
                size += len(block)
                if size > self._max_reply_bytes:
                    raise ModelReplyError(f"the model server's answer is over {self._max_reply_bytes} bytes")
                yield block
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise self._unreachable(error) from error

    async def _events(self, response: httpx2.Response) -> AsyncGenerator[str, None]:
        """The data of each server-sent event."""
        held = b""
        async with aclosing(self._blocks(response)) as blocks:
            async for block in blocks:
                *lines, held = (held + block).split(b"\n")
                for line in lines:
                    if line.startswith(b"data:"):
                        yield line.removeprefix(b"data:").strip().decode("utf-8", errors="replace")

    async def _failure(self, response: httpx2.Response, *, next_step: str, retry_after_s: float) -> ModelUnavailable | ModelReplyError:
        """What a status other than 200 means."""
        raw = b""
        async with aclosing(self._blocks(response)) as blocks:
            async for block in blocks:
                raw += block
                if len(raw) > MAX_ERROR_BYTES:
                    break
        status, said = response.status_code, error_text(raw)
        if status in NO_WAY_IN:
            return ModelUnavailable(
                f"the model server has no {self._model!r} for us ({status}: {said})", next_step="check the model's address, name and key"
            )
        if _passing(status) or status < HTTPStatus.BAD_REQUEST:
            return ModelUnavailable(
                f"the model server cannot answer now ({status}: {said})", next_step=next_step, retry_after_s=retry_after_s
            )
        return ModelReplyError(f"the model server refused the request ({status}: {said})", next_step=next_step)

    def _unreachable(self, error: httpx2.HTTPError) -> ModelUnavailable:
        reason = str(error) or type(error).__name__
        return ModelUnavailable(
            f"no model server at {self._http.base_url} ({reason})", next_step="start it, or correct the model's address"
        )


async def _next_before(ends: float, events: AsyncIterator[str]) -> str | None:
    """The next event, or None at the end. The deadline stands around the read only: it must not strike in the caller's code."""
    async with asyncio.timeout_at(ends):
        data = await anext(events, None)
    if data is None:
        raise ModelReplyError("the model server's stream broke off")
    return data if data != STREAM_END else None


def _next_step(body: Mapping[str, Any]) -> str:
    """What whoever runs a failing server can do. Some servers have no structured outputs, and fail without saying so."""
    step = "look at the model server's log"
    return f"{step}: the request has a JSON schema, so it needs a server with structured outputs" if "response_format" in body else step


def _passing(status: int) -> bool:
    """Whether the same request may do better later: the server is busy (503 also while it loads its model), or fails by itself."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
