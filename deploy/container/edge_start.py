"""An edge's first minute in a container: which site it is, who may ask it, and its place in the federation."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from deploy.cli.membership import with_client
from deploy.cluster.errors import ClusterError
from deploy.container.first_start import adopt_keys
from edge_node.cloud import membership as joining
from edge_node.cloud.client import CloudClient
from edge_node.cloud.membership import Membership
from edge_node.settings import EdgeSettings
from shared.records import EdgeId

FOLDER = "slots"


@dataclass(frozen=True, slots=True)
class Slot:
    """A place, held until ``descriptor`` is closed in this process and in what it turned into: also by kill -9."""

    number: int
    descriptor: int

    @property
    def edge(self) -> str:
        """The edge's id.

        >>> Slot(3, -1).edge
        'edge-3'
        """
        return f"edge-{self.number}"


def claimed(root: Path, most: int) -> Slot:
    """The lowest free slot of 1 … ``most`` under ``root``, by flock: the folder has to be on a local disk, not on NFS.

    The descriptor survives exec. Raises ClusterError where all are taken.
    """
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in range(1, most + 1):
        descriptor = os.open(folder / str(number), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        else:
            os.set_inheritable(descriptor, True)
            return Slot(number, descriptor)
    raise ClusterError(
        f"all {most} places for edges are taken", next_step="set DGRAG_EDGES to as many as you scale to, and the range of ports with it"
    )


@dataclass(frozen=True, slots=True)
class Site:
    """An edge and the folder of its store."""

    edge: str
    state: Path

    def environment(self) -> dict[str, str]:
        """The settings of the service that say so."""
        return {"DGRAG_EDGE_ID": self.edge, "DGRAG_EDGE_STATE_DIR": str(self.state)}


def prepared(settings: EdgeSettings, *, most: int, trust: Path, invitations: Path) -> Site:
    """Take a place, adopt the users' keys and join the cloud, each where that has not been done yet.

    An edge whose id is set is that one; any other takes the lowest free of ``most`` slots, and keeps it while this process
    or what it turns into lives. Raises ClusterError without a place or an invitation, CloudError, SettingsError.
    """
    site = Site(settings.id, settings.state_dir)
    if "id" not in settings.model_fields_set:
        slot = claimed(settings.state_dir, most)
        site = Site(slot.edge, settings.state_dir / slot.edge)
    adopt_keys(site.state, trust)
    if settings.cloud_url and Membership(site.state).joined_as(site.edge) is None:
        _join(site, settings, invitations / site.edge)
    return site


def _join(site: Site, settings: EdgeSettings, file: Path) -> None:
    try:
        invitation = file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ClusterError(f"{site.edge} is not invited", next_step="run `docker compose up -d` again, which invites anew") from error

    async def joined(client: CloudClient, membership: Membership) -> None:
        await joining.join(client, membership, invitation=invitation)

    edge, plain_http = EdgeId(site.edge), settings.cloud_plain_http
    with_client(settings.cloud_url, edge, site.state, joined, ca=settings.cloud_ca, plain_http=plain_http)
