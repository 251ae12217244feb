"""``dgrag up`` and ``dgrag down``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import httpx2
import orjson
import typer

from deploy.cli import render
from deploy.cli.board import IndexBoard, SendBars, err, out
from deploy.cli.first_share import share_lines, share_of_new
from deploy.cli.model import Bar
from deploy.cli.rest import DEFAULT_STATE, Json, State, client, enter
from deploy.cli.sending import EdgeStatus, Listing, Refused, SentDocument, listing, outcomes, send, size, wait_settled
from deploy.cluster.docker import ByDocker
from deploy.cluster.errors import ClusterError
from deploy.cluster.launch import Here, Places, Plan
from deploy.cluster.lifecycle import AskedByDown, require_ours, safe_mode, supervised, take_down, wait_ready
from deploy.cluster.lifecycle import purge as delete
from deploy.cluster.local import ByProcess
from deploy.cluster.names import MOST_CLOUDS, edge_ids
from deploy.cluster.runtimes import Runtime
from deploy.cluster.services import CLOUD_PORT, EDGE_PORT, EdgeOptions, Service, Summaries
from deploy.cluster.state import ClusterState, Member, StateDir
from deploy.lab.network import Linked
from edge_node.records import Share
from shared.ports import SystemClock

RUNTIMES = ("process", "netns", "docker")
CONSOLES = "console: open a site's address, or the cloud's, in a browser"
WEAK = ("small", "smoke")  # models that miss expectations though all works
EXTRACTION_WORDS = {"nlp": 0.0, "model": 1.0}

FirstShare = Annotated[
    Share | None,
    typer.Option(
        envvar="DGRAG_EDGE_SHARE",
        help="What may leave of documents without a label, at edges that are new. Without it you are asked; without a terminal: summary.",
    ),
]


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
    extraction: Annotated[
        str | None, typer.Option(help="nlp (the default), model, or the share of passages that the model reads, 0 to 1.")
    ] = None,
    summaries: Annotated[str | None, typer.Option(help="extractive (the default) or model.")] = None,
    share: FirstShare = None,
    cloud_port: Annotated[int, typer.Option(min=1, max=65535, help="First port to try for the cloud.")] = CLOUD_PORT,
    edge_port: Annotated[int, typer.Option(min=1, max=65535, help="First port to try for edges that are new.")] = EDGE_PORT,
    runtime: Annotated[str, typer.Option(help="process; netns: with links between (Linux, root); docker: containers.")] = "process",
    clouds: Annotated[
        int, typer.Option(min=1, max=MOST_CLOUDS, help="How many clouds; more than one share a PostgreSQL that is started with them.")
    ] = 1,
    link: Annotated[str, typer.Option(help='The links of --runtime netns, as "rate=50mbit delay=15ms loss=0%".')] = "",
) -> None:
    """Start a model server, a cloud and edges on this machine, index the documents, and say where everything answers."""
    directory, paths = StateDir(state), data or []
    files = [listing([path]) for path in paths]
    chosen = ByDocker(directory, _tell) if runtime == "docker" else ByProcess(directory, detached=detach)
    ids = _ids(chosen, edges, [name.strip() for name in names.split(",") if name.strip()], [path.resolve().stem for path in paths])
    options = _options(extraction, summaries)
    places = _places(directory, runtime, link)
    if clouds > 1 and runtime != "process":
        raise ClusterError(f"--clouds {clouds} is for --runtime process", next_step="with containers: docker compose --profile scale up")
    plan = Plan(tuple(ids), model=model, options=options, cloud_port=cloud_port, edge_port=edge_port, places=places, clouds=clouds)
    with supervised(chosen, detached=detach) as running, client() as http:
        plan = replace(plan, options=replace(options, share=share or _share(running, ids, quiet=as_json)))
        statuses, failed = bring_up(running, plan, dict(zip(ids, files, strict=False)), http)
        _report(running, statuses, failed, share, as_json=as_json)
        _tell_resting([name for name in chosen.known_edges() if name not in ids])
        if not detach:
            stay(running)


def _share(runtime: Runtime, ids: Sequence[str], *, quiet: bool) -> Share | None:
    """What new edges shall share; None where all have a store, and so a policy."""
    known = runtime.known_edges()
    new = [name for name in ids if name not in known]
    return share_of_new(new, quiet=quiet) if new else None


def _options(extraction: str | None, summaries: str | None) -> EdgeOptions:
    """What was chosen for all edges. Raises ClusterError."""
    share = None if extraction is None else extraction_share(extraction)
    return EdgeOptions(share, None if summaries is None else _summaries(summaries))


def _tell_resting(names: Sequence[str]) -> None:
    if names:
        _tell(f"down: {', '.join(names)}; `dgrag up` without --data and --names starts all")


def _tell(news: str) -> None:
    err().print(news, style="dim", markup=False)


def _places(directory: StateDir, runtime: str, link: str) -> Places:
    """Where the processes stand. Raises ClusterError for words that do not go together."""
    if runtime not in RUNTIMES:
        raise ClusterError(f"--runtime cannot be {runtime!r}", next_step=f"give {', '.join(RUNTIMES)}")
    if link and runtime != "netns":
        raise ClusterError("--link shapes the links of --runtime netns", next_step="add --runtime netns, or leave out --link")
    return Linked(directory.root, link) if runtime == "netns" else Here()


def down(
    state: State = DEFAULT_STATE,
    as_json: Json = False,
    purge: Annotated[bool, typer.Option("--purge", help="Delete what it has kept as well: documents, keys, policies, logs.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --purge: do not ask first.")] = False,
) -> None:
    """Stop exactly what this state directory started; documents stay, unless --purge deletes them."""
    directory = StateDir(state)
    if purge:
        require_ours(directory.root)
        if not yes:
            _confirm(f"delete {directory.root}: the documents, keys, policies and logs of cloud and edges?")
    stopped = take_down(directory)
    if purge:
        delete(directory)
    if as_json:
        typer.echo(orjson.dumps({"stopped": [_stopped(member) for member in stopped], "purged": purge}).decode())
        return
    if not stopped:
        out().print(f"nothing runs in {directory.root}", markup=False)
    for member in stopped:
        where = ", ".join(filter(None, (member.url, f"pid {member.mark.pid}" if member.mark else "")))
        named = member.role if member.name == member.role else f"{member.role} {member.name}"
        out().print(f"stopped {named} ({where})", markup=False)
    if purge:
        out().print(f"deleted {directory.root}", markup=False)


def _confirm(question: str) -> None:
    """Raises ClusterError where nobody says yes."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False  # nobody is there
    if not agreed:
        raise ClusterError("nothing was stopped or deleted", next_step="say y, or give --yes where nobody can be asked")


def _stopped(member: Member) -> dict[str, Any]:
    return {"role": member.role, "name": member.name, "url": member.url, "pid": member.mark.pid if member.mark else None}


def bring_up(
    runtime: Runtime, plan: Plan, files_by_edge: Mapping[str, Listing], http: httpx2.Client
) -> tuple[dict[str, EdgeStatus], list[SentDocument | Refused]]:
    """Start everything, send each edge its documents as soon as it answers, and wait until all edges are settled.

    Returns the edges' statuses, by URL, and what failed.
    """
    console = err()
    if plan.model in WEAK:
        said = f"the {plan.model} model is for trying things out: next to no answer of its own passes the gate; --model standard answers"
        console.print(said, style="yellow", markup=False, soft_wrap=True)
    with Bar(quiet=not console.is_terminal) as fetched:
        services = runtime.start(plan, http, fetched)
    enter(runtime.directory)
    sent: dict[str, list[SentDocument | Refused]] = {}

    def on_ready(service: Service) -> None:
        if why := safe_mode(http, service.url):
            console.print(f"{service.name}: in safe mode: {why}", style="yellow", markup=False)
            return
        console.print(f"{service.name}: ready at {service.url}", markup=False)
        if service.role == "edge" and (found := files_by_edge.get(service.name)):
            with SendBars(console) as bars:
                advance = partial(bars.advance, f"sending to {service.name}", size(found.files))
                sent[service.name] = [*found.refused, *send(http, service.url, found.files, None, advance)]

    wait_ready(runtime, services, http, on_ready)
    urls = {member.name: member.url for member in runtime.state.of("edge") if not safe_mode(http, member.url)}
    with IndexBoard(console, SystemClock()) as board:
        statuses = wait_settled(http, urls.values(), board.show, runtime.check)
    ended = [result for edge in plan.edges if edge in urls for result in settle(http, urls[edge], sent.get(edge, []))]
    return statuses, [result for result in ended if isinstance(result, Refused) or result.is_stuck]


def settle(http: httpx2.Client, url: str, results: Sequence[SentDocument | Refused]) -> list[SentDocument | Refused]:
    """The results with what became of each document that was taken."""
    sent = [result for result in results if isinstance(result, SentDocument)]
    return [*outcomes(http, url, sent), *(result for result in results if isinstance(result, Refused))]


def stay(runtime: Runtime) -> None:
    """Hold the foreground until a signal comes, or `dgrag down`. Raises ClusterError when every service has ended by itself."""
    console = err()
    console.print("running; Ctrl-C stops everything", style="dim")
    try:
        runtime.watch(lambda news: console.print(news, style="yellow", markup=False))
    except AskedByDown:
        console.print("stopping, as `dgrag down` asked", markup=False)
        return
    raise ClusterError("every service has ended", next_step=f"read {runtime.directory.root / 'logs'}")


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


def _summaries(text: str) -> Summaries:
    if text not in get_args(Summaries):
        raise ClusterError(f"--summaries cannot be {text!r}", next_step="give extractive or model")
    return cast("Summaries", text)


def _ids(runtime: Runtime, edges: int | None, names: Sequence[str], stems: Sequence[str]) -> list[str]:
    """The edges' ids; without any word about them, the edges that have a store here start again."""
    if not names and not stems:
        names = runtime.known_edges()[:edges]
    return edge_ids(edges or max(1, len(names), len(stems)), names=names, stems=stems)


def _state(runtime: Runtime, member: Member, status: EdgeStatus | None) -> str:
    if member.role == "edge" and status is None:
        return "safe mode"
    return "not ready yet" if runtime.is_ready(member) is False else "ready"


def _report(
    runtime: Runtime,
    statuses: Mapping[str, EdgeStatus],
    failed: Sequence[SentDocument | Refused],
    share: Share | None,
    *,
    as_json: bool,
) -> None:
    state = runtime.state
    if as_json:
        typer.echo(orjson.dumps(addresses(state)).decode())
    else:
        told = {member.url: statuses.get(member.url) for member in state.members}
        rows = [(member.name, member.url, _state(runtime, member, told[member.url]), told[member.url]) for member in state.members]
        out().print(render.cluster(rows))
        out().print(CONSOLES, markup=False)
        if any(row[2] == "not ready yet" for row in rows):
            out().print("a model server may have to fetch its weights first; `dgrag status` tells when it is ready", markup=False)
    for line in share_lines(list(statuses.values()), share, in_containers=state.runtime == "docker"):
        err().print(line, markup=False, soft_wrap=True)
    for line in (line for status in statuses.values() for line in render.kept_back(status)):
        err().print(line, style="yellow", markup=False)
    for part in render.failures(failed):
        err().print(part)
