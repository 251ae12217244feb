"""``dgrag cloud``: the cloud by itself, and what an operator asks of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import typer

from cloud_server.database.opening import open_ring
from cloud_server.settings import CloudSettings
from deploy.cli import keys, move, render, services
from deploy.cli.board import err, out
from deploy.cli.rest import DEFAULT_STATE, Json, State, Url, become, client, cloud_url
from deploy.cluster.state import StateDir
from shared.client.errors import body
from shared.http.keyring import KeyRing
from shared.tls import is_loopback

COLUMNS = {  # of `edges`: what a person reads above each; the rest is in --json
    "edge": "edge", "online": "online", "last_seen": "seen", "synced": "synced", "summaries": "summaries", "held_back": "held back",
    "withheld": "withheld", "ledger": "ledger", "reliability": "useful", "quarantined": "set aside",
}  # fmt: skip
TIMES = ("last_seen", "synced")  # of the columns
app = typer.Typer(help="The cloud in the foreground, or questions to the one that runs here.", no_args_is_help=True)


def open_keys(state: Path) -> KeyRing:
    """The API keys of the cloud that the environment tells of: in the store that several clouds share, or in its folder."""
    return open_ring(state, CloudSettings(state_dir=state).store_url())


def _keys(ctx: typer.Context) -> None:
    ctx.obj = open_keys


app.add_typer(keys.app, name="key", callback=_keys)
app.command()(move.move)
services.add_faults(app, "cloud")


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
def edges(state: State = DEFAULT_STATE, url: Url = None, as_json: Json = False) -> None:
    """List the edges that the cloud knows."""
    with client() as http:
        reply = body(http.get(f"{cloud_url(StateDir(state), url)}/v1/edges"))
    if as_json:
        typer.echo(orjson.dumps(reply).decode())
    else:
        now = time.time()
        found = [[cell(column, row[column], now=now) for column in COLUMNS] for row in rows(reply, "edges")]
        out().print(render.lines({name: name == "set aside" for name in COLUMNS.values()}, found))
        for line in filter(None, map(render.withheld_line, rows(reply, "edges"))):
            out().print(line, style="yellow", markup=False)


@app.command()
def match(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    m: Annotated[int, typer.Option("-m", min=1, help="How many summaries.")] = 5,
    state: State = DEFAULT_STATE,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show which summaries, hence which edges, a question would reach."""
    with client() as http:
        reply = body(http.post(f"{cloud_url(StateDir(state), url)}/v1/match", json={"question": question, "m": m}))
    if as_json:
        typer.echo(orjson.dumps(reply).decode())
    else:
        columns = ("edge", "summary_id", "score")
        out().print(render.table(columns, [[cell(column, row[column]) for column in columns] for row in rows(reply, "matches")]))


@app.command()
def expel(edge: Annotated[str, typer.Argument(help="Id of the edge.")], state: State = DEFAULT_STATE, url: Url = None) -> None:
    """Shut an edge out and purge all that it has sent."""
    with client() as http:
        body(http.delete(f"{cloud_url(StateDir(state), url)}/v1/edges/{edge}"))
    out().print(f"expelled {edge}: its summaries are gone from the cloud", markup=False)


@app.command()
def readmit(edge: Annotated[str, typer.Argument(help="Id of the edge.")], state: State = DEFAULT_STATE, url: Url = None) -> None:
    """Let an expelled edge in again: on this machine it comes back by itself within five minutes, elsewhere it needs an invitation."""
    _post(f"{cloud_url(StateDir(state), url)}/v1/edges/{edge}/readmit")
    out().print(f"readmitted {edge}", markup=False)


@app.command()
def invite(
    edge: Annotated[str, typer.Argument(help="Id of the edge.")],
    ttl: Annotated[float, typer.Option(min=1, max=60, help="Minutes that the invitation holds.")] = 60.0,
    replace: Annotated[bool, typer.Option("--replace", help="The edge is known, and has lost its key.")] = False,
    state: State = DEFAULT_STATE,
    url: Url = None,
) -> None:
    """Let one edge in, once; prints the command that uses the invitation."""
    cloud = cloud_url(StateDir(state), url)
    invited = _post(f"{cloud}/v1/invites", {"edge": edge, "ttl_s": ttl * 60, "replace": replace})
    if is_loopback(httpx2.URL(cloud).host):
        err().print("this works on this machine only: for an edge elsewhere, give --url as that machine calls the cloud", markup=False)
    typer.echo(f"dgrag edge join --cloud {cloud} --token {invited['token']} --id {edge} --state .dgrag/edges/{edge}")


@app.command()
def invites(state: State = DEFAULT_STATE, url: Url = None, as_json: Json = False) -> None:
    """List the invitations that nobody has used yet, without their tokens."""
    with client() as http:
        reply = body(http.get(f"{cloud_url(StateDir(state), url)}/v1/invites"))
    if as_json:
        typer.echo(orjson.dumps(reply).decode())
    else:
        now = time.time()
        found = [
            [row["edge"], f"{max(1, round((row['expires'] - now) / 60))} min", cell("replace", row["replace"])]
            for row in rows(reply, "invites")
        ]
        out().print(render.lines({"edge": False, "holds for": False, "replaces its key": False}, found))


@app.command()
def withdraw(edge: Annotated[str, typer.Argument(help="Id of the edge.")], state: State = DEFAULT_STATE, url: Url = None) -> None:
    """End the invitations of one edge that nobody has used yet."""
    with client() as http:
        body(http.delete(f"{cloud_url(StateDir(state), url)}/v1/invites/{edge}"))
    out().print(f"withdrawn: no invitation of {edge} is open any more", markup=False)


@app.command()
def quarantine(
    edge: Annotated[str, typer.Argument(help="Id of the edge.")],
    reason: Annotated[str, typer.Option(help="Why, for the list of edges.")] = "set aside by an operator",
    state: State = DEFAULT_STATE,
    url: Url = None,
) -> None:
    """Set an edge aside: it keeps its line, but is not asked, and its summaries match nothing."""
    _post(f"{cloud_url(StateDir(state), url)}/v1/edges/{edge}/quarantine", {"reason": reason})
    out().print(f"{edge} is not asked until `dgrag cloud release {edge}`", markup=False)


@app.command()
def release(edge: Annotated[str, typer.Argument(help="Id of the edge.")], state: State = DEFAULT_STATE, url: Url = None) -> None:
    """End a quarantine."""
    _post(f"{cloud_url(StateDir(state), url)}/v1/edges/{edge}/release")
    out().print(f"released {edge}", markup=False)


def _post(url: str, content: dict[str, Any] | None = None) -> Any:
    with client() as http:
        return body(http.post(url, json=content) if content is not None else http.post(url))


def rows(reply: Any, name: str) -> list[dict[str, Any]]:
    """The list inside a reply, whether it stands alone or under its name."""
    found: list[dict[str, Any]] = reply[name] if isinstance(reply, dict) else reply
    return found


def cell(column: str, value: Any, *, now: float = 0.0) -> str:
    """A value for a person; ``now`` in seconds since the epoch.

    >>> cell("online", True), cell("score", 0.51234), cell("reliability", 0.9), cell("last_seen", 0), cell("last_seen", 40.0, now=100.0)
    ('yes', '0.512', '90 %', 'never', '1 min ago')
    """
    if column in TIMES:
        return ago(now - value) if value else "never"
    if column == "reliability":
        return f"{value:.0%}".replace("%", " %")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def ago(seconds: float) -> str:
    """How long ago, in the largest unit that fits.

    >>> ago(3.2), ago(7200.0), ago(200_000.0)
    ('3 s ago', '2 h ago', '2 d ago')
    """
    for unit, length in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{max(0.0, seconds):.0f} s ago"
