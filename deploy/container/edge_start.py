"""An edge's first minute in a container: which site it is, who may ask it, and its place in the federation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deploy.cli.membership import with_client
from deploy.cluster.errors import ClusterError
from deploy.container.first_start import adopt_keys
from deploy.container.slots import claimed
from edge_node.link import joining
from edge_node.link.cloud_client import CloudClient
from edge_node.link.membership import Membership
from edge_node.settings import EdgeSettings
from shared.records import EdgeId


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
