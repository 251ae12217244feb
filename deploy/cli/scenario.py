"""``dgrag scenario FILE``: a cluster over links, faults and questions from a file, and whether all went as expected."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import httpx2
import orjson
import typer

from deploy.cli import render
from deploy.cli.board import err, out
from deploy.cli.rest import Json, client
from deploy.cli.sending import listing
from deploy.cli.up import bring_up
from deploy.cluster.errors import ClusterError
from deploy.cluster.launch import Plan
from deploy.cluster.lifecycle import POLL_S, answers, supervised
from deploy.cluster.local import ByProcess
from deploy.cluster.names import Ports
from deploy.cluster.processes import Mark, birth, spawn, stop
from deploy.cluster.runtimes import Fault, Runtime
from deploy.cluster.services import CLOUD_PORT, EDGE_PORT, MODEL_PORT, EdgeOptions
from deploy.cluster.state import StateDir
from deploy.lab.network import Linked
from deploy.lab.no_model import NO_MODEL
from deploy.lab.play import Played, Player, Stage
from deploy.lab.scenario import Scenario, read
from deploy.lab.story import EventOutcome, mixed, transfer_rows
from shared.http.open_mode import CALLER
from shared.plural import counted

COLUMNS = ("transfer", "n", "bytes p50", "bytes p95", "ms p50", "ms p95")


def scenario(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="As those in deploy/scenarios.")],
    link: Annotated[str | None, typer.Option(help="Links instead of the file's: rate=50mbit delay=15ms loss=1% congestion=reno.")] = None,
    model: Annotated[str | None, typer.Option(help="A model instead of the file's: a name, a URL, or none.")] = None,
    state: Annotated[Path | None, typer.Option("--state", help="Folder to use; default: a temporary one.")] = None,
    cloud_port: Annotated[int, typer.Option(min=1, max=65535, help="First port to try for the cloud.")] = CLOUD_PORT,
    edge_port: Annotated[int, typer.Option(min=1, max=65535, help="First port to try for the edges.")] = EDGE_PORT,
    as_json: Json = False,
) -> None:
    """Play a scenario on a cluster of its own, over links that it shapes, cuts and heals. It takes root on Linux.

    Ends with 1 where something was not as the file expects, or a document that was acknowledged is not there.
    """
    given = read(file.read_text(encoding="utf-8"))
    asked = given.model_copy(update={name: value for name, value in {"link": link, "model": model}.items() if value is not None})
    with _folder(state) as folder, supervised(ByProcess(StateDir(folder), detached=False), detached=False) as runtime, client() as http:
        root = runtime.directory.root
        with _model(asked.model, runtime.directory) as url:
            names = tuple(site.name for site in asked.edge)
            options = EdgeOptions(share="full")  # its documents are the scenario's own
            places = Linked(root, asked.link)
            plan = Plan(names, model=url, options=options, cloud_port=cloud_port, edge_port=edge_port, places=places)
            files = {site.name: listing([file.parent / site.data]) for site in asked.edge}
            _, failed = bring_up(runtime, plan, files, http)
            if failed:
                raise ClusterError(f"{counted(len(failed), 'document')} not taken: {failed[0].name}", next_step="mend the scenario's data")
            played = asyncio.run(_played(asked, runtime, file.parent, quiet=as_json))
    faults = faults_of(played)
    if as_json:
        typer.echo(orjson.dumps(as_body(asked, played, faults)).decode())
    else:
        _report(played, faults)
    if faults:
        raise typer.Exit(1)


async def _played(asked: Scenario, runtime: Runtime, base: Path, *, quiet: bool) -> Played:
    members = {member.name: member for member in runtime.state.members}
    edges = {site.name: members[site.name].url for site in asked.edge}

    def inflict(fault: Fault, name: str) -> None:
        runtime.inflict(fault, next(member for member in runtime.state.members if member.name == name))

    def tell(told: EventOutcome) -> None:
        (err() if quiet else out()).print(told.line(), markup=False, soft_wrap=True)

    stage = Stage(runtime.directory.root, members["cloud"].url, edges, inflict)
    async with httpx2.AsyncClient(headers=CALLER, trust_env=False, timeout=30.0) as http:
        return await Player(asked, stage, http, base, tell).play()


def faults_of(played: Played) -> list[str]:
    """All that was not as expected."""
    faults = [f"{told.event.do} {told.event.edge} at {told.began_s:.1f} s: {told.fault}" for told in played.told if told.fault]
    faults += [f"{name} was acknowledged and is not indexed" for name in played.lost]
    for edge, looks in played.looks.items():
        faults += [f"the cloud held {seen.cloud} of {edge}, which it never was" for seen in mixed(looks, played.in_step.get(edge, ()))]
    return faults


def as_body(asked: Scenario, played: Played, faults: Sequence[str]) -> dict[str, Any]:
    """The promise of ``dgrag scenario --json``."""
    rows = ("began_s", "seconds", "said", "fault")
    events = [{"do": told.event.do, "edge": told.event.edge, **{name: getattr(told, name) for name in rows}} for told in played.told]
    hops = [{"transfer": name, **asdict(hop)} for told in played.told for name, hop in told.transfers]
    documents = {"acknowledged": len(played.acknowledged), "lost": played.lost}
    table = transfer_rows(played.told)
    head = {"about": asked.about, "link": asked.link, "faults": faults}
    return {**head, "events": events, "documents": documents, "transfers": table, "hops": hops}


def _report(played: Played, faults: Sequence[str]) -> None:
    if rows := transfer_rows(played.told):
        out().print(render.table(COLUMNS, [[str(cell) for cell in row.values()] for row in rows]))
    if played.acknowledged:
        out().print(f"{counted(len(played.acknowledged), 'document')} acknowledged, {len(played.lost)} of them lost")
    out().print("all as expected" if not faults else f"{len(faults)} not as expected", style="green" if not faults else "red")


@contextmanager
def _folder(state: Path | None) -> Iterator[Path]:
    if state:
        yield state
        return
    with TemporaryDirectory(prefix="dgrag-scenario-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def _model(model: str, directory: StateDir) -> Iterator[str]:
    """What ``Plan`` calls the model; for "none" the URL of a process that stands in for one while the block runs."""
    if model != NO_MODEL:
        yield model
        return
    port = Ports().take(MODEL_PORT)
    child = spawn(("-m", "deploy.lab.no_model", str(port)), {}, directory.log("no-model"), outlive_us=False)
    try:
        url = f"http://127.0.0.1:{port}/v1"
        with client() as http:
            while not answers(http, f"{url}/models"):
                if child.poll() is not None:
                    raise ClusterError("what stands in for a model does not start", next_step=f"read {directory.log('no-model')}")
                time.sleep(POLL_S)
        yield url
    finally:
        stop([Mark(child.pid, birth(child.pid) or "")])
        child.wait()
