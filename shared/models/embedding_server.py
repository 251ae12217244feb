"""An embedding model behind any server that speaks OpenAI's ``POST /v1/embeddings``: vLLM, llama.cpp, a hosted one, an edge."""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from zlib import crc32

import httpx2
import numpy as np
import orjson

from shared.errors import DgragError, ModelReplyError, ModelTimeout, ModelUnavailable
from shared.limits import RetryBudget, retry_after_s
from shared.models.addresses import EMBEDDINGS, key_headers, route_of
from shared.models.embedders import PROBE, fingerprint
from shared.models.server_errors import error_text
from shared.ports import FloatArray
from shared.telemetry import correlation
from shared.vectors import unit

ATTEMPTS = 3
DEADLINE_S = 60.0  # of one request
RETRY_WAIT_S = 1.0  # before a server that is busy or fails is asked again, when it names no time
MAX_REPLY_BYTES = 64 * 2**20
NO_WAY_IN = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


class EmbeddingServer:
    """The port ``Embedder``, and ``TellsQuestions``. ``question`` and ``passage``: what the model wants before either, as E5 does.

    ``batch``: texts in one request. A text that is too long for the server is one that the model cannot embed: ModelReplyError.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        *,
        model: str,
        probe: FloatArray,
        api_key: str = "",
        question: str = "",
        passage: str = "",
        batch: int = 32,
        retries: RetryBudget | None = None,
    ) -> None:
        """``probe``: the unit vector (d,) of ``embedders.PROBE`` as a passage, as ``probe_of`` gets it."""
        self._http = http
        self._model = model
        self._url = route_of(str(http.base_url), EMBEDDINGS)
        self._headers = key_headers(str(http.base_url), api_key)
        self._question, self._passage = question, passage
        self._batch = batch
        self._retries = retries or RetryBudget()
        self.probe = probe
        prefixes = f"+{crc32(repr((question, passage)).encode()):08x}" if question or passage else ""
        self._fingerprint = fingerprint(model + prefixes, probe)

    @property
    def fingerprint(self) -> str:
        """The model's name at the server, with a mark of the prefixes; dimension and hash of the probe's vector."""
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.probe.shape[0])

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors (n, d) of passages. Raises ModelTimeout, ModelUnavailable, ModelReplyError."""
        return await self._all(texts, self._passage)

    async def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """As ``embed``, of questions."""
        return await self._all(texts, self._question)

    async def _all(self, texts: Sequence[str], prefix: str) -> FloatArray:
        clean = [prefix + (text.encode("utf-8", "replace").decode() or " ") for text in texts]
        starts = range(0, len(clean), self._batch)
        rows = [await self._embedded(clean[start : start + self._batch]) for start in starts]
        return np.concatenate(rows) if rows else np.empty((0, self.dimensions), dtype=np.float32)

    async def _embedded(self, texts: list[str]) -> FloatArray:
        for attempt in range(1, ATTEMPTS + 1):
            self._retries.attempt()
            try:
                headers = self._headers | correlation.headers()
                asked: dict[str, Any] = {"json": body_of(self._model, texts), "headers": headers, "timeout": DEADLINE_S}
                async with self._http.stream("POST", self._url, **asked) as response:
                    raw = bytearray()
                    async for piece in response.aiter_bytes():
                        _take(piece, raw)
            except httpx2.HTTPError as error:
                raise _unreachable(error, self._http.base_url) from error
            if response.status_code == HTTPStatus.OK:
                return vectors_of(bytes(raw), rows=len(texts), dimensions=self.dimensions)
            asked_s = retry_after_s(response.headers.get("Retry-After", ""), date=response.headers.get("Date", ""))
            if attempt == ATTEMPTS or not _passing(response.status_code) or not self._retries.take():
                break
            await asyncio.sleep(min(RETRY_WAIT_S * attempt if asked_s is None else asked_s, DEADLINE_S))
        raise failure(self._model, response.status_code, bytes(raw), wait_s=asked_s or 0.0)


def probe_of(http: httpx2.Client, *, model: str, api_key: str = "", passage: str = "", patience_s: float = 10.0) -> FloatArray:
    """The unit vector (d,) of ``embedders.PROBE``; a server that is starting is asked again. Raises as ``EmbeddingServer.embed``."""
    until = time.monotonic() + patience_s
    while True:
        try:
            asked: dict[str, Any] = {
                "json": body_of(model, [passage + PROBE]),
                "headers": key_headers(str(http.base_url), api_key),
                "timeout": DEADLINE_S,
            }
            with http.stream("POST", route_of(str(http.base_url), EMBEDDINGS), **asked) as response:
                raw = bytearray()
                for piece in response.iter_bytes():
                    _take(piece, raw)
            if response.status_code == HTTPStatus.OK:
                return vectors_of(bytes(raw), rows=1).reshape(-1)
            error = failure(model, response.status_code, bytes(raw))
        except httpx2.HTTPError as caught:
            error = _unreachable(caught, http.base_url)
        if not isinstance(error, ModelUnavailable) or time.monotonic() + RETRY_WAIT_S > until:
            raise error
        time.sleep(RETRY_WAIT_S)


def body_of(model: str, texts: Sequence[str]) -> dict[str, Any]:
    """A request; floats, as not every server knows base64."""
    return {"model": model, "input": list(texts), "encoding_format": "float"}


def vectors_of(raw: bytes, *, rows: int, dimensions: int | None = None) -> FloatArray:
    """The unit rows (n, d) of an answer, in the order of the texts, whatever the server's. Raises ModelReplyError.

    >>> raw = b'{"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]}'
    >>> vectors_of(raw, rows=2).round(1).tolist() == np.array([[0.6, 0.8], [0.0, 1.0]], dtype=np.float32).tolist()
    True
    """
    try:
        data = orjson.loads(raw)["data"]
        ordered = sorted(data, key=lambda item: item["index"])
        if [item["index"] for item in ordered] != list(range(rows)):
            raise ModelReplyError(f"the embedding server gave {len(data)} vectors for {rows} texts")
        found = unit(np.array([_numbers(item["embedding"]) for item in ordered], dtype=np.float32))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ModelReplyError(f"the embedding server's answer cannot be used: {type(error).__name__} – {error}") from error
    if found.ndim != 2 or (dimensions is not None and found.shape[1] != dimensions):
        step = "the server has another model now: restart this service, which then changes to it"
        raise ModelReplyError(f"the embedding server's vectors have {found.shape[-1]} dimensions, not {dimensions}", next_step=step)
    return found


def _take(piece: bytes, raw: bytearray) -> None:
    """Add a piece to an answer. Raises ModelReplyError where that is too long: no more of it is read then."""
    raw.extend(piece)
    if len(raw) > MAX_REPLY_BYTES:
        raise ModelReplyError(f"the embedding server's answer is over {MAX_REPLY_BYTES} bytes")


def _numbers(embedding: Sequence[float] | str) -> FloatArray:
    if isinstance(embedding, str):
        return np.frombuffer(b64decode(embedding, validate=True), dtype="<f4").astype(np.float32)
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
        return np.array(embedding, dtype=np.float32)


def failure(model: str, status: int, raw: bytes, *, wait_s: float = 0.0) -> DgragError:
    """What a status other than 200 means: texts that the model cannot embed, a server that cannot answer now, or wrong settings."""
    said = error_text(raw)
    if status in NO_WAY_IN:
        step = "check DGRAG_MODEL_EMBEDDER_URL, DGRAG_MODEL_EMBEDDER (the model's name there) and the key"
        return ModelUnavailable(f"the embedding server has no {model!r} for us ({status}: {said})", next_step=step)
    if _passing(status) or status < HTTPStatus.BAD_REQUEST:
        step = "look at the embedding server's log"
        return ModelUnavailable(f"the embedding server cannot answer now ({status}: {said})", next_step=step, retry_after_s=wait_s)
    return ModelReplyError(f"the embedding server refused the request ({status}: {said})")


def _passing(status: int) -> bool:
    """Whether the same request may do better later."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _unreachable(error: httpx2.HTTPError, url: httpx2.URL) -> DgragError:
    if isinstance(error, httpx2.TimeoutException):
        return ModelTimeout(deadline_s=DEADLINE_S)
    place, reason = url.copy_with(query=None), str(error) or type(error).__name__
    return ModelUnavailable(
        f"no embedding server at {place} ({reason})",
        next_step="start it, or correct DGRAG_MODEL_EMBEDDER_URL",
    )
