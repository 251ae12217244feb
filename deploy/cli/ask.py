"""``dgrag ask``: a question to an edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import httpx2
import orjson
import typer
from pydantic import TypeAdapter, ValidationError

from deploy.cli import render
from deploy.cli.board import err, out, waiting
from deploy.cli.rest import DEFAULT_STATE, Edge, Json, State, client, edge_url
from deploy.cluster.state import StateDir
from edge_node.api.filtering import FiltersBody
from shared.client.calls import Filters
from shared.client.errors import body
from shared.client.hearing import events
from shared.errors import InputError
from shared.records import Answer
from shared.reduce import ignore_text
from shared.text.plain import one_line

ANSWER_TIMEOUT = httpx2.Timeout(600.0, connect=5.0)  # an edge has its own, shorter deadline

THINKING = "thinking", "the first answer takes longer: instructions are read once"  # with the time between them within 80 columns
READING = "reading reports, which takes a small model minutes", ""
TAIL_CHARS = 60  # of what is written so far


def heard(http: httpx2.Client, url: str, asked: Mapping[str, Any], tell: Callable[[str], None], *, timeout: httpx2.Timeout) -> Any:
    """The Answer that an edge's stream ends with; ``tell`` hears, in words, what goes on until then. Raises as ``events``."""
    text, answer = "", None
    for event in events(http, f"{url}/v1/query", asked, timeout):
        match event:
            case ("answer", answer):
                pass
            case ("text", more):
                text += more
                tell(f"writing: {_tail(text)}")
            case ("void", _):
                text = ""
                tell("beginning anew")
            case ("step", step):
                tell(f"{step['step']}: done")
    return answer


def _tail(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TAIL_CHARS else f"… {line[-TAIL_CHARS:].partition(' ')[2]}"


class Escalate(StrEnum):
    """Whether the question may leave the site."""

    yes = "yes"
    no = "no"
    ask = "ask"


class Mode(StrEnum):
    """Who may answer."""

    auto = "auto"
    local = "local"
    cloud = "cloud"
    global_ = "global"


class Level(StrEnum):
    """Which reports a global answer is made of."""

    dynamic = "dynamic"
    text = "text"
    broadest = "0"
    broad = "1"
    fine = "2"
    finest = "3"


Narrowed = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="NAME=VALUE",
        help="Only documents of this site with that label, language or path (with * or a folder), or since or until a date. "
        "May be repeated. Nothing leaves then.",
    ),
]


def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    edge: Edge = None,
    mode: Annotated[
        Mode,
        typer.Option(
            help="auto: the edge's gate decides; local: nothing leaves; cloud: ask all sites; global: what all documents tell together."
        ),
    ] = Mode.auto,
    level: Annotated[
        Level | None,
        typer.Option(
            help="With --mode global, the reports that are read: 0 the broadest, 3 the finest; dynamic: as far down as they are relevant; "
            "text: this site's passages instead. Default: as the site has it set."
        ),
    ] = None,
    escalate: Annotated[
        Escalate | None, typer.Option(help="May the question leave the site? ask: show it first. Default: as the site's policy says.")
    ] = None,
    purpose: Annotated[str | None, typer.Option(help="What the answer is for, as sites' policies name it.")] = None,
    memory: Annotated[bool, typer.Option("--memory/--no-memory", help="May a remembered answer do? It needs no model.")] = True,
    narrowed: Narrowed = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Ask an edge (the first one, unless --edge names another)."""
    if level is not None and mode is not Mode.global_:
        raise InputError("a level is of the reports of a global answer", next_step="add --mode global")
    url, filters = edge_url(StateDir(state), edge), filters_in(narrowed or [])
    with client() as http:
        with waiting(*(READING if mode is Mode.global_ else THINKING), quiet=as_json) as tell:
            reply = query(http, url, question, mode, escalate, purpose, level, tell, memory=memory, filters=filters)
        if would_send(reply) and not as_json and err().is_terminal:
            err().print("to answer this from other sites, this would leave the site:", reply["would_ask"], sep="\n  ", markup=False)
            if typer.confirm("send it?", err=True):
                with waiting("asking other sites") as tell:
                    reply = query(http, url, question, mode, Escalate.yes, purpose, level, tell)
    if as_json:
        typer.echo(orjson.dumps(reply).decode())
    else:
        show(as_answer(reply), edge, state)


def filters_in(given: Sequence[str]) -> Filters:
    """The filters of a command; of a name that is given twice, all values count. Raises InputError.

    >>> filters_in(["label=public", "path=wards/*", "label=internal"])
    {'label': ['public', 'internal'], 'path': 'wards/*'}
    """
    found = defaultdict[str, list[str]](list)
    for one in given:
        name, equals, value = one.partition("=")
        if name not in FiltersBody.model_fields or not equals:
            raise InputError(f"{one!r} is no filter", next_step=f"write NAME=VALUE, with one of {', '.join(FiltersBody.model_fields)}")
        found[name].append(value)
    asked = {name: values if values[1:] else values[0] for name, values in found.items()}
    try:
        FiltersBody.model_validate(asked)
    except ValidationError as error:
        fault = max(error.errors(), key=lambda one: one["type"] == "value_error")  # our own words, if there are any
        name = str(fault["loc"][0])
        step = fault["msg"].removeprefix("Value error, ")
        raise InputError(f"--filter {name} cannot be {', '.join(found[name])!r}", next_step=step) from error
    return cast("Filters", asked)


def show(answer: Answer, edge: str | None, state: Path = DEFAULT_STATE) -> None:
    """Print an answer, how what it cites can be read, and how it can be judged."""
    out().print(render.answer(answer))
    for hint in hints(answer, edge, state):
        out().print(hint, markup=False, style="dim")


def hints(answer: Answer, edge: str | None, state: Path = DEFAULT_STATE) -> Iterator[str]:
    """Commands that go on from an answer: to read a report that it cites, and to call it right or wrong where this site learns.

    >>> list(hints(Answer("c0ffee", "Ann Lee", (), "local"), "ward", Path("b")))
    ['right or wrong? dgrag feedback c0ffee right|wrong --edge ward --state b']
    """
    where = "" if state == DEFAULT_STATE else f" --state {state}"
    if opened := next((item for item in answer.citations if item.report), None):
        yield f"to read a report: dgrag report {one_line(opened.report)} --edge {one_line(opened.edge)}{where}"
    own_memory = answer.route == "memory" and answer.memory is not None and not answer.memory.why_not  # another site's takes no verdict
    if answer.answered and (answer.route == "local" or own_memory):
        yield f"right or wrong? dgrag feedback {one_line(answer.query_id)} right|wrong" + (f" --edge {edge}" if edge else "") + where


def would_send(reply: Any) -> bool:
    """Whether the question waits for a yes before it leaves the site."""
    return bool(reply.get("would_ask"))


def query(
    http: httpx2.Client,
    url: str,
    question: str,
    mode: Mode,
    escalate: Escalate | None = None,
    purpose: str | None = None,
    level: Level | None = None,
    tell: Callable[[str], None] = ignore_text,
    *,
    memory: bool = True,
    samples: int | None = None,
    filters: Filters | None = None,
) -> Any:
    """The Answer as it came, fields that we do not know included; ``tell`` hears how far a global one is."""
    depth = level and (int(level) if level.isdigit() else level.value)
    chosen = {"allow_escalation": escalate and escalate.value, "purpose": purpose, "level": depth, "n": samples, "filters": filters or None}
    given = {key: value for key, value in chosen.items() if value is not None} | ({} if memory else {"memory": False})
    asked = {"question": question, "mode": mode.value, **given}
    if mode is Mode.global_:
        return heard(http, url, asked, tell, timeout=ANSWER_TIMEOUT)
    return body(http.post(f"{url}/v1/query", json=asked, timeout=ANSWER_TIMEOUT))


def as_answer(reply: Any) -> Answer:
    """The record of a reply."""
    return TypeAdapter(Answer).validate_python(reply)
