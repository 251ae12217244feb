"""``dgrag communities`` and ``dgrag report``: what an edge's documents are about, from its largest subjects down to small ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import orjson
import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from deploy.cli import render
from deploy.cli.board import out
from deploy.cli.options import DEFAULT_STATE, Edge, Json, State
from deploy.cli.rest import RemoteError, body, client, edge_url
from deploy.cluster.state import StateDir

PAGE = 500
REPORT_TIMEOUT = httpx.Timeout(120.0, connect=5.0)  # the first one of a large community needs all that are within it
COLUMNS = ("id", ">entities", ">passages", ">rating", ">parts", "about")


def communities(
    level: Annotated[int, typer.Option(min=0, max=3, help="0: the largest subjects; 3: the smallest.")] = 0,
    edge: Edge = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """List what an edge's documents are about, the most told of first; `dgrag report ID` tells more of one."""
    url = edge_url(StateDir(state), edge)
    with client() as http:
        found = sorted(listed(http, url, level), key=lambda view: (-view["chunks"], view["community_id"]))
    if as_json:
        typer.echo(orjson.dumps({"communities": found}).decode())
    elif found:
        out().print(render.table(COLUMNS, map(_row, found)))
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


def fetched(http: httpx.Client, url: str, community: str) -> Any:
    """A report by its id at this edge, or by the one that other sites know. Raises RemoteError, with what to do where it is not here."""
    try:
        return body(http.get(f"{url}/v1/reports/{quote(community, safe='')}", timeout=REPORT_TIMEOUT))
    except RemoteError as error:
        if error.code != "not_found":
            raise
        step = "a source's report is at the edge that the source names: --edge; one that has changed has a new id: `dgrag communities`"
        raise RemoteError(f"this edge has no report {community!r}", status=error.status, code=error.code, next_step=step) from error


def listed(http: httpx.Client, url: str, level: int) -> Iterator[dict[str, Any]]:
    """All communities of a level, page by page."""
    after: str | None = ""
    while after is not None:
        asked: dict[str, str | int] = {"level": level, "limit": PAGE, "after": after}
        page = body(http.get(f"{url}/v1/communities", params=asked))
        yield from page["communities"]
        after = page["next"]


def shown(report: dict[str, Any]) -> RenderableType:
    """A report as text: title, rating and summary, then its findings."""
    title = Text(render.plain(report["title"] or "without a name"), style="bold")
    head = Text(render.plain(f"rating {report['rating']} of 10: {report['reason']}"), style="dim")
    summary = [Text(render.plain(report["summary"]))] if report["summary"] else []
    return Group(title, head, *summary, Text(), *(line for finding in report["findings"] for line in _finding(finding)))


def _finding(finding: dict[str, Any]) -> tuple[RenderableType, RenderableType]:
    documents = ", ".join(dict.fromkeys(source["document"] for source in finding["sources"]))
    return Text(render.plain(f"- {finding['text']}")), Padding(Text(render.plain(documents), style="dim"), (0, 0, 0, 2))


def _row(view: dict[str, Any]) -> tuple[str, ...]:
    counts = (view["entities"], view["chunks"], view["rating"], len(view["children"]))
    return (view["community_id"], *map(str, counts), view["title"])
