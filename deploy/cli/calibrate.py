"""``dgrag calibrate``: an edge sets its gate's thresholds for the models that it has, from its own documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

import httpx2
import orjson
import typer

from deploy.cli import render
from deploy.cli.ask import ANSWER_TIMEOUT
from deploy.cli.board import err, out, waiting
from deploy.cli.rest import DEFAULT_STATE, Edge, Json, State, client, only_edge_url
from deploy.cli.sending import patiently
from deploy.cluster.state import StateDir
from shared.client.errors import body
from shared.errors import InputError
from shared.plural import counted

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be set, and set nothing.")]
Reset = Annotated[bool, typer.Option("--reset", help="Forget the calibration: the settings' own thresholds are in force again.")]


def calibrate(
    edge: Edge = None,
    questions: Annotated[int, typer.Option(min=16, max=400, help="That are tried; more make the shares surer, and take longer.")] = 40,
    dry_run: DryRun = False,
    reset: Reset = False,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Set the thresholds of an edge's gate for its models: it asks itself questions about its own documents. Stopped, it goes on.

    Half of the questions are of its documents, a quarter the same with their document hidden, a quarter of other fields. Nothing leaves.
    """
    if reset and dry_run:
        raise InputError("--reset sets the thresholds back, and --dry-run sets nothing", next_step="choose one of them")
    url = f"{only_edge_url(StateDir(state), edge)}/v1/calibration"
    with client() as http:
        if reset:
            body(http.delete(url))
            err().print("the thresholds of the settings are in force again", markup=False)
            return
        reply = _made(http, url, questions, apply=not dry_run)
    if as_json:
        typer.echo(orjson.dumps(reply).decode())
    else:
        for line in told(reply, dry_run=dry_run):
            out().print(line, markup=False) if isinstance(line, str) else out().print(line)


def _made(http: httpx2.Client, url: str, questions: int, *, apply: bool) -> Mapping[str, Any]:
    """Call until there is a choice."""
    ahead = body(http.get(url, params={"questions": questions}))
    err().print(expected(ahead), markup=False, soft_wrap=True)
    step = partial(http.post, url, json={"questions": questions, "apply": apply}, timeout=ANSWER_TIMEOUT)
    with waiting("calibrating") as tell:
        return _until_chosen(lambda: body(patiently(step)), tell)


def _until_chosen(step: Callable[[], Mapping[str, Any]], tell: Callable[[str], None]) -> Mapping[str, Any]:
    while not (reply := step())["choice"]:
        tell(f"{reply['done']} of {counted(reply['total'], 'question')} tried, about {_minutes(reply)} left")
    return reply


def expected(ahead: Mapping[str, Any]) -> str:
    """What lies ahead, before it begins.

    >>> expected({"done": 0, "total": 40, "seconds": 15.0})
    '40 questions, about 10 minutes; Ctrl-C stops, and the same command goes on'
    """
    left = ahead["total"] - ahead["done"]
    known = f", {ahead['done']} tried before" if ahead["done"] else ""
    return f"{counted(left, 'question')}{known}, about {_minutes(ahead)}; Ctrl-C stops, and the same command goes on"


def _minutes(of: Mapping[str, Any]) -> str:
    return counted(math.ceil((of["total"] - of["done"]) * of["seconds"] / 60), "minute")


def told(reply: Mapping[str, Any], *, dry_run: bool) -> list[Any]:
    """The thresholds before and after, and the shares of questions that they escalate."""
    choice = reply["choice"]
    rows = [(name, f"{before:g}", f"{choice['after'][name]:g}") for name, before in choice["before"].items()]
    shares = [
        ("of its own documents", *(_share(choice[f"own_{when}"]) for when in ("before", "after"))),
        ("of others, or without their document", *(_share(choice[f"other_{when}"]) for when in ("before", "after"))),
    ]
    verb = "would be set" if dry_run else "set"
    return [
        render.table(("threshold", ">as it is set", f">{verb}"), rows),
        "",
        render.table(("questions that leave the site", ">before", ">after"), shares),
        "the 95 % intervals are of the questions that chose: on others expect somewhat worse",
    ]


def _share(share: Mapping[str, Any]) -> str:
    percent = f"{share['escalated'] / share['of']:.0%}" if share["of"] else "–"
    return f"{percent} of {share['of']} ({share['low']:.0%}–{share['high']:.0%})"
