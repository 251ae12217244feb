"""A server with OpenAI's chat completions over HTTP: the bytes of its answer, or what it refuses, and what its failures mean."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

import httpx2

from shared.errors import ModelError, ModelReplyError, ModelTimeout, ModelUnavailable
from shared.limits import RetryBudget, retry_after_s
from shared.models.addresses import MODELS, ROUTE, addresses_of, key_headers, route_of
from shared.models.capabilities import Refusal, is_filtered, is_spoilt
from shared.models.chat_replies import LOOK_AT_LOG, model_names
from shared.models.chat_streams import is_event_stream
from shared.models.server_errors import MAX_ERROR_CHARS, NO_REASON, refusal_of, refused_in
from shared.telemetry import correlation

ATTEMPTS = 3
NO_KEY = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
NO_ROUTE = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
TIMEOUT = httpx2.Timeout(None, connect=5.0)  # the deadline of the call bounds all the rest
LIST_S = 5.0  # for the list of models, which a message names
MAX_ERROR_BYTES = 64 * 1024
MODELS_LISTED, MAX_NAME_CHARS = 8, 80  # in a message
NO_JSON = "the model wrote no JSON where it was to"
NO_JSON_STEP = "ask again, or use a model that follows a JSON schema"
NO_CREDIT = "insufficient_quota"  # OpenAI's code, which comes with 429
_NO_SUCH_ROUTE = re.compile(r"unexpected endpoint|cannot post|(?:unknown|no such) (?:endpoint|route|path|url)", re.IGNORECASE)
Mends = Callable[[Refusal], bool]  # whether another form of the request may be taken


class ServerAway(ModelUnavailable):
    """Nobody answers at the address."""


class BrokeOff(ModelUnavailable):
    """A server that is there, and closed the connection before its answer was whole."""


class ChatServer:
    """``POST {http.base_url}/chat/completions``, with ``/v1`` before it or without, as the server has it."""

    def __init__(
        self,
        http: httpx2.AsyncClient,
        *,
        model: str,
        api_key: str | None = None,
        max_reply_bytes: int,
        retry_wait_s: float,
        retries: RetryBudget,
    ) -> None:
        """As of ``OpenAIGenerator``."""
        self._http = http
        self._model = model
        self._headers = key_headers(str(http.base_url), api_key)
        self._max_reply_bytes = max_reply_bytes
        self._retry_wait_s = retry_wait_s
        self._retries = retries
        self._addresses = addresses_of(str(http.base_url))  # the first is in use
        self._has_route = False  # it has answered there
        self._place = http.base_url.copy_with(query=None)  # as messages name it

    async def reach(self, *, deadline_s: float) -> None:
        """Ask the server for its list of models, which costs no turn of a model. Raises ModelTimeout, ModelUnavailable."""
        try:
            response = await self._list(deadline_s)
        except httpx2.TimeoutException as error:
            raise ModelTimeout(deadline_s=deadline_s) from error
        except httpx2.TransportError as error:
            raise self._failure(error) from error
        if response.status_code in NO_KEY or _passing(response.status_code):
            raise ModelUnavailable(f"the model server answers with {response.status_code}", next_step="check its key, and look at its log")

    async def ask(self, body: Mapping[str, Any], *, ends: float, mends: Mends) -> bytes | Refusal:
        """The whole answer, or why there is none that could be had in this form.

        Where the connection breaks off it is asked once more. ``ends``: seconds of the loop's clock.
        Raises ModelUnavailable, ModelReplyError.
        """
        try:
            return await self._asked(body, ends, mends)
        except BrokeOff:
            if not self._retries.take():
                raise
            return await self._asked(body, ends, mends)

    async def open(self, body: Mapping[str, Any], *, ends: float, mends: Mends) -> httpx2.Response | Refusal:
        """The answer before it is read, which the caller closes. Raises as ``ask``."""
        try:
            return await self._routed(body, ends, mends)
        except BrokeOff:
            if not self._retries.take():
                raise
            return await self._routed(body, ends, mends)

    async def blocks(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """The body, as long as it stays below the cap. Raises BrokeOff, ModelReplyError."""
        size = 0
        try:
            async for block in response.aiter_bytes():
                size += len(block)
                if size > self._max_reply_bytes:
                    raise ModelReplyError(f"the model server's answer is over {self._max_reply_bytes} bytes", next_step=LOOK_AT_LOG)
                yield block
        except httpx2.TransportError as error:
            raise self._failure(error) from error
        except httpx2.DecodingError as error:
            raise ModelUnavailable(f"the model server's answer cannot be unpacked ({error})", next_step=LOOK_AT_LOG) from error

    async def whole(self, response: httpx2.Response) -> bytes:
        """All of the body, which is JSON: without a length of its own, one that ends too early broke off. Raises as ``blocks``."""
        async with aclosing(self.blocks(response)) as blocks:
            raw = b"".join([block async for block in blocks])
        if not is_framed(response) and not (_is_json(raw) or is_event_stream(raw)):
            raise self._broke_off("its answer ends too early")
        return raw

    def allows_repeat(self) -> bool:
        """Whether one more request may be made in the place of one that failed; if so, it counts."""
        return self._retries.take()

    async def refused(self, refusal: Refusal, body: Mapping[str, Any]) -> ModelError:
        """What a refusal means, where no other form of the request is left."""
        status, reason = refusal.status, refusal.message[:MAX_ERROR_CHARS] or NO_REASON
        if status in NO_ROUTE:
            names = await self._names()
            known = f": it has {', '.join(names)}" if names else ""
            return ModelUnavailable(
                f"the model server has no {self._model!r} for us ({status}: {reason})",
                next_step=f"check the model's address (DGRAG_MODEL_URL), name (DGRAG_MODEL_NAME) and key{known}",
            )
        if is_filtered(refusal):
            return ModelReplyError(
                f"the model server's filter refuses the question or its passages ({reason})",
                next_step="ask in other words, or have the filter changed at the model server",
            )
        if is_spoilt(refusal):
            return ModelReplyError(
                f"{NO_JSON} ({status}: {reason})",
                next_step=NO_JSON_STEP,
            )
        next_step = _next_step(refusal, body)
        if status == HTTPStatus.PAYMENT_REQUIRED:
            words = f"the model server wants to be paid ({reason})"
            return ModelUnavailable(words, next_step=next_step)
        words = f"the model server refused the request ({status}: {reason})"
        return ModelReplyError(words, next_step=next_step)

    async def _asked(self, body: Mapping[str, Any], ends: float, mends: Mends) -> bytes | Refusal:
        routes, attempt = len(self._addresses), 0
        while True:
            answer = await self._routed(body, ends, mends)
            if isinstance(answer, Refusal):
                return answer
            async with aclosing(answer):
                raw = await self.whole(answer)
            refusal = refused_in(raw)
            if refusal is None:
                self._has_route = True
                return raw
            if _NO_SUCH_ROUTE.search(refusal.message):
                self._addresses.reverse()
                routes -= 1
                if not routes:
                    return refusal
            elif not _passing(refusal.status) or mends(refusal):
                return refusal
            else:
                attempt += 1
                await self._pause(refusal, body, attempt=attempt, ends=ends)

    async def _routed(self, body: Mapping[str, Any], ends: float, mends: Mends) -> httpx2.Response | Refusal:
        """The answer at the address in use, else at the other one, as long as no address has answered yet."""
        outcome = await self._taken(body, ends, mends)
        if isinstance(outcome, Refusal) and self._may_be_elsewhere(outcome):
            self._addresses.reverse()
            other = await self._taken(body, ends, mends)
            if not (isinstance(other, Refusal) and self._may_be_elsewhere(other)):
                return other
            self._addresses.reverse()
        return outcome

    def _may_be_elsewhere(self, refusal: Refusal) -> bool:
        return not self._has_route and refusal.status in NO_ROUTE and "model" not in refusal.message.lower()

    async def _taken(self, body: Mapping[str, Any], ends: float, mends: Mends) -> httpx2.Response | Refusal:
        """Post until the server takes or refuses the request."""
        attempt = 0
        while True:
            attempt += 1
            response = await self._post(body)
            status = response.status_code
            if status == HTTPStatus.OK:
                return response
            async with aclosing(response):
                refusal = await self._refusal(response)
            if status in NO_KEY:
                raise ModelUnavailable(
                    f"the model server has no {self._model!r} for us ({status}: {refusal.message[:MAX_ERROR_CHARS] or NO_REASON})",
                    next_step="check the model's address, name and key",
                )
            if status >= HTTPStatus.BAD_REQUEST and (not _passing(status) or mends(refusal)):
                return refusal
            retry_after = response.headers.get("Retry-After", "")
            asked_s = retry_after_s(retry_after, date=response.headers.get("Date", ""))
            await self._pause(refusal, body, attempt=attempt, ends=ends, asked_s=asked_s)

    async def _pause(
        self,
        refusal: Refusal,
        body: Mapping[str, Any],
        *,
        attempt: int,
        ends: float,
        asked_s: float | None = None,
    ) -> None:
        """Wait before the next attempt. Raises ModelUnavailable where there is to be none."""
        wait_s = self._retry_wait_s * attempt if asked_s is None else asked_s
        late = asyncio.get_running_loop().time() + wait_s >= ends
        is_last = attempt == ATTEMPTS or not _passing(refusal.status)
        if is_last or late or not self._retries.take():
            reason = refusal.message[:MAX_ERROR_CHARS] or NO_REASON
            raise ModelUnavailable(
                f"the model server cannot answer now ({refusal.status}: {reason})",
                next_step=_next_step(refusal, body),
                retry_after_s=asked_s or 0.0,
            )
        await asyncio.sleep(wait_s)

    async def _post(self, body: Mapping[str, Any]) -> httpx2.Response:
        headers = self._headers | correlation.headers()
        url = route_of(self._addresses[0], ROUTE)
        request = self._http.build_request(
            "POST",
            url,
            json=body,
            headers=headers,
            timeout=TIMEOUT,
        )
        self._retries.attempt()
        try:
            return await self._http.send(request, stream=True)
        except httpx2.TransportError as error:
            raise self._failure(error) from error

    async def _refusal(self, response: httpx2.Response) -> Refusal:
        """What a status other than 200 comes with; a line that breaks says no more."""
        raw = b""
        async with aclosing(self.blocks(response)) as blocks:
            async for block in blocks:
                raw += block
                if len(raw) > MAX_ERROR_BYTES:
                    break
        return refusal_of(response.status_code, raw[:MAX_ERROR_BYTES])

    async def _list(self, timeout_s: float) -> httpx2.Response:
        url = route_of(self._addresses[0], MODELS)
        return await self._http.get(url, headers=self._headers, timeout=timeout_s)

    async def _names(self) -> list[str]:
        """Names of the models that the server lists; none where it lists none."""
        try:
            response = await self._list(LIST_S)
            return [name[:MAX_NAME_CHARS] for name in model_names(response.json())[:MODELS_LISTED]]
        except (httpx2.HTTPError, ValueError):
            return []

    def _failure(self, error: httpx2.TransportError) -> ModelUnavailable:
        reason = str(error) or type(error).__name__
        if isinstance(
            error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout | httpx2.ProxyError | httpx2.UnsupportedProtocol
        ):
            return ServerAway(
                f"no model server at {self._place} ({reason})",
                next_step="start it, or correct the model's address",
            )
        return self._broke_off(reason)

    def _broke_off(self, reason: str) -> BrokeOff:
        return BrokeOff(
            f"the model server at {self._place} is there, but broke off in the middle of its answer ({reason})",
            next_step="look at the model server's log: it may have run out of memory, or a proxy before it out of patience",
        )


def is_framed(response: httpx2.Response) -> bool:
    """Whether the end of the body shows that it is whole: a length or chunks, which the client checks."""
    return "content-length" in response.headers or "chunked" in response.headers.get("transfer-encoding", "")


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _next_step(refusal: Refusal, body: Mapping[str, Any]) -> str:
    """What whoever runs a failing server can do.

    Some servers have no structured outputs, and fail without saying so.
    """
    if refusal.status == HTTPStatus.PAYMENT_REQUIRED or NO_CREDIT in refusal.codes:
        return "the account at the server has no credit: add some, or use another server"
    hint = ": the request has a JSON schema, so it needs a server with structured outputs"
    return f"{LOOK_AT_LOG}{hint if 'response_format' in body else ''}"


def _passing(status: int) -> bool:
    """Whether the same request may do better later: the server is busy (503 also while it loads its model), or fails by itself."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or (status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED)
