"""``dgrag edge key`` and ``dgrag cloud key``: API keys of a service's users, in its state folder; the service may be running."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import orjson
import typer

from deploy.cli import render
from deploy.cli.board import err, out
from deploy.cli.rest import Json
from deploy.cluster.errors import ClusterError
from shared.http.keyring import FIRST, ApiKey, KeyRing

app = typer.Typer(help="API keys of the users of this service; each change counts from the next request on.", no_args_is_help=True)
Folder = Annotated[Path, typer.Option("--state", help="Folder of the service's store.")]
COLUMNS = {"id": False, "name": True, "role": False, "created": False, "expires": False, "revoked": False}  # in UTC


@app.command()
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    state: Folder,
    role: Annotated[
        str,
        typer.Option(help="read; write: also documents; admin: also policy, edges and audit; metrics: only those."),
    ] = "read",
    days: Annotated[float | None, typer.Option(min=0.01, help="Days after which it expires; without: never.")] = None,
) -> None:
    """Make a key, and print it once: only its hash is kept. A service that other machines reach has to have one before its first start."""
    if not state.exists():
        state.mkdir(parents=True, mode=0o700)
        err().print(f"made {state} for a service that has not run yet", markup=False, soft_wrap=True)
    with _ring(ctx, state) as ring:
        is_first = ring.is_empty()
        token = ring.add(name, role, now=time.time(), days=days)
    typer.echo(token)
    err().print(
        f"this is the only time that the key of {name} is shown; `dgrag` takes it from DGRAG_API_KEY, other programs send it as "
        "`Authorization: Bearer …`",
        markup=False,
        soft_wrap=True,
    )
    if is_first:
        err().print(FIRST, markup=False, soft_wrap=True)


@app.command("list")
def list_keys(ctx: typer.Context, state: Folder, as_json: Json = False) -> None:
    """List the keys, without their secrets. Times are in UTC."""
    with _ring(ctx, state) as ring:
        keys = ring.list()
    if as_json:
        typer.echo(orjson.dumps([dataclasses.asdict(key) for key in keys]).decode())
    else:
        out().print(render.lines(COLUMNS, [_cells(key) for key in keys]))


@app.command()
def revoke(ctx: typer.Context, key: Annotated[str, typer.Argument(help="Id or name of the key.")], state: Folder) -> None:
    """End a key at once."""
    with _ring(ctx, state) as ring:
        ended = ring.revoke(key, now=time.time())
    out().print(f"revoked {ended.name} ({ended.key_id})", markup=False)


@contextmanager
def _ring(ctx: typer.Context, state: Path) -> Iterator[KeyRing]:
    """The keys of the service whose group of verbs this is; a group whose keys may be elsewhere says so in ``ctx.obj``."""
    if not state.is_dir():
        raise ClusterError(f"there is no folder {state}", next_step="name the state folder of an edge or of the cloud with --state")
    opened: Callable[[Path], KeyRing] = ctx.obj or KeyRing
    ring = opened(state)
    try:
        yield ring
    finally:
        ring.close()


def _cells(key: ApiKey) -> list[str]:
    return [key.key_id, key.name, key.role, *(_day(at) for at in (key.created, key.expires, key.revoked))]


def _day(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, tz=UTC).strftime("%Y-%m-%d %H:%M")
