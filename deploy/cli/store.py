"""``dgrag edge check``, ``backup``, ``restore`` and ``reembed``: the care of one edge's store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.progress import Progress

from deploy.cli import render
from deploy.cli.board import err, out
from deploy.cli.rest import DEFAULT_STATE, Force, Json, Store, StoreOf, require_free, store_of
from edge_node.database.backup import FILE, back_up
from edge_node.database.check import Damage, by_table, examine
from edge_node.database.commits import only_user
from edge_node.database.schema import Database
from edge_node.egress.ledger import read_faults
from edge_node.maintenance import accept_loss, require_empty
from edge_node.maintenance import reembed as reembed_store
from edge_node.maintenance import restore as restore_store
from shared.errors import NotFound
from shared.models.build import build_embedder
from shared.models.embedders import CheckedEmbedder
from shared.models.settings import ModelSettings

DAMAGED = 4
AcceptLoss = Annotated[bool, typer.Option("--accept-loss", help="Go on without the commits that are missing.")]
ForceStore = Annotated[bool, typer.Option("--force", help="Replace a store that is there; it is moved aside.")]


def check(edge: StoreOf = None, state: Store = DEFAULT_STATE, as_json: Json = False, accept: AcceptLoss = False) -> None:
    """Say what is damaged in a store, and what the edge's next start does about it. The edge must not run.

    Exit codes: 0 nothing is damaged; 4 damaged rows, which the next start mends, all but those of the egress ledger;
    5 it cannot be mended, restore a backup; 6 it is in use.
    """
    folder = store_of(state, edge)
    if accept:
        with _held(folder):
            accept_loss(folder)
        out().print("the missing commits are given up: what they held must be sent again; the cloud takes the summaries anew", markup=False)
    with _opened(folder) as database, database.write() as tx:
        damages = (*examine(tx), *(Damage("egress", f"{fault.seq}: {fault.what}", None, "none") for fault in read_faults(tx)))
    if as_json:
        typer.echo(orjson.dumps({"damages": [asdict(damage) for damage in damages]}).decode())
    elif damages:
        rows = [(damage.table, damage.key, damage.document_id or "-", damage.remedy) for damage in damages]
        out().print(render.table(("table", "row", "document", "what is done"), rows))
    else:
        out().print("nothing is damaged", markup=False)
    if damages:
        raise typer.Exit(DAMAGED)


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")],
    edge: StoreOf = None,
    state: Store = DEFAULT_STATE,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Copy a store, also while its edge runs, with all that was accepted before now.

    Exit codes: 0 done; 4 done, but the store has damaged rows and the copy too; 5 the store cannot be copied, it is damaged.
    """
    require_free(target, force=force)
    made = back_up(store_of(state, edge), target)
    if as_json:
        typer.echo(orjson.dumps({"file": str(target), "bytes": made.size, "damages": len(made.damages)}).decode())
    else:
        out().print(f"{target}: {made.size:,} bytes, checked", markup=False)
    if made.damages:
        err().print(f"the store has damaged rows, and so has the copy: {_counts(made.damages)}", markup=False)
        raise typer.Exit(DAMAGED)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    state: Store,
    edge: StoreOf = None,
    force: ForceStore = False,
) -> None:
    """Make a backup the store of an edge. The edge must not run; the cloud then takes its summaries anew."""
    folder = store_of(state, edge)
    with only_user(folder):
        if not force:
            require_empty(folder)
        aside = restore_store(file, folder)
    out().print(f"{folder / FILE} is restored from {file}", markup=False)
    if aside is not None:
        out().print(f"the former store is in {aside}: delete it when you no longer need it", markup=False)


def reembed(edge: StoreOf = None, state: Store = DEFAULT_STATE) -> None:
    """Make all vectors again with the embedding model that DGRAG_MODEL_* names. The edge must not run.

    Killed, it goes on where it was. Exit codes: 0 done, also when there was nothing to do; 6 the store is in use.
    """
    embedder = CheckedEmbedder(build_embedder(ModelSettings()))
    with _opened(store_of(state, edge)) as database, Progress(console=err(), transient=True) as bars:
        bar = bars.add_task("passages")
        made = asyncio.run(reembed_store(database, embedder, lambda done, total: bars.update(bar, completed=done, total=total)))
    out().print(f"{made} vectors made; those of the graph follow when the edge starts", markup=False)


@contextmanager
def _held(state: Path) -> Iterator[None]:
    if not (state / FILE).is_file():
        raise NotFound("store", str(state))
    with only_user(state):
        yield


@contextmanager
def _opened(state: Path) -> Iterator[Database]:
    with _held(state):
        database = Database(state / FILE)
        try:
            yield database
        finally:
            database.close()


def _counts(damages: tuple[Damage, ...]) -> str:
    return ", ".join(f"{count} in {table}" for table, count in by_table(damages).items())
