"""The one client of the model server, for every system alike: stdlib only, one kept connection a thread, its CPU time counted apart."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_S = 600.0


class ModelServerError(Exception):
    """The model server refused a request, or is gone."""


class Wire:
    """Posts JSON and waits for the reply, blocking: what the caller's event loop could do meanwhile is not measured, CPU time is."""

    def __init__(self, url: str) -> None:
        """url: as ``http://127.0.0.1:8000``."""
        address = urlsplit(url)
        self._host, self._port = address.hostname or "", address.port
        self._kept = threading.local()
        self.cpu_s = 0.0

    def chat(self, messages: Sequence[Mapping[str, str]]) -> tuple[str, int, int]:
        """(reply, prompt tokens, completion tokens)."""
        reply = self.post("/v1/chat/completions", {"model": "stand-in", "messages": list(messages)})
        usage = reply["usage"]
        return reply["choices"][0]["message"]["content"], usage["prompt_tokens"], usage["completion_tokens"]

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """One vector a text: little-endian float32."""
        reply = self.post("/v1/embeddings", {"model": "stand-in", "input": list(texts), "encoding_format": "base64"})
        began = time.thread_time()
        rows = [base64.b64decode(row["embedding"]) for row in reply["data"]]
        self.cpu_s += time.thread_time() - began
        return rows

    def said(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """The shared extraction of each text: ``entities`` and ``relations`` as lists of the fields of ``stand_ins.Said``."""
        found: list[dict[str, Any]] = self.post("/v1/said", {"texts": list(texts)})["said"]
        return found

    def counts(self) -> dict[str, Any]:
        """What the server was asked since it started."""
        return self.post("/v1/counts", {})

    def close(self) -> None:
        """Close this thread's connection."""
        if connection := getattr(self._kept, "connection", None):
            connection.close()

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The reply to one request. Raises ModelServerError."""
        began = time.thread_time()
        try:
            status, raw = self._send(path, json.dumps(body).encode())
        except (OSError, HTTPException) as error:
            raise ModelServerError(f"the model server of this run is gone ({type(error).__name__}); start the run again") from error
        finally:
            self.cpu_s += time.thread_time() - began
        if status != 200:
            raise ModelServerError(f"the model server answered {path} with {status}: {raw[:200].decode(errors='replace')}")
        began = time.thread_time()
        reply: dict[str, Any] = json.loads(raw)
        self.cpu_s += time.thread_time() - began
        return reply

    def _send(self, path: str, body: bytes) -> tuple[int, bytes]:
        connection: HTTPConnection | None = getattr(self._kept, "connection", None)
        if connection is None:
            connection = self._kept.connection = HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()
