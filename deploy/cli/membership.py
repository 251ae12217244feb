"""``dgrag edge join``, ``rotate`` and ``identity``: an edge and its key at a cloud."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import orjson
import typer

from deploy.cli.board import out
from deploy.cli.rest import ACCESS, DEFAULT_STATE, EdgeFolder, Json, Store, StoreOf, store_of
from deploy.cluster.errors import ClusterError
from edge_node.cloud import membership as joining
from edge_node.cloud.client import CloudClient, cloud_http
from edge_node.cloud.membership import Joined, Membership
from edge_node.egress.ledger import GuestLedger
from edge_node.egress.policy_file import NAME
from edge_node.policy.rules import first_policy
from edge_node.settings import EdgeSettings
from shared.errors import InputError
from shared.identity import key_id, replace_private
from shared.limits import Breaker
from shared.ports import SystemClock
from shared.records import EdgeId
from shared.tls import is_loopback
from shared.wire import EDGE_ID_PATTERN

PATIENCE_S = 10.0
T = TypeVar("T")
Authority = Annotated[  # named as the settings of the edge that runs
    Path | None, typer.Option("--ca", envvar="DGRAG_EDGE_CLOUD_CA", help="PEM file of the cloud's private certificate authority.")
]
PlainHttp = Annotated[
    bool, typer.Option("--plain-http", envvar="DGRAG_EDGE_CLOUD_PLAIN_HTTP", help="The cloud is called by http:// inside a VPN.")
]
Token = Annotated[
    str,
    typer.Option(
        envvar="DGRAG_TOKEN", help="The invitation, or - to read it here; without one only a cloud on this machine lets an edge in."
    ),
]


def join(
    cloud: Annotated[str, typer.Option(help="URL of the cloud.")],
    name: Annotated[str, typer.Option("--id", help="The edge's id, as it was invited.")],
    state: EdgeFolder,
    token: Token = "",
    ca: Authority = None,
    plain_http: PlainHttp = False,
) -> None:
    """Make a key for this edge and let the cloud know it; the private half stays here."""
    if re.fullmatch(EDGE_ID_PATTERN, name) is None:
        raise InputError(f"{name!r} is no edge id", next_step="use small letters, digits and hyphens")
    invitation = typer.get_text_stream("stdin").readline().strip() if token == "-" else token  # noqa: S105 - not a password

    async def joined(client: CloudClient, membership: Membership) -> None:
        if not is_loopback(client.host):
            _close(state)  # first: an edge that starts without a policy writes one by its settings
        await joining.join(client, membership, invitation=invitation)

    with_client(cloud, EdgeId(name), state, joined, ca=ca, plain_http=plain_http)
    trusted = ca or ACCESS.get().ca
    needed = (f"DGRAG_EDGE_CLOUD_CA={trusted} " if trusted else "") + ("DGRAG_EDGE_CLOUD_PLAIN_HTTP=true " if plain_http else "")
    typer.echo(f"{name} has joined {cloud}; start it with: {needed}dgrag edge run --id {name} --state {state}")


def _close(state: Path) -> None:
    """Where an edge that will speak to other machines has no policy yet, write one that shares nothing. Raises InputError."""
    target = state / NAME
    if EdgeSettings(state_dir=state).policy_file is not None or target.exists():
        return
    try:
        replace_private(target, first_policy("never").encode())
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}", next_step="check the folder") from error
    typer.echo(f"nothing leaves until you say what may: {target}")
    typer.echo(f"say it with: dgrag policy share summary --state {state}")


def rotate(state: Store = DEFAULT_STATE, edge: StoreOf = None, ca: Authority = None, plain_http: PlainHttp = False) -> None:
    """Give this edge a new key; the edge may be running, and the old key is taken for some time more."""
    folder = store_of(state, edge)
    known = known_cloud(folder)
    made = with_client(known.url, EdgeId(known.edge), folder, joining.rotate, ca=ca, plain_http=plain_http)
    out().print(f"{known.edge} signs with key {made} now", markup=False)


def identity(state: Store = DEFAULT_STATE, edge: StoreOf = None, as_json: Json = False) -> None:
    """Show this edge's key id, the cloud that it has joined, and the cloud's key id."""
    folder = store_of(state, edge)
    known = known_cloud(folder)
    facts = {
        "edge": known.edge,
        "key_id": Membership(folder).identity().key_id,
        "cloud": known.url,
        "cloud_key_id": key_id(known.cloud_key),
    }
    if as_json:
        typer.echo(orjson.dumps(facts).decode())
    else:
        for name, value in facts.items():
            out().print(f"{name}: {value}", markup=False)


def with_client(
    url: str,
    edge: EdgeId,
    state: Path,
    call: Callable[[CloudClient, Membership], Awaitable[T]],
    *,
    ca: Path | None,
    plain_http: bool,
) -> T:
    """Call a cloud as the edge in a state folder; without ``ca``, the one of ``dgrag --ca`` is trusted.

    Raises CloudError, SettingsError, StoreError.
    """

    async def called() -> T:
        clock = SystemClock()
        membership = Membership(state, clock)
        async with cloud_http(url, ca=ca or ACCESS.get().ca, plain_http=plain_http) as http:
            http.auth = membership
            client = CloudClient(http, edge, GuestLedger(state, clock), Breaker(1, PATIENCE_S, clock), patience_s=PATIENCE_S)
            return await call(client, membership)

    return asyncio.run(called())


def known_cloud(state: Path) -> Joined:
    """The cloud that the edge in a state folder has joined. Raises ClusterError where it has joined none."""
    if known := Membership(state).joined():
        return known
    raise ClusterError(f"the edge in {state} has joined no cloud", next_step="join one with `dgrag edge join`")
