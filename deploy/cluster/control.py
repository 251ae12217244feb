"""The control socket of running links, ``STATE/wan.sock``: one JSON line there, one back. Only its user may use it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import TypeAdapter, ValidationError

from deploy.cluster.errors import ClusterError

SOCKET = "wan.sock"
PATIENCE_S = 10.0
MOST_BYTES = 1 << 26

Verb = Literal["set", "cut", "heal", "stats", "hops"]
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Command:
    """One verb for an edge's link, or for "all". ``words``: a shape, for "set". ``since``: seconds of the monotonic clock, for "hops"."""

    do: Verb
    edge: str = "all"
    words: tuple[str, ...] = ()
    since: float = 0.0


async def serve(folder: Path, obey: Callable[[Command], Rows]) -> asyncio.Server:
    """Answer commands at the folder's socket, which a former process may have left behind. ``obey`` may raise ClusterError."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(_reply(await reader.readline(), obey) + b"\n")
            await writer.drain()
        except (OSError, ValueError):
            pass  # the asker went away, or says no line: nobody is there to be told
        finally:
            writer.close()

    listening = socket.socket(socket.AF_UNIX)
    (folder / SOCKET).unlink(missing_ok=True)
    with _reachable(folder) as path:
        listening.bind(path)
    (folder / SOCKET).chmod(0o600)
    return await asyncio.start_unix_server(answer, sock=listening)


def _reply(line: bytes, obey: Callable[[Command], Rows]) -> bytes:
    try:
        return orjson.dumps({"rows": obey(TypeAdapter(Command).validate_json(line))})
    except ValidationError:
        return orjson.dumps({"error": "the links do not understand this", "next_step": "is this the same release?"})
    except ClusterError as error:
        return orjson.dumps({"error": error.message, "next_step": error.next_step})


def told(folder: Path, command: Command) -> Rows:
    """Tell the links of the cluster in a state folder; returns what they answer. Raises ClusterError, in their words where they refuse."""
    try:
        with socket.socket(socket.AF_UNIX) as asking, _reachable(folder) as path:
            asking.settimeout(PATIENCE_S)
            asking.connect(path)
            asking.sendall(orjson.dumps(asdict(command)) + b"\n")
            reply = orjson.loads(_all(asking))
    except OSError as error:
        step = "start it with `dgrag up --runtime netns`"
        raise ClusterError(f"the cluster in {folder} has no links: {error.strerror or 'no answer'}", next_step=step) from error
    except ValueError as error:
        raise ClusterError(f"the links of {folder} gave no answer", next_step=f"read {folder / 'logs' / 'wan.log'}") from error
    if "error" in reply:
        raise ClusterError(str(reply["error"]), next_step=str(reply["next_step"]))
    rows: Rows = reply["rows"]
    return rows


def _all(asking: socket.socket) -> bytes:
    said = bytearray()
    while len(said) < MOST_BYTES and (piece := asking.recv(1 << 16)):
        said += piece
    return bytes(said)


@contextmanager
def _reachable(folder: Path) -> Iterator[str]:
    """The socket's path by way of a descriptor: a path of its own may be longer than the 107 bytes that a socket's may have."""
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)
