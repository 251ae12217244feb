"""``dgrag edge``: one edge by itself, and the edges of the local cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson
import typer

from deploy.cli import documents, keys, membership, render, services, store
from deploy.cli.board import out
from deploy.cli.rest import DEFAULT_STATE, Json, State, become, running_state
from deploy.cluster.state import StateDir

app = typer.Typer()


@app.command()
def run(
    name: Annotated[str | None, typer.Option("--id", help="The edge's id.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    state: Annotated[Path | None, typer.Option("--state", help="Folder of the edge's store.")] = None,
    cloud: Annotated[str | None, typer.Option(help="URL of the cloud; without one the edge answers alone.")] = None,
) -> None:
    """Run one edge here. What no option gives comes from DGRAG_EDGE_* and DGRAG_MODEL_*."""
    given = {"ID": name, "HOST": host, "PORT": port, "STATE_DIR": state, "CLOUD_URL": cloud}
    become("edge_node", {f"DGRAG_EDGE_{key}": str(value) for key, value in given.items() if value is not None})


for verb in (membership.join, membership.rotate, membership.identity, store.check, store.backup, store.restore, store.reembed):
    app.command()(verb)
app.command()(documents.reread)
app.add_typer(keys.app, name="key")
services.add_faults(app, "edge")


@app.command("list")
def list_edges(state: State = DEFAULT_STATE, as_json: Json = False) -> None:
    """List the edges of the local cluster."""
    edges = running_state(StateDir(state)).of("edge")
    if as_json:
        typer.echo(orjson.dumps([{"edge": member.name, "url": member.url} for member in edges]).decode())
    else:
        out().print(render.table(("edge", "url"), [(member.name, member.url) for member in edges]))
