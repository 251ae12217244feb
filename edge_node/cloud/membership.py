"""What an edge holds of its membership in a cloud: its key, and the cloud's key that it pinned when it joined."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from http import HTTPStatus
from pathlib import Path

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from edge_node.cloud.client import CloudClient
from shared.errors import CloudRefused, CloudUnavailable, SettingsError
from shared.identity import Identity, key_id, load_identity, make_identity, open_identity, replace_private, save_identity
from shared.ports import Clock, SystemClock
from shared.signing import ANY_CLOUD, Signature, rotation_message
from shared.tls import is_loopback
from shared.wire import Enrolled, Enrolment, PublicKey, Rotation

FOLDER = "identity"
JOIN_PATH = "/v1/edges"


class Joined(BaseModel):
    """``cloud.json``: the cloud that took the edge's key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    edge: str
    url: str
    cloud_key: PublicKey
    joined_at: float  # seconds since the epoch


class Membership(httpx2.Auth):
    """The folder ``state_dir/identity``, and the signature of every request of a client that has it as its ``auth``.

    The files are looked at for each request, so that a key that `dgrag edge rotate` has put there is used from the next one on.
    Raises SettingsError for files that others can read or that are not ours.
    """

    requires_request_body = True

    def __init__(self, state_dir: Path, clock: Clock = SystemClock()) -> None:  # noqa: B008 - it has no state
        self._clock = clock
        self._key = state_dir / FOLDER / "edge.key"
        self._next = state_dir / FOLDER / "edge.key.next"
        self._former = state_dir / FOLDER / "edge.key.former"
        self._cloud = state_dir / FOLDER / "cloud.json"
        self._loaded: tuple[tuple[int, ...], Identity] | None = None

    def identity(self) -> Identity:
        """The edge's present key; made at first use."""
        if not self._key.exists():
            return open_identity(self._key)
        found = self._key.stat()
        version = (found.st_mtime_ns, found.st_ino)
        if self._loaded is None or self._loaded[0] != version:
            self._loaded = version, load_identity(self._key)
        return self._loaded[1]

    def joined(self) -> Joined | None:
        """The cloud that the edge has joined; None: none yet."""
        try:
            return Joined.model_validate_json(self._cloud.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise SettingsError(f"{self._cloud} cannot be read", next_step="delete it, and join again") from error

    def joined_as(self, edge: str) -> Joined | None:
        """As ``joined``. Raises SettingsError where it was another edge that joined: its key and its ledger are here."""
        joined = self.joined()
        if joined is not None and joined.edge != edge:
            raise SettingsError(
                f"this is edge {edge!r}, and its state folder is that of edge {joined.edge!r}, which has joined {joined.url}",
                next_step=f"start it with --id {joined.edge} (DGRAG_EDGE_ID), or give {edge} a state folder of its own and join from there",
            )
        return joined

    def cloud_key(self) -> str:
        """The pinned public key of the cloud, in base64; "" before the edge has joined."""
        joined = self.joined()
        return joined.cloud_key if joined else ""

    def note(self, edge: str, url: str, cloud_key: str) -> None:
        """Remember the cloud that took the key."""
        joined = Joined(edge=edge, url=url, cloud_key=cloud_key, joined_at=self._clock.now())
        replace_private(self._cloud, joined.model_dump_json(indent=1).encode())

    def next_identity(self) -> Identity:
        """The key that is to take the present one's place: on disk before the cloud hears of it, the same until it has."""
        if not self._next.exists():
            save_identity(self._next, make_identity())
        return load_identity(self._next)

    def advance(self) -> bool:
        """Put the next key in the present one's place, which is kept; False when there is none."""
        return self._turn(self._next, self._former)

    def go_back(self) -> bool:
        """Put the former key in the present one's place, which is to be the next one again; False when there is none."""
        return self._turn(self._former, self._next)

    def _turn(self, coming: Path, going: Path) -> bool:
        if not coming.exists():
            return False
        save_identity(going, self.identity())
        coming.replace(self._key)
        return True

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Sign for the cloud that the edge has joined, or for any where it asks to join."""
        pinned = self.cloud_key()
        audience = key_id(pinned) if pinned and request.url.path != JOIN_PATH else ANY_CLOUD
        yield from Signature(self.identity(), audience, self._clock).auth_flow(request)


async def join(client: CloudClient, membership: Membership, *, invitation: str = "") -> Enrolled:
    """Make the edge's key known to the cloud, and pin the cloud's. Raises CloudError, SettingsError."""
    identity = await asyncio.to_thread(membership.identity)
    known = await client.enrol(Enrolment(edge=client.edge, public_key=identity.public_key, invitation=invitation))
    try:
        await asyncio.to_thread(membership.note, client.edge, client.recipient, known.cloud_key)
    except ValidationError as error:
        raise CloudUnavailable("the cloud's key is not of the agreed form") from error
    return known


async def rejoin(client: CloudClient, membership: Membership) -> None:
    """What an edge can do by itself when the cloud does not know its key: finish a rotation, or undo it, or join a cloud on this machine.

    No key is lost on the way: that the cloud does not know one may have been said by somebody else.

    Raises CloudRefused (``not_joined``) where an operator's invitation is needed, CloudError, SettingsError.
    """
    for turn in (membership.advance, membership.go_back):
        if await asyncio.to_thread(turn) and await _is_known(client):
            return
    if not is_loopback(client.host):
        raise CloudRefused(
            f"this edge has not joined the cloud at {client.recipient}, or is not known there any more: ask the cloud's operator for an"
            " invitation (`dgrag cloud invite`), and use it with `dgrag edge join`",
            status=401,
            reason="not_joined",
        )
    await join(client, membership)


async def _is_known(client: CloudClient) -> bool:
    try:
        await client.greet()
    except CloudRefused as error:
        if error.status != HTTPStatus.UNAUTHORIZED:
            raise
        return False
    return True


async def rotate(client: CloudClient, membership: Membership) -> str:
    """Make a new key and let it take the present one's place; returns its id. Raises CloudError, SettingsError.

    Cut at any moment, it can be done again; an edge that runs meanwhile goes on with the key that is there.
    """
    present, following = await asyncio.to_thread(lambda: (membership.identity(), membership.next_identity()))
    proof = following.sign(rotation_message(client.edge, present.key_id))
    await client.rotate(Rotation(public_key=following.public_key, proof=proof))
    await asyncio.to_thread(membership.advance)
    return following.key_id
