"""``dgrag up`` and ``dgrag down``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import httpx
import orjson
import typer

from deploy.cli import render
from deploy.cli.board import IndexBoard, SendBars, err, out
from deploy.cli.model import Bar
from deploy.cli.options import DEFAULT_STATE, Json, State
from deploy.cli.rest import client
from deploy.cli.sending import EdgeStatus, Refused, Sent, outcomes, send, wait_settled
from deploy.cli.sources import SourceFile, files_in, size
from deploy.cluster.errors import ClusterError
from deploy.cluster.launch import Plan, launch
from deploy.cluster.names import edge_ids
from deploy.cluster.services import CLOUD_PORT, EDGE_PORT, EdgeOptions
from deploy.cluster.state import ClusterState, StateDir
from deploy.cluster.supervisor import Supervisor, supervised, take_down

EXTRACTION_WORDS = {"nlp": 0.0, "model": 1.0}


def up(
    edges: Annotated[
        int | None, typer.Option(min=1, help="How many edges; default: one per --data, else those known here, else 1.")
    ] = None,
    data: Annotated[list[Path] | None, typer.Option(help="Documents of the next edge: a file or a folder. Repeat for more edges.")] = None,
    names: Annotated[str, typer.Option(help="Ids of the edges, with commas between them.")] = "",
    state: State = DEFAULT_STATE,
    detach: Annotated[bool, typer.Option("--detach", help="Leave the cluster running, and return.")] = False,
    as_json: Json = False,
    model: Annotated[str, typer.Option(help="standard, small, smoke, or the URL of an OpenAI-compatible server.")] = "standard",
    extraction: Annotated[str, typer.Option(help="nlp, model, or the share of passages that the model reads, 0 to 1.")] = "nlp",
    summaries: Annotated[str, typer.Option(help="extractive or model.")] = "extractive",
    cloud_port: Annotated[int, typer.Option(min=1, max=65535, help="First port to try for the cloud.")] = CLOUD_PORT,
    edge_port: Annotated[int, typer.Option(min=1, max=65535, help="First port to try for the edges.")] = EDGE_PORT,
) -> None:
    """Start a model server, a cloud and edges on this machine, index the documents, and say where everything answers."""
    directory, paths = StateDir(state), data or []
    files = [files_in([path]) for path in paths]
    ids = _ids(directory, edges, [name.strip() for name in names.split(",") if name.strip()], [path.resolve().stem for path in paths])
    options = EdgeOptions(extraction_share(extraction), _summaries(summaries))
    plan = Plan(tuple(ids), model=model, options=options, cloud_port=cloud_port, edge_port=edge_port)
    with supervised(directory, detached=detach) as supervisor, client() as http:
        bring_up(supervisor, plan, http)
        statuses, failed = fill(supervisor, dict(zip(ids, files, strict=False)), http)
        _report(supervisor.state, statuses, failed, as_json=as_json)
        if not detach:
            stay(supervisor)


def down(state: State = DEFAULT_STATE) -> None:
    """Stop exactly what this state directory started."""
    stopped = take_down(StateDir(state))
    if not stopped:
        out().print(f"nothing runs in {state.resolve()}", markup=False)
    for member in stopped:
        out().print(f"stopped {member.role} {member.name} ({member.url}, pid {member.mark.pid if member.mark else '-'})", markup=False)


def bring_up(supervisor: Supervisor, plan: Plan, http: httpx.Client) -> None:
    """Fetch what is missing, start everything, wait until it answers."""
    console = err()
    with Bar(quiet=not console.is_terminal) as fetched:
        launch(
            supervisor,
            plan,
            http,
            on_ready=lambda service: console.print(f"{service.name}: ready at {service.url}", markup=False),
            on_fetch=fetched,
        )


def fill(
    supervisor: Supervisor, files_by_edge: Mapping[str, Sequence[SourceFile]], http: httpx.Client
) -> tuple[dict[str, EdgeStatus], list[Sent | Refused]]:
    """Send each edge its documents and wait until all edges are settled; returns their statuses, and what failed."""
    urls = {member.name: member.url for member in supervisor.state.of("edge")}
    sent: dict[str, list[Sent | Refused]] = {}
    with SendBars(err()) as bars:
        for edge, files in files_by_edge.items():
            advance = partial(bars.advance, f"sending to {edge}", size(files))
            sent[edge] = list(send(http, urls[edge], files, (), advance))
            supervisor.check()
    with IndexBoard(err()) as board:
        statuses = wait_settled(http, urls.values(), board.show, supervisor.check)
    ended = [result for edge, results in sent.items() for result in settle(http, urls[edge], results)]
    return statuses, [result for result in ended if isinstance(result, Refused) or result.status == "parked"]


def settle(http: httpx.Client, url: str, results: Sequence[Sent | Refused]) -> list[Sent | Refused]:
    """The results with what became of each document that was taken."""
    sent = [result for result in results if isinstance(result, Sent)]
    return [*outcomes(http, url, sent), *(result for result in results if isinstance(result, Refused))]


def stay(supervisor: Supervisor) -> None:
    """Hold the foreground until a signal comes. Raises ClusterError when every process has ended by itself."""
    console = err()
    console.print("running; Ctrl-C stops everything", style="dim")
    supervisor.watch(lambda name, code: console.print(f"{name} ended with {code}; the others go on", style="yellow", markup=False))
    raise ClusterError("every process has ended", next_step=f"read {supervisor.directory.root / 'logs'}")


def addresses(state: ClusterState) -> dict[str, object]:
    """Where everything answers: the promise of ``dgrag up --json``."""
    return {
        "cloud": state.of("cloud")[0].url,
        "model": state.of("model")[0].url,
        "edges": [{"edge": member.name, "url": member.url} for member in state.of("edge")],
    }


def extraction_share(text: str) -> float:
    """The share of passages that the model reads (β of KET-RAG §4). Raises ClusterError unless it is a word or in [0, 1].

    >>> extraction_share("model"), extraction_share("0.25")
    (1.0, 0.25)
    """
    try:
        share = EXTRACTION_WORDS[text] if text in EXTRACTION_WORDS else float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise ClusterError(f"--extraction cannot be {text!r}", next_step="give nlp, model, or a share from 0 to 1")
    return share


def _summaries(text: str) -> str:
    if text not in {"extractive", "model"}:
        raise ClusterError(f"--summaries cannot be {text!r}", next_step="give extractive or model")
    return text


def _ids(directory: StateDir, edges: int | None, names: Sequence[str], stems: Sequence[str]) -> list[str]:
    """The edges' ids; without any word about them, the edges that have a store here start again."""
    if not names and not stems:
        names = directory.known_edges()[:edges]
    return edge_ids(edges or max(1, len(names), len(stems)), names=names, stems=stems)


def _report(state: ClusterState, statuses: Mapping[str, EdgeStatus], failed: Sequence[Sent | Refused], *, as_json: bool) -> None:
    if as_json:
        typer.echo(orjson.dumps(addresses(state)).decode())
    else:
        out().print(render.cluster([(member.name, member.url, "ready", statuses.get(member.url)) for member in state.members]))
    for part in render.failures(failed):
        err().print(part)
