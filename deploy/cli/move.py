"""``dgrag cloud move``: from one machine's files into a store that several clouds share."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import orjson
import typer

from cloud_server.database.opening import open_shared
from cloud_server.moving import move as move_store
from cloud_server.settings import CloudSettings
from deploy.cli import render
from deploy.cli.board import err, out
from deploy.cli.rest import Json
from deploy.cluster.errors import ClusterError

AFTERWARDS = (
    "start each cloud with DGRAG_CLOUD_DATABASE_URL set and with this folder's identity/cloud.key at the same place of its own folder; "
    "never start one on these files again: it would know nothing of what comes from now on"
)


def move(
    state: Annotated[Path, typer.Option("--state", help="Folder of the cloud's store, with the file cloud.db.")],
    to: Annotated[str, typer.Option(help="postgresql://…; without, DGRAG_CLOUD_DATABASE_URL, which no other user can see.")] = "",
    as_json: Json = False,
) -> None:
    """Move all that a cloud holds into an empty store in PostgreSQL, once, while the cloud does not run; its files stay."""
    url = to or CloudSettings(state_dir=state).store_url()
    if not url:
        raise ClusterError("nothing says where to", next_step="give --to postgresql://…, or set DGRAG_CLOUD_DATABASE_URL")
    with closing(open_shared(url)) as database:
        moved = move_store(state, database)
    if as_json:
        typer.echo(orjson.dumps(moved).decode())
    else:
        out().print(render.table(("table", "rows"), [(name, f"{count:,}") for name, count in moved.items()]))
        err().print(AFTERWARDS, markup=False, soft_wrap=True)
