"""``dgrag ask``: a question to an edge."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import httpx
import orjson
import typer
from pydantic import TypeAdapter

from deploy.cli import render
from deploy.cli.board import err, out
from deploy.cli.options import DEFAULT_STATE, Edge, Json, State
from deploy.cli.rest import body, client, edge_url
from deploy.cluster.state import StateDir
from shared.records import Answer

ANSWER_TIMEOUT = httpx.Timeout(600.0, connect=5.0)  # an edge has its own, shorter deadline


class Mode(StrEnum):
    """Who may answer."""

    auto = "auto"
    local = "local"
    cloud = "cloud"
    global_ = "global"


def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    edge: Edge = None,
    mode: Annotated[
        Mode, typer.Option(help="auto: the edge's gate decides; local: nothing leaves; cloud: ask all sites; global: a later release.")
    ] = Mode.auto,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Ask an edge (the first one, unless --edge names another)."""
    url = edge_url(StateDir(state), edge)
    with client() as http, err().status("thinking …"):
        reply = query(http, url, question, mode)
    if as_json:
        typer.echo(orjson.dumps(reply).decode())
    else:
        out().print(render.answer(as_answer(reply)))


def query(http: httpx.Client, url: str, question: str, mode: Mode) -> Any:
    """The Answer as it came, fields that we do not know included."""
    return body(http.post(f"{url}/v1/query", json={"question": question, "mode": mode.value}, timeout=ANSWER_TIMEOUT))


def as_answer(reply: Any) -> Answer:
    """The record of a reply."""
    return TypeAdapter(Answer).validate_python(reply)
