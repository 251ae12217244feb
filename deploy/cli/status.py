"""``dgrag status``: what runs, and how far each edge is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import httpx2
import orjson
import typer

from deploy.cli import render
from deploy.cli.board import out
from deploy.cli.rest import DEFAULT_STATE, Json, State, client, running_state
from deploy.cli.sending import EdgeStatus, status_of
from deploy.cluster.errors import how_ended
from deploy.cluster.lifecycle import answers
from deploy.cluster.local import KEEPER
from deploy.cluster.processes import is_paused
from deploy.cluster.runtimes import Runtime, runtime_of
from deploy.cluster.services import Role
from deploy.cluster.state import ClusterState, Member, StateDir
from shared.client.errors import ServiceError, body
from shared.errors import DgragError
from shared.models.addresses import MODELS, route_of
from shared.models.settings import ModelSettings

AGAIN: dict[Role, str] = {"edge": "`dgrag edge restart {}` starts it again", "cloud": "`dgrag cloud restart` starts it again"}
READ_BY_KEY: dict[Role, str] = {"edge": "/v1/status", "cloud": "/v1/edges"}
UNAUTHENTICATED = 401
RESUMED: dict[Role, str] = {"edge": "`dgrag edge resume {}` lets it go on", "cloud": "`dgrag cloud resume` lets it go on"}


def status(state: State = DEFAULT_STATE, as_json: Json = False) -> None:
    """Show what runs here and how far each edge is."""
    directory = StateDir(state)
    with client() as http:
        cluster, runtime = running_state(directory), runtime_of(directory)
        members = cluster.members
        ready = {member.name: is_ready(http, runtime, member) for member in members}
        troubles = {member.name: why for member in members if not ready[member.name] and (why := trouble(http, member))}
        refusals = {member.name: why for member in members if ready[member.name] and (why := refusal(http, member))}
        found = {member.name: edge_status(http, member) if ready[member.name] else None for member in members}
    if as_json:
        typer.echo(orjson.dumps(as_body(members, ready, found)).decode())
    else:
        histories = {member.name: line for member in members if (line := history(member))}
        states = {member.name: _state(cluster, member, ready=ready[member.name], shut=member.name in refusals) for member in members}
        rows = [(member.name, member.url, states[member.name], found[member.name]) for member in members]
        out().print(render.cluster(rows))
        if numbers := processes(cluster):
            out().print(f"pids: {numbers}", markup=False)
        for name, status_now in found.items():
            lines = (
                render.languages_line,
                render.ocr_line,
                render.readers_line,
                render.documents_line,
                render.embedder_line,
                render.model_line,
                render.memory_line,
                render.calibration_line,
            )
            told = [line_of(status_now) for line_of in lines] if status_now else []
            for line in filter(None, told):
                out().print(f"{name}: {line}", markup=False)
        for line in (line for one in found.values() if one for line in (*render.folder_lines(one), *render.kept_back(one))):
            out().print(line, style="yellow", markup=False)
        for name, why in [*histories.items(), *troubles.items(), *refusals.items()]:
            out().print(f"{name}: {why}", markup=False)


def is_ready(http: httpx2.Client, runtime: Runtime, member: Member) -> bool:
    """True when the member's own process runs and answers."""
    said = runtime.is_ready(member)
    if said is not None:
        return said
    ours_ended = member.mark is not None and not member.mark.alive()
    if member.role == "model":
        key = runtime.directory.model_key() if member.mark else ModelSettings().key()
        return not ours_ended and answers(http, route_of(member.url, MODELS), key)
    return not ours_ended and answers(http, f"{member.url}/ready")


def trouble(http: httpx2.Client, member: Member) -> str:
    """Why a member that is not ready is not; empty where it does not say."""
    if member.given_up:
        step = AGAIN.get(member.role, "`dgrag down` and `dgrag up` start it again").format(member.name)
        return f"{member.given_up}; `dgrag logs {member.name}` has its last words, {step}"
    if member.mark is not None and not member.mark.alive():
        return "its process has ended; its keeper starts it again soon, or, where that has ended too, `dgrag down` and `dgrag up`"
    if is_held(member):
        return "it is paused" + (f"; {RESUMED[member.role].format(member.name)}" if member.role in RESUMED else "")
    try:
        told = http.get(f"{member.url}/ready", timeout=2.0).json()
    except (httpx2.TransportError, ValueError):
        return ""
    return " – ".join(filter(None, (str(told.get("reason", "")), str(told.get("next_step", ""))))) if isinstance(told, dict) else ""


def refusal(http: httpx2.Client, member: Member) -> str:
    """Why a service that is ready lets this command in no further: it takes a key, and got none or a wrong one. Empty where it does."""
    try:
        if member.role in READ_BY_KEY:
            body(http.get(f"{member.url}{READ_BY_KEY[member.role]}", timeout=2.0))
    except ServiceError as error:
        return f"{error.message} – {error.next_step}" if error.status == UNAUTHENTICATED else ""
    except (httpx2.TransportError, DgragError):
        return ""
    return ""


def history(member: Member) -> str:
    """How its process ended last, and how often it was started again; empty for one that runs since ``up``."""
    if member.last_exit is None:
        return ""
    return f"{how_ended(member.last_exit)}; started again {member.restarts} × since `dgrag up`"


def edge_status(http: httpx2.Client, member: Member) -> EdgeStatus | None:
    """An edge's own words; None for another role, and for an edge that does not give any."""
    if member.role != "edge":
        return None
    try:
        return status_of(http, member.url)
    except (httpx2.TransportError, DgragError):
        return None


def as_body(members: tuple[Member, ...], ready: dict[str, bool], found: dict[str, EdgeStatus | None]) -> dict[str, Any]:
    """The promise of ``dgrag status --json``."""
    body: dict[str, Any] = {"cloud": None, "model": None, "edges": []}
    for member in members:
        facts: dict[str, Any] = {
            "url": member.url,
            "pid": member.mark.pid if member.mark else None,
            "ready": ready[member.name],
            "restarts": member.restarts,
            "last_exit": member.last_exit,
        }
        if member.role == "edge":
            status_now = found[member.name] or EdgeStatus(member.name)
            body["edges"].append({**asdict(status_now), **facts})
        elif member.role == "replica":
            body.setdefault("clouds", []).append({**facts, "name": member.name})
        else:
            body[member.role] = {**facts, "name": member.name}
    return body


def processes(cluster: ClusterState) -> str:
    """The number of each process, the keeper's last; empty where they are containers."""
    marks = [(member.name, member.mark) for member in cluster.members] + [(KEEPER, cluster.keeper)]
    return ", ".join(f"{name} {mark.pid}" for name, mark in marks if mark is not None)


def is_held(member: Member) -> bool:
    """Whether somebody has paused its process."""
    return member.mark is not None and is_paused(member.mark.pid)


def _state(cluster: ClusterState, member: Member, *, ready: bool, shut: bool) -> str:
    said = "ready, takes a key" if shut else "ready" if ready else "paused" if is_held(member) else "not ready"
    return said + ("" if member.mark or cluster.runtime == "docker" else ", not ours")
