"""An answer that is told while it is written: the server-sent events of a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import httpx
import orjson
from httpx_sse import connect_sse

from deploy.cli.rest import RemoteError, body
from deploy.cluster.errors import ClusterError

TAIL_CHARS = 60  # of what is written so far


def heard(http: httpx.Client, url: str, asked: Mapping[str, Any], tell: Callable[[str], None], *, timeout: httpx.Timeout) -> Any:
    """The Answer that an edge's stream ends with; ``tell`` hears, in words, what goes on until then.

    Raises RemoteError where the edge says no, before the stream or in it, and ClusterError where the stream ends without an answer.
    """
    text = ""
    with connect_sse(http, "POST", f"{url}/v1/query", json={**asked, "stream": True}, timeout=timeout) as source:
        if not source.response.is_success:
            source.response.read()
            return body(source.response)
        for event in source.iter_sse():
            data = orjson.loads(event.data)
            match event.event:
                case "answer":
                    return data
                case "error":
                    raise RemoteError(data["detail"], status=source.response.status_code, code=data["code"], next_step="")
                case "text":
                    text += data
                    tell(f"writing: {_tail(text)}")
                case "void":
                    text = ""
                    tell("beginning anew")
                case "step":
                    tell(f"{data['step']}: done")
    raise ClusterError(f"{url} ended its answer half-way", next_step="ask again, and see the edge's log")


def _tail(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TAIL_CHARS else f"… {line[-TAIL_CHARS:].partition(' ')[2]}"
