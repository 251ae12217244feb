"""``dgrag documents``, ``remove`` and ``retry``: what an edge holds, and what can be done about a document."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import quote

import httpx2
import orjson
import typer
from rich.padding import Padding
from rich.text import Text

from deploy.cli import render
from deploy.cli.board import out
from deploy.cli.rest import DEFAULT_STATE, Edge, Json, State, client, edge_url, only_edge_url, paged, running_state
from deploy.cluster.errors import ClusterError
from deploy.cluster.state import StateDir
from shared.client.errors import ServiceError, body
from shared.plural import counted
from shared.text.plain import one_line

DOCUMENT_ID = re.compile("[0-9a-f]{24}")
SETTLE_TIMEOUT = httpx2.Timeout(600.0, connect=5.0)  # a deletion answers when the graph has followed
Document = Annotated[str, typer.Argument(metavar="NAME_OR_ID", help="Name or id of a document.")]


class Status(StrEnum):
    """How far a document is."""

    queued = "queued"
    running = "running"
    indexed = "indexed"
    parked = "parked"


def documents(
    edge: Edge = None,
    status: Annotated[Status | None, typer.Option(help="Only these.")] = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """List the documents of an edge (the first one, unless --edge names another); of a parked one also why, and what to do."""
    url, names = edge_url(StateDir(state), edge), [] if edge else [member.name for member in running_state(StateDir(state)).of("edge")]
    with client() as http:
        found = list(paged(http, f"{url}/v1/documents", status=status.value if status else ""))
    if as_json:
        typer.echo(orjson.dumps({"documents": found}).decode())
    else:
        for view in found:
            out().print(Text(one_line(view["name"]), style="bold"), soft_wrap=True)  # never cut: it is copied into another command
            out().print(Padding(Text(one_line(facts(view))), (0, 0, 0, 2)))
        where = f" at {names[0]}; --edge lists those of {', '.join(names[1:])}" if names[1:] else ""
        out().print(f"{counted(len(found), 'document')}{f', {status.value},' if status else ''}{where}".rstrip(","), markup=False)


def remove(document: Document, edge: Edge = None, as_json: Json = False, state: State = DEFAULT_STATE) -> None:
    """Delete a document with all that came from it, and print the receipt; with the id of a deleted one, its receipt as it is now."""
    url = only_edge_url(StateDir(state), edge)
    with client() as http:
        receipts = [_deleted(http, url, view["document_id"]) for view in versions(http, url, document)] or known_receipts(
            http, url, document
        )
    if not receipts:
        raise ClusterError(f"there is no document {document!r} on this edge", next_step="see `dgrag documents`")
    if as_json:
        typer.echo(orjson.dumps({"receipts": receipts}).decode())
    else:
        out().print(render.table(("receipt", "document", "passages", "erased here", "cloud"), [_receipt(row) for row in receipts]))
    if reasons := [receipt.get("reason", "") for receipt in receipts if not receipt["erased"]]:
        raise ClusterError(f"deleted, but not erased from the files yet: {reasons[0]}", next_step="the edge goes on trying by itself")


def retry(
    document: Annotated[str | None, typer.Argument(metavar="[NAME_OR_ID]", help="Name or id of a document.")] = None,
    all_parked: Annotated[bool, typer.Option("--all-parked", help="Every parked document of the edge.")] = False,
    edge: Edge = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Let an edge try again what was parked, or what was indexed with shortfalls that another try may mend."""
    if (document is None) != all_parked:
        raise ClusterError("name one document, or say --all-parked")
    url = only_edge_url(StateDir(state), edge)
    with client() as http:
        found = list(paged(http, f"{url}/v1/documents", status="parked")) if document is None else versions(http, url, document)[-1:]
        if document is not None and not found:
            raise ClusterError(f"there is no document {document!r} on this edge", next_step="see `dgrag documents`")
        jobs = [body(http.post(f"{url}/v1/jobs/{view['job_id']}/retry")) for view in found]
    if as_json:
        typer.echo(orjson.dumps({"jobs": [{"name": job["name"], "job_id": job["job_id"]} for job in jobs]}).decode())
    else:
        out().print(render.table(("document", "job"), [(job["name"], job["job_id"]) for job in jobs]))


def reread(
    document: Annotated[str | None, typer.Option("--document", metavar="NAME_OR_ID", help="This document.")] = None,
    kind: Annotated[str | None, typer.Option("--format", metavar="SUFFIX", help="Those of a format, as in pdf.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All documents.")] = False,
    edge: Edge = None,
    as_json: Json = False,
    state: State = DEFAULT_STATE,
) -> None:
    """Let an edge read documents again from their files; without an option those that newer parsers would read anew.

    What reads the same is not indexed again.
    """
    if (document is not None) + (kind is not None) + everything > 1:
        raise ClusterError("name one document, or a format, or --all")
    url = only_edge_url(StateDir(state), edge)
    with client() as http:
        queued = body(http.post(f"{url}/v1/reread", json={"document": document or "", "format": kind or "", "all": everything}))
    if as_json:
        typer.echo(orjson.dumps(queued).decode())
        return
    out().print(f"{counted(queued['documents'], 'document')} will be read again", markup=False)
    if queued["without_original"]:
        missing = counted(queued["without_original"], "document")
        out().print(f"{missing} cannot be, as the files are no longer kept: send them again", markup=False)


def versions(http: httpx2.Client, url: str, document: str) -> list[dict[str, Any]]:
    """The versions of a document by its name, the newest last; or the one document of that id; or none."""
    if found := body(http.get(f"{url}/v1/documents", params={"name": document}))["documents"]:
        return list(found)
    try:
        return [body(http.get(f"{url}/v1/documents/{quote(document, safe='')}"))]
    except ServiceError:
        return []


def known_receipts(http: httpx2.Client, url: str, document: str) -> list[dict[str, Any]]:
    """The receipt, as it is now, of a deleted document, if this is its id."""
    if not DOCUMENT_ID.fullmatch(document):
        return []
    return list(body(http.get(f"{url}/v1/receipts", params={"document_id": document}))["receipts"][:1])


def _deleted(http: httpx2.Client, url: str, document_id: str) -> dict[str, Any]:
    return dict(body(http.delete(f"{url}/v1/documents/{document_id}", timeout=SETTLE_TIMEOUT)))


def facts(view: dict[str, Any]) -> str:
    """What stands below a document's name: its id, how far it is, its size, its labels, and what is to be known of it.

    >>> one = {"document_id": "9246fc2da145765d22bd6da8", "status": "indexed", "bytes": 2503, "labels": ["public"], "source": "pc:/ward"}
    >>> facts(one | {"reason": "", "next_step": "", "replaces": None, "served": True, "shortfalls": []})
    '9246fc2da145765d22bd6da8  indexed  2,503 bytes  labels public  from pc:/ward'
    """
    notes = [view["reason"], view["next_step"]] + ["a new version, which waits"] * bool(view["replaces"])
    notes += ["nothing of it is shared while it is parked"] * (view["status"] == "parked" and not view["served"])
    missing = [shortfall["message"] for shortfall in view["shortfalls"]]
    notes += [f"{counted(len(missing), 'shortfall')}: {' '.join(missing)}"] if missing else []
    notes += [f"from {view['source']}"] if view.get("source") else []
    notes += [f"{one['language']} read by {one['pack'] or 'nobody'}" for one in view.get("languages", ())]  # an older edge tells none
    labels = f"labels {', '.join(view['labels'])}" if view["labels"] else ""
    told = view["document_id"], f"{view['status']:<7}", counted(view["bytes"], "byte"), labels, " – ".join(filter(None, notes))
    return "  ".join(filter(None, told))


def _receipt(receipt: dict[str, Any]) -> tuple[str, ...]:
    erased = "yes" if receipt["erased"] else "not yet"
    return receipt["receipt_id"], receipt["document_id"], str(receipt["chunks"]), erased, receipt["cloud"]
