"""``dgrag logs``, and what can be done to one service: ``dgrag edge kill NAME``, ``dgrag cloud pause`` and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from deploy.cli.board import out
from deploy.cli.rest import DEFAULT_STATE, State, named, running_state
from deploy.cluster.errors import ClusterError
from deploy.cluster.local import KEEPER
from deploy.cluster.runtimes import Fault, runtime_of
from deploy.cluster.services import Role
from deploy.cluster.state import Member, StateDir
from shared.text.plain import plain

VERBS: tuple[tuple[Fault, str, str], ...] = (  # verb, help, what is said when it is done
    ("kill", "Kill {} with SIGKILL, as a crash would; it is started again.", "killed"),
    ("pause", "Hold {} still: it takes calls, and answers none.", "paused"),
    ("resume", "Let {} go on after a pause.", "resumed"),
    ("restart", "Stop {} in order and start it again, also where it was given up.", "restarted"),
)
Lines = Annotated[int, typer.Option("--lines", "-n", min=1, help="How many of the last lines.")]


def logs(
    name: Annotated[str, typer.Argument(help="An edge's name, cloud, model, or keeper: who starts the others again.")],
    lines: Lines = 20,
    state: State = DEFAULT_STATE,
) -> None:
    """Show the end of a service's log."""
    directory = StateDir(state)
    typer.echo(plain(runtime_of(directory).log(_log_of(running_state(directory).members, name), lines=lines)))


def _log_of(members: Sequence[Member], name: str) -> str:
    """The log of a name, or of the only member of a role, as `model`. Raises ClusterError that lists the names."""
    own = [member.name for member in members] + [KEEPER]
    by_role: dict[str, str] = {member.role: member.name for member in members if member.role != "edge"}
    if name in own or name in by_role:
        return name if name in own else by_role[name]
    raise ClusterError(f"there is no service {name!r}", next_step=f"choose one of {', '.join(own)}")


def add_faults(app: typer.Typer, role: Role) -> None:
    """Give a group of verbs ``kill``, ``pause``, ``resume`` and ``restart``; those of edges take a name."""
    for fault, purpose, done in VERBS:
        if role == "edge":
            app.command(fault, help=purpose.format("an edge"))(_of_an_edge(fault, done))
        else:
            app.command(fault, help=purpose.format("the cloud"))(_of_the_cloud(fault, done))


def _of_an_edge(fault: Fault, done: str) -> Callable[..., None]:
    def verb(name: Annotated[str, typer.Argument(help="Name of the edge.")], state: State = DEFAULT_STATE) -> None:
        directory = StateDir(state)
        _inflict(directory, fault, named(running_state(directory).of("edge"), name), done)

    return verb


def _of_the_cloud(fault: Fault, done: str) -> Callable[..., None]:
    def verb(state: State = DEFAULT_STATE) -> None:
        directory = StateDir(state)
        _inflict(directory, fault, running_state(directory).of("cloud")[0], done)

    return verb


def _inflict(directory: StateDir, fault: Fault, member: Member, done: str) -> None:
    runtime_of(directory).inflict(fault, member)
    out().print(f"{done} {member.name}", markup=False)
