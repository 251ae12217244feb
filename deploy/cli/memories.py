"""``dgrag memories`` and ``dgrag feedback``: what an edge remembers of questions, and what people say of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import orjson
import typer

from deploy.cli import render
from deploy.cli.board import out
from deploy.cli.options import DEFAULT_STATE, Edge, Json, State
from deploy.cli.rest import body, client, edge_url, only_edge_url
from deploy.cluster.state import StateDir

PAGE = 500
COLUMNS = ("id", "kind", "question", "answer", ">right", ">wrong", "from")

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
            out().print(f"{render.plain(delete)} answers no more, for good", markup=False)
            return
        found = list(islice(listed(http, url), limit + 1 if limit else None))
    shown, is_cut = (found[:limit], len(found) > limit) if limit else (found, False)
    if as_json:
        typer.echo(orjson.dumps({"memories": shown}).decode())
    elif shown:
        out().print(render.table(COLUMNS, map(_row, shown)))
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


def listed(http: httpx.Client, url: str) -> Iterator[dict[str, Any]]:
    """All memories of an edge, page by page."""
    after: str | None = ""
    while after is not None:
        asked: dict[str, str | int] = {"limit": PAGE, "after": after}
        page = body(http.get(f"{url}/v1/memories", params=asked))
        yield from page["memories"]
        after = page["next"]


def _row(view: dict[str, Any]) -> tuple[str, ...]:
    standing = "deleted" if view["barred"] else "silenced" if view["silenced"] else "in doubt" if view["doubtful"] else ""
    kind = ", ".join(filter(None, (view["kind"], standing)))
    documents = ", ".join(dict.fromkeys(support["document"] for support in view["supports"]))
    return view["memory_id"], kind, view["question"], view["answer"], *(render.count(view[key]) for key in ("good", "bad")), documents
