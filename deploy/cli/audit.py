"""``dgrag audit``: what has left an edge, and whether the list of it is whole. The edge may be running."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import orjson
import typer

from deploy.cli import render
from deploy.cli.board import err, out
from deploy.cli.membership import Authority, PlainHttp, known_cloud, with_client
from deploy.cli.rest import DEFAULT_STATE, Force, Json, Store, StoreOf, require_free, store_of
from edge_node.cloud.client import CloudClient
from edge_node.cloud.membership import Joined, Membership
from edge_node.database.backup import FILE
from edge_node.egress.ledger import Entry, ledger_of, read_disclosed, read_entries, read_faults, read_newest
from edge_node.egress.ledger_export import FORMS
from shared.errors import CloudRefused, CloudUnavailable, InputError
from shared.identity import is_signed
from shared.records import EdgeId
from shared.wire import Countersigned, Head, head_message

app = typer.Typer()
FAULTY = 4
COLUMNS_SHOWN = {">record": False, "at (UTC)": False, "what": False, "for": True, "purpose": True, "rule": True, ">bytes": False}


@app.command("list")
def list_records(
    edge: StoreOf = None,
    state: Store = DEFAULT_STATE,
    limit: Annotated[int, typer.Option(min=1, help="So many records, the newest ones.")] = 50,
    since: Annotated[datetime | None, typer.Option(help="None that left before (UTC).")] = None,
    requester: Annotated[str, typer.Option(help="Only what left for this edge, or this operator:NAME.")] = "",
    as_json: Json = False,
) -> None:
    """Show what has left, the newest records last. --json tells all of each record."""
    begins = since.replace(tzinfo=UTC).timestamp() if since else 0.0
    with ledger_of(store_of(state, edge) / FILE) as ledger:
        records = read_newest(ledger, limit=limit, since=begins, requester=requester)
    if as_json:
        typer.echo(orjson.dumps({"records": [asdict(record) for record in records]}).decode())
    elif records:
        out().print(render.lines(COLUMNS_SHOWN, [_cells(record) for record in records]))
    else:
        out().print("nothing matches" if since or requester else "nothing has left", markup=False)


@app.command("crawlers")
def list_crawlers(
    edge: StoreOf = None,
    state: Store = DEFAULT_STATE,
    limit: Annotated[int, typer.Option(min=1, help="So many requesters, those that have had most.")] = 50,
    as_json: Json = False,
) -> None:
    """Show how many different passages all requesters together, and each, have had since midnight (UTC), most first."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    with ledger_of(store_of(state, edge) / FILE) as ledger:
        found = read_disclosed(ledger, since=today.timestamp(), limit=limit)
    if as_json:
        typer.echo(orjson.dumps(asdict(found)).decode())
    elif found.disclosed:
        shown = {"for": True, ">passages": False, ">of all": False}
        had = [("all together", found.together), *found.disclosed.items()]
        out().print(render.lines(shown, [(who, f"{n:,}", f"{n / max(found.passages, 1):.1%}") for who, n in had]))
    else:
        out().print("nothing has left today", markup=False)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="*.jsonl or *.csv.")],
    force: Force = False,
    edge: StoreOf = None,
    state: Store = DEFAULT_STATE,
) -> None:
    """Write all records to a file, for other programs."""
    if (form := FORMS.get(file.suffix.removeprefix("."))) is None:
        raise InputError(f"{file} is neither .jsonl nor .csv", next_step="name the file so that its end says its form")
    require_free(file, force=force)
    try:
        with ledger_of(store_of(state, edge) / FILE) as ledger, file.open("w", encoding="utf-8", newline="") as target:
            target.write(form.head)
            count = sum(1 for record in read_entries(ledger) if target.write(form.line(record)))
    except OSError as error:
        raise InputError(
            f"{file} cannot be written: {error.strerror}", next_step="name a file in a folder that you may write to"
        ) from error
    err().print(f"{count} records written to {file}", markup=False)


@app.command()
def verify(
    edge: StoreOf = None,
    state: Store = DEFAULT_STATE,
    cloud: Annotated[bool, typer.Option("--cloud", help="Compare with every record that the cloud has countersigned, too.")] = False,
    ca: Authority = None,
    plain_http: PlainHttp = False,
    as_json: Json = False,
) -> None:
    """Say whether any record was edited, deleted, moved or cut off. With --cloud this is also seen where all signs of it here are gone.

    What was lost when the store was restored from a backup is a fault too, and is named so. Exit codes: 0 the ledger is whole; 4 it is not.
    """
    folder = store_of(state, edge)
    with ledger_of(folder / FILE) as ledger:
        seen = _heads(folder, ca, plain_http=plain_http) if cloud else []
        count, faults = ledger.execute("SELECT count(*) FROM egress").fetchone()[0], read_faults(ledger, seen)
    if as_json:
        typer.echo(orjson.dumps({"records": count, "faults": [asdict(fault) for fault in faults]}).decode())
    elif faults:
        out().print(render.table(("record", "fault"), [(str(fault.seq), fault.what) for fault in faults]))
    else:
        asked = "" if cloud else "; the cloud was not asked (--cloud)"
        out().print(f"{count} records, each as it was written{asked}", markup=False)
    if faults:
        raise typer.Exit(FAULTY)


def _heads(state: Path, ca: Path | None, *, plain_http: bool) -> list[Head]:
    """All that the cloud has countersigned. Raises ClusterError for an edge that has not joined, CloudError, SettingsError."""
    known = known_cloud(state)

    async def shown(client: CloudClient, _: Membership) -> list[Head]:
        heads: list[Head] = []
        while page := await client.heads(heads[-1] if heads else None):
            heads += [_checked(one, known) for one in page]
        if sorted(heads, key=_place) != heads:
            raise CloudUnavailable("the cloud shows the heads of the ledger in another order than theirs")
        return heads

    return with_client(known.url, EdgeId(known.edge), state, shown, ca=ca, plain_http=plain_http)


def _place(head: Head) -> tuple[str, int]:
    return head.epoch, head.seq


def _checked(seen: Countersigned, known: Joined) -> Head:
    if not is_signed(head_message(known.edge, seen.head, seen.at), signature=seen.signature, public_key=known.cloud_key):
        raise CloudRefused("a head is not signed by the cloud that this edge joined", status=200, reason="bad_signature")
    return seen.head


def _cells(record: Entry) -> tuple[str, ...]:
    at = datetime.fromtimestamp(record.at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    rule = record.rule.partition("; policy")[0]  # the policy's version is in the JSON
    return (str(record.seq), at, record.kind, record.requester or "-", record.purpose or "-", rule or "-", f"{record.bytes:,}")
