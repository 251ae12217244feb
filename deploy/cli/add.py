"""``dgrag add``: documents to an edge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import httpx2
import orjson
import typer

from deploy.cli import render
from deploy.cli.board import IndexBoard, SendBars, err, out
from deploy.cli.rest import DEFAULT_STATE, Edge, Json, State, client, only_edge_url
from deploy.cli.sending import (
    READABLE,
    UPLOAD_TIMEOUT,
    EdgeStatus,
    Refused,
    SentDocument,
    SourceFile,
    is_corpus,
    listing,
    rows,
    send,
    size,
    wait_settled,
)
from deploy.cli.up import settle
from deploy.cluster.errors import ClusterError
from deploy.cluster.state import StateDir
from edge_node.documents.collections import BadRow
from shared.client.errors import body
from shared.plural import counted
from shared.ports import SystemClock
from shared.text.plain import one_line

MOST_NAMED = 10  # files that were left out
NO_READER = f"no reader knows this kind of file, so it is left out of its folder; readable are {READABLE}"

BATCH_CHARS = 4_000_000  # of the rows in one request; an edge takes 32 MiB
BATCH_ROWS = 1000
SUMS = ("documents", "chunks", "tokens", "model_calls", "tokens_in", "tokens_out", "seconds", "duplicates")


def estimate(http: httpx2.Client, url: str, files: Sequence[SourceFile]) -> dict[str, Any]:
    """The sum of an edge's estimates for all documents of these files."""
    total: dict[str, Any] = {**dict.fromkeys(SUMS, 0), "unreadable": [], "basis": "measured here"}
    for part in _estimates(http, url, files, total["unreadable"]):
        total |= {key: round(total[key] + part[key], 1) for key in SUMS}
        total["unreadable"] += part["unreadable"]
        if part["basis"] != "measured here":
            total["basis"] = part["basis"]
    return total


def _estimates(http: httpx2.Client, url: str, files: Sequence[SourceFile], bad: list[dict[str, str]]) -> Iterator[Mapping[str, Any]]:
    """An edge's estimates, part by part; rows of collections that give no document are put into ``bad``."""
    for file in files:
        if is_corpus(file):
            for batch in _batches(file, bad):
                yield body(http.post(f"{url}/v1/estimate", json={"documents": batch}, timeout=UPLOAD_TIMEOUT))
        else:
            with file.open() as content:
                yield body(http.post(f"{url}/v1/estimate", files={"file": (file.name, content)}, timeout=UPLOAD_TIMEOUT))


def _batches(file: SourceFile, bad: list[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    batch: list[dict[str, str]] = []
    chars = 0
    for row in rows(file, lambda more: None):  # noqa: ARG005 - no bar is shown
        if isinstance(row, BadRow):
            bad.append({"name": f"{file.name}, line {row.line}", "code": row.reason, "reason": row.message})
            continue
        if batch and (len(batch) == BATCH_ROWS or chars + len(row.text) > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append({"name": row.name, "title": row.title, "text": row.text})
        chars += len(row.text)
    if batch:
        yield batch


def add(
    paths: Annotated[list[Path], typer.Argument(help="Files, folders, or JSONL collections (one document a row).")],
    edge: Edge = None,
    state: State = DEFAULT_STATE,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Return when the documents are part of the graph, or at once.")] = True,
    labels: Annotated[str | None, typer.Option(help="Labels for all, with commas between them; without it they stay as they are.")] = None,
    as_json: Json = False,
    only_estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost, and add nothing.")] = False,
) -> None:
    """Give an edge documents. They stay there; ends with 1 when any was parked, refused or skipped."""
    url, found = only_edge_url(StateDir(state), edge), listing(paths)
    if only_estimate:
        with client() as http, err().status("reading …"):
            cost = estimate(http, url, found.files)
        skipped = [(refused.name, refused.reason) for refused in found.refused] + [(name, NO_READER) for name in found.left_out]
        cost["unreadable"] += [{"name": name, "code": "skipped", "reason": reason} for name, reason in skipped]
        typer.echo(orjson.dumps(cost).decode()) if as_json else out().print(render.cost(cost))
        return
    marks = None if labels is None else [label.strip() for label in labels.split(",") if label.strip()]
    if found.left_out:
        more = " …" if len(found.left_out) > MOST_NAMED else ""
        said = f"left out, as no reader knows them: {', '.join(found.left_out[:MOST_NAMED])}{more}"
        err().print(one_line(said), style="yellow", markup=False)
    with client() as http:
        with SendBars(err()) as bars:
            results = list(send(http, url, found.files, marks, partial(bars.advance, "sending", size(found.files))))
        statuses = dict[str, EdgeStatus]()
        if wait:
            with IndexBoard(err(), SystemClock()) as board:
                statuses = wait_settled(http, [url], board.show, check=lambda: None)
        results = [*found.refused, *settle(http, url, results)]
    if as_json:
        typer.echo(orjson.dumps(as_body(results)).decode())
    else:
        out().print(render.upload(results), *render.shares(results), sep="\n")
    for line in (line for status in statuses.values() for line in render.kept_back(status)):
        err().print(line, style="yellow", markup=False)
    verdict(results)


def as_body(results: Sequence[SentDocument | Refused]) -> dict[str, Any]:
    """What ``dgrag add --json`` prints: the documents that the edge took, and what never became one."""
    sent = [result for result in results if isinstance(result, SentDocument)]
    refused = [result for result in results if isinstance(result, Refused)]
    return {
        "documents": [
            {"name": item.name, "document_id": item.document_id, "status": item.status, "code": item.code, "reason": item.reason}
            | {"labels": item.labels, "share": render.share_now(item), "unnamed_labels": item.unnamed_labels}
            for item in sent
        ],
        "skipped": [{"name": item.name, "kind": item.kind, "reason": item.reason} for item in refused],
    }


def verdict(results: Sequence[SentDocument | Refused]) -> None:
    """Raise ClusterError when a document was lost on the way."""
    lost = sum(isinstance(result, Refused) or result.is_stuck for result in results)
    if lost or not results:
        raise ClusterError(f"{lost} of {counted(len(results), 'document')} not indexed", next_step="the reasons are above")
