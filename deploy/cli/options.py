"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deploy.cli.rest import enter
from deploy.cluster.state import StateDir


def _entered(state: Path) -> Path:
    enter(StateDir(state))
    return state


State = Annotated[Path, typer.Option("--state", help="Folder of the local cluster.", show_default=True, callback=_entered)]
Json = Annotated[bool, typer.Option("--json", help="One JSON value on standard output, for scripts.")]
Edge = Annotated[str | None, typer.Option("--edge", help="Id of an edge of the cluster, or the URL of any edge.")]
Url = Annotated[str | None, typer.Option("--url", help="URL of the cloud; without it, the one of the local cluster.")]
DEFAULT_STATE = Path(".dgrag")
