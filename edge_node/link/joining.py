"""An edge joins a cloud, and changes its key: the private halves stay where they were made."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from pydantic import ValidationError

from edge_node.link.cloud_client import CloudClient
from edge_node.link.membership import Membership
from shared.errors import CloudRefused, CloudUnavailable
from shared.loopback import is_loopback
from shared.signing import rotation_message
from shared.wire import Enrolled, Enrolment, Rotation


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
