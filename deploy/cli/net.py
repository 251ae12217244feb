"""``dgrag net``: the links of a cluster that was started with ``--runtime netns``, while it runs."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
import typer

from deploy.cli import render
from deploy.cli.board import out
from deploy.cli.rest import DEFAULT_STATE, Json, State
from deploy.cluster.control import Command, Rows, told
from deploy.cluster.state import StateDir

COLUMNS = ("edge", "link", "up", "down", "lost", "no room", "cut off")
EdgeOrAll = Annotated[str, typer.Argument(help="Id of an edge, or all.")]
app = typer.Typer(no_args_is_help=True)


@app.command("set")
def shape(
    edge: EdgeOrAll,
    words: Annotated[list[str], typer.Argument(help="What changes: rate=5mbit delay=40ms loss=1% queue=100ms.")],
    state: State = DEFAULT_STATE,
) -> None:
    """Change a link while it is used; what no word says stays as it is."""
    _done(told(StateDir(state).root, Command("set", edge, tuple(words))))


@app.command()
def cut(edge: EdgeOrAll, state: State = DEFAULT_STATE) -> None:
    """Cut the link between an edge and the cloud: packets vanish, nothing is closed."""
    _done(told(StateDir(state).root, Command("cut", edge)))


@app.command()
def heal(edge: EdgeOrAll, state: State = DEFAULT_STATE) -> None:
    """End a cut: connections go on where they were, once TCP tries again."""
    _done(told(StateDir(state).root, Command("heal", edge)))


@app.command()
def stats(state: State = DEFAULT_STATE, as_json: Json = False) -> None:
    """Show each link: bytes with all headers of IP that passed up (to the cloud) and down, and packets that did not."""
    rows = told(StateDir(state).root, Command("stats"))
    if as_json:
        typer.echo(orjson.dumps({"links": rows}).decode())
    else:
        out().print(render.table(COLUMNS, [cells(row) for row in rows]))


def cells(row: dict[str, Any]) -> list[str]:
    """A link's row for a person.

    >>> way = {"bytes": 1200, "packets": 3, "lost": 1, "full": 0, "cut": 0}
    >>> cells({"edge": "ward", "cut": True, "shape": "rate=5mbit", "up": way, "down": way})
    ['ward', 'cut', '1200', '1200', '2', '0', '0']
    """
    up, down = row["up"], row["down"]
    dropped = [str(up[name] + down[name]) for name in ("lost", "full", "cut")]
    return [row["edge"], "cut" if row["cut"] else row["shape"], str(up["bytes"]), str(down["bytes"]), *dropped]


def _done(rows: Rows) -> None:
    for row in rows:
        out().print(f"{row['edge']}: {'cut' if row['cut'] else row['shape']}", markup=False)
