"""``dgrag communities`` and ``dgrag report``: what an edge's documents are about, from its largest subjects down to small ones."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import Annotated, Any
from urllib.parse import quote

import httpx2
import orjson
import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from deploy.cli import render
from deploy.cli.board import out
from deploy.cli.rest import DEFAULT_STATE, Edge, Json, State, client, edge_url, only_edge_url, paged
from deploy.cluster.state import StateDir
from shared.client.errors import ServiceError, body
from shared.text.plain import one_line, plain

REPORT_TIMEOUT = httpx2.Timeout(120.0, connect=5.0)  # the first one of a large community needs all that are within it
COMMUNITY_COLUMNS = ("id", ">entities", ">passages", ">rating", ">parts", "about")

MEMORY_COLUMNS = ("id", "kind", "question", "answer", ">right", ">wrong", "from")

OUTCOMES = {
    "learned": "remembered: the same question is answered from memory from now on",
    "counted": "noted for the memory that gave the answer; `dgrag memories` shows how it stands",
    "noted": "noted, and nothing changes yet: it takes three keys that may only read to say the same, or one that may write",
    "nothing": "noted, and nothing changes: remembered is what is right, cites what says it at this site, and was not deleted before",
}


class Verdict(StrEnum):
    """What somebody says of an answer."""

    right = "right"
    wrong = "wrong"


def memories(
    limit: Annotated[int, typer.Option(min=0, help="At most so many; 0: all.")] = 50,
    delete: Annotated[str, typer.Option(metavar="ID", help="Let this one answer no more, instead of listing.")] = "",
    edge: Edge = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """List the questions that an edge remembers, with their answers and where these stand."""
    url = only_edge_url(StateDir(state), edge) if delete else edge_url(StateDir(state), edge)
    with client() as http:
        if delete:
            body(http.delete(f"{url}/v1/memories/{quote(delete, safe='')}"))
            out().print(f"{one_line(delete)} answers no more, for good", markup=False)
            return
        found = list(islice(paged(http, f"{url}/v1/memories"), limit + 1 if limit else None))
    shown, is_cut = (found[:limit], len(found) > limit) if limit else (found, False)
    if as_json:
        typer.echo(orjson.dumps({"memories": shown}).decode())
    elif shown:
        out().print(render.table(MEMORY_COLUMNS, map(_memory_row, shown)))
        if is_cut:
            out().print("there are more: --limit 0 lists all", markup=False, style="dim")
    else:
        out().print("nothing is remembered yet", markup=False)


def feedback(
    query_id: Annotated[str, typer.Argument(metavar="ID", help="Id of an answer, as `dgrag ask` shows it.")],
    verdict: Annotated[
        Verdict,
        typer.Argument(help="right: it may be remembered; wrong: a memory that is called so at least as often as right answers no more."),
    ],
    edge: Edge = None,
    state: State = DEFAULT_STATE,
) -> None:
    """Tell an edge whether one of its answers was right; it takes one verdict on each."""
    url = edge_url(StateDir(state), edge)
    with client() as http:
        said = body(http.post(f"{url}/v1/queries/{quote(query_id, safe='')}/feedback", json={"verdict": verdict.value}))
    out().print(OUTCOMES.get(said["outcome"], said["outcome"]), markup=False)


def _memory_row(view: dict[str, Any]) -> tuple[str, ...]:
    standing = "deleted" if view["barred"] else "silenced" if view["silenced"] else "in doubt" if view["doubtful"] else ""
    kind = ", ".join(filter(None, (view["kind"], standing)))
    documents = ", ".join(dict.fromkeys(support["document"] for support in view["supports"]))
    return view["memory_id"], kind, view["question"], view["answer"], *(render.count(view[key]) for key in ("good", "bad")), documents


def communities(
    level: Annotated[int, typer.Option(min=0, max=3, help="0: the largest subjects; 3: the smallest.")] = 0,
    edge: Edge = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """List what an edge's documents are about, the most told of first; `dgrag report ID` tells more of one."""
    url = edge_url(StateDir(state), edge)
    with client() as http:
        found = sorted(paged(http, f"{url}/v1/communities", level=level), key=lambda view: (-view["chunks"], view["community_id"]))
    if as_json:
        typer.echo(orjson.dumps({"communities": found}).decode())
    elif found:
        out().print(render.table(COMMUNITY_COLUMNS, map(_community_row, found)))
    else:
        out().print("nothing is indexed yet", markup=False)


def report(
    community: Annotated[
        str, typer.Argument(metavar="ID", help="Id of a community, from `dgrag communities`, or of an answer's source, at its edge.")
    ],
    edge: Edge = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Print the report about a community: its findings, each with the documents that it rests on."""
    url = edge_url(StateDir(state), edge)
    with client() as http:
        found = fetched(http, url, community)
    if as_json:
        typer.echo(orjson.dumps(found).decode())
    else:
        out().print(shown(found))


def fetched(http: httpx2.Client, url: str, community: str) -> Any:
    """A report by its id at this edge, or by the one that other sites know. Raises ServiceError, with what to do where it is not here."""
    try:
        return body(http.get(f"{url}/v1/reports/{quote(community, safe='')}", timeout=REPORT_TIMEOUT))
    except ServiceError as error:
        if error.code != "not_found":
            raise
        step = "a source's report is at the edge that the source names: --edge; one that has changed has a new id: `dgrag communities`"
        raise ServiceError(f"this edge has no report {community!r}", status=error.status, code=error.code, next_step=step) from error


def shown(report: dict[str, Any]) -> RenderableType:
    """A report as text: title, rating and summary, then its findings."""
    title = Text(one_line(report["title"] or "without a name"), style="bold")
    head = Text(one_line(f"rating {report['rating']} of 10: {report['reason']}"), style="dim")
    summary = [Text(plain(report["summary"]))] if report["summary"] else []
    return Group(title, head, *summary, Text(), *(line for finding in report["findings"] for line in _finding(finding)))


def _finding(finding: dict[str, Any]) -> tuple[RenderableType, RenderableType]:
    documents = ", ".join(dict.fromkeys(source["document"] for source in finding["sources"]))
    return Text(plain(f"- {finding['text']}")), Padding(Text(one_line(documents), style="dim"), (0, 0, 0, 2))


def _community_row(view: dict[str, Any]) -> tuple[str, ...]:
    counts = (view["entities"], view["chunks"], view["rating"], len(view["children"]))
    return (view["community_id"], *map(str, counts), view["title"])
