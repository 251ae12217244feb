"""``dgrag cloud``: the cloud by itself, and what an operator asks of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from deploy.cli import render
from deploy.cli.board import out
from deploy.cli.edge import become
from deploy.cli.options import DEFAULT_STATE, Json, State
from deploy.cli.rest import body, client, cloud_url
from deploy.cluster.state import StateDir

app = typer.Typer(help="The cloud in the foreground, or questions to the one that runs here.", no_args_is_help=True)


@app.command()
def run(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    state: Annotated[Path | None, typer.Option("--state", help="Folder of the cloud's store.")] = None,
) -> None:
    """Run the cloud here. What no option gives comes from DGRAG_CLOUD_* and DGRAG_MODEL_*."""
    given = {"HOST": host, "PORT": port, "STATE_DIR": state}
    become("cloud_server", {f"DGRAG_CLOUD_{key}": str(value) for key, value in given.items() if value is not None})


@app.command()
def edges(state: State = DEFAULT_STATE, as_json: Json = False) -> None:
    """List the edges that the cloud knows."""
    with client() as http:
        reply = body(http.get(f"{cloud_url(StateDir(state))}/v1/edges"))
    _print(reply, rows(reply, "edges"), ("edge", "online", "last_seen", "summaries", "version"), as_json=as_json)


@app.command()
def match(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    m: Annotated[int, typer.Option("-m", min=1, help="How many summaries.")] = 5,
    state: State = DEFAULT_STATE,
    as_json: Json = False,
) -> None:
    """Show which summaries, hence which edges, a question would reach."""
    with client() as http:
        reply = body(http.post(f"{cloud_url(StateDir(state))}/v1/match", json={"question": question, "m": m}))
    _print(reply, rows(reply, "matches"), ("edge", "summary_id", "score"), as_json=as_json)


@app.command()
def expel(edge: Annotated[str, typer.Argument(help="Id of the edge.")], state: State = DEFAULT_STATE) -> None:
    """Shut an edge out and purge all that it has sent."""
    with client() as http:
        body(http.delete(f"{cloud_url(StateDir(state))}/v1/edges/{edge}"))
    out().print(f"expelled {edge}: its summaries are gone from the cloud", markup=False)


@app.command()
def readmit(edge: Annotated[str, typer.Argument(help="Id of the edge.")], state: State = DEFAULT_STATE) -> None:
    """Let an expelled edge in again; it comes back by itself within five minutes."""
    with client() as http:
        body(http.post(f"{cloud_url(StateDir(state))}/v1/edges/{edge}/readmit"))
    out().print(f"readmitted {edge}", markup=False)


def rows(reply: Any, name: str) -> list[dict[str, Any]]:
    """The list inside a reply, whether it stands alone or under its name."""
    found: list[dict[str, Any]] = reply[name] if isinstance(reply, dict) else reply
    return found


def cell(column: str, value: Any) -> str:
    """A value for a person.

    >>> cell("online", True), cell("score", 0.51234), cell("last_seen", 0)
    ('yes', '0.512', 'never')
    """
    if column == "last_seen":
        return datetime.fromtimestamp(value, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if value else "never"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _print(reply: Any, found: list[dict[str, Any]], columns: tuple[str, ...], *, as_json: bool) -> None:
    if as_json:
        typer.echo(orjson.dumps(reply).decode())
    else:
        out().print(render.table(columns, [[cell(column, row[column]) for column in columns] for row in found]))
