"""``dgrag sync``: an edge is made equal to a folder."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import socket
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import platformdirs
import typer
from rich.text import Text

from deploy.cli import render
from deploy.cli.board import IndexBoard, SendBars, err, out
from deploy.cli.rest import DEFAULT_STATE, Edge, Json, State, client, only_edge_url, paged
from deploy.cli.rest_target import RestTarget
from deploy.cli.sending import wait_settled
from deploy.cluster.errors import ClusterError
from deploy.cluster.state import StateDir
from edge_node.folders.following import changes_of, follow, is_bucket, opened
from edge_node.folders.memory import Memory
from edge_node.folders.records import Problem, Source, Wishes
from edge_node.folders.syncing import Look, apply, as_body, look
from shared.client.errors import unreachable
from shared.errors import DgragError
from shared.plural import counted
from shared.ports import SystemClock
from shared.text.plain import one_line

STEPS = ("added", "changed", "adopted", "renamed", "relabelled", "deleted")
MOST_NAMED = 10  # of the files that are left out
MOST_BYTES = 256 * 2**20  # of a file that is read; an edge may take less


def sync(
    folder: Annotated[str, typer.Argument(help="The folder that the edge is to equal, or s3://BUCKET/PREFIX.")],
    edge: Edge = None,
    state: State = DEFAULT_STATE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    labels: Annotated[str | None, typer.Option("--labels", "--label", help="Labels for all, with commas between them.")] = None,
    keep: Annotated[bool, typer.Option("--keep-deleted/--delete", help="Whether documents stay whose files are gone.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Delete, even where most files are gone.")] = False,
    adopt: Annotated[bool, typer.Option("--adopt", help="Take over documents of the same names that came another way.")] = False,
    prefix: Annotated[str, typer.Option(help="What the documents' names begin with, as reports/.")] = "",
    source: Annotated[str | None, typer.Option(help="Name of this sync at the edge; else this machine and the folder.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on until Ctrl-C, at each change.")] = False,
    reread: Annotated[bool, typer.Option("--reread", help="Read every file, whatever its times say.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Return when the documents are part of the graph, or at once.")] = True,
    as_json: Json = False,
) -> None:
    """Make an edge equal to a folder: what is new, changed, renamed or gone there, and nothing else.

    Deleted are only documents that this sync put there. Patterns of files to leave out stand in the folder's .dgragignore.
    Ends with 1 when a file is not in step: unreadable, refused or parked.
    """
    url, name = only_edge_url(StateDir(state), edge), source or named(folder)
    marks = None if labels is None else tuple(label.strip() for label in labels.split(",") if label.strip())
    wishes = Wishes(name, marks, keep_deleted=keep, force=force, adopt=adopt)
    files, memory = opened(folder, SystemClock(), prefix=prefix, most_bytes=MOST_BYTES), Memory(memory_file(name, url))
    if reread:
        memory.forget()
    with client() as http:
        target = RestTarget(http, url)
        if dry_run:
            told(asyncio.run(look(files, target, memory, wishes)), [], as_json=as_json, dry=True)
        elif watch:
            asyncio.run(watching(folder, files, target, memory, wishes))
        else:
            found, problems = asyncio.run(once(files, target, memory, wishes))
            problems += settled(http, url, name) if wait else []
            told(found, problems, as_json=as_json, dry=False)
            verdict(problems)


def verdict(problems: Sequence[Problem]) -> None:
    """Raise ClusterError when a file is not in step."""
    if problems:
        raise ClusterError(
            f"{counted(len(problems), 'file')} not in step", next_step="the reasons are above; .dgragignore names files to leave out"
        )


def named(folder: str) -> str:
    """The name of a sync that was given none: a bucket's address, or this machine's name with the folder's path."""
    return folder if is_bucket(folder) else f"{socket.gethostname()}:{Path(folder).resolve()}"


def memory_file(source: str, url: str) -> Path:
    """Where it stands which file was which document; it may be deleted at any time."""
    key = hashlib.sha256(f"{url}\0{source}".encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("dgrag") / "sync" / f"{key}.json"


async def once(source: Source, target: RestTarget, memory: Memory, wishes: Wishes) -> tuple[Look, list[Problem]]:
    """One run, with a bar; what was done, and what could not be."""
    found = await look(source, target, memory, wishes)
    total = sum(file.entry.size for file in found.plan.sends)
    with SendBars(err()) as bars:
        done = await apply(found, source, target, memory, wishes, partial(bars.advance, "sending", total))
    return found, done.problems


async def watching(folder: str, source: Source, target: RestTarget, memory: Memory, wishes: Wishes) -> None:
    """Follow until SIGINT or SIGTERM; each run that does something, or fails, is told in a line."""
    console, loop = err(), asyncio.get_running_loop()

    async def run() -> None:
        found, problems = await once(source, target, memory, wishes)
        if found.plan.steps or problems:
            console.print(one_line(summary(found, problems)), markup=False, soft_wrap=True)

    def failed(error: BaseException, wait_s: float) -> None:
        known = unreachable(error) if isinstance(error, httpx2.RequestError) else error
        reason = known.message if isinstance(known, DgragError) else type(error).__name__
        console.print(one_line(f"not in step, tried again in {wait_s:.1f} s: {reason}"), markup=False, soft_wrap=True, style="yellow")

    following = asyncio.create_task(follow(changes_of(folder), run, failed))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, following.cancel)
    console.print(one_line(f"watching {folder}; Ctrl-C ends it"), markup=False, soft_wrap=True, style="dim")
    await asyncio.wait([following])


def summary(found: Look, problems: Iterable[Problem]) -> str:
    """A run in a line, with each file that is not in step."""
    said = as_body(found)
    steps = [f"{len(said[kind])} {kind}" for kind in STEPS if said[kind]] + [f"{said['unchanged']} unchanged"]
    steps += [f"{said['foreign']} the same, but came another way"] if said["foreign"] else []
    return "; ".join([", ".join(steps), *(f"{problem.name}: {problem.reason}" for problem in problems)])


def settled(http: httpx2.Client, url: str, source: str) -> list[Problem]:
    """Wait until the edge has read all; those of this sync's documents that it could not."""
    with IndexBoard(err(), SystemClock()) as board:
        wait_settled(http, [url], board.show, check=lambda: None)
    parked = (view for view in paged(http, f"{url}/v1/documents", status="parked") if view["source"] == source)
    return [Problem(view["name"], " – ".join(filter(None, ("parked", view["reason"], view["next_step"])))) for view in parked]


def told(found: Look, problems: list[Problem], *, as_json: bool, dry: bool) -> None:
    """Print what was done, or would be."""
    said = as_body(found)
    if not dry:
        said["problems"] = [{"name": problem.name, "reason": problem.reason} for problem in problems]
    if as_json:
        typer.echo(orjson.dumps(said | {"dry_run": dry}).decode())
        return
    for line in lines(said) if dry else ():
        out().print(Text(one_line(line)))
    counts = [(kind, f"{len(said[kind]):,}") for kind in STEPS if said[kind]]
    counts += [("unchanged", f"{said['unchanged']:,}")]
    counts += [("the same, but came another way (--adopt takes them over)", f"{said['foreign']:,}")] if said["foreign"] else []
    counts += [("kept, though their files are gone", f"{said['kept']:,}")] if said["kept"] else []
    counts += [("left out, as no reader knows them", f"{len(said['left_out']):,}")] if said["left_out"] else []
    out().print(render.table(("would be" if dry else "files", "count"), counts))
    for name in said["left_out"][:MOST_NAMED]:
        out().print(Text(one_line(f"no reader knows {name}"), style="dim"))
    for problem in said["problems"]:
        out().print(Text(one_line(f"not in step: {problem['name']}: {problem['reason']}"), style="yellow"), soft_wrap=True)


def lines(said: dict[str, Any]) -> Iterator[str]:
    """What would be done, a line a file.

    >>> nothing = dict.fromkeys(STEPS, [])
    >>> list(lines(nothing | {"added": ["a"], "adopted": ["e"], "renamed": [{"from": "b", "to": "c"}], "deleted": ["d"]}))
    ['add a', 'adopt e', 'rename b -> c', 'delete d']
    """
    moves = [f"{move['from']} -> {move['to']}" for move in said["renamed"]]
    kinds: dict[str, Iterable[str]] = {"add": said["added"], "change": said["changed"], "adopt": said["adopted"], "rename": moves}
    for verb, names in {**kinds, "relabel": said["relabelled"], "delete": said["deleted"]}.items():
        yield from (f"{verb} {name}" for name in names)
