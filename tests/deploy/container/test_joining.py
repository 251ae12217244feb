"""How the edges of a trial get into its federation: `enrol` invites those that have not joined, and each edge uses its own invitation."""

import httpx2
import pytest

from deploy.cluster.errors import ClusterError
from deploy.container.edge_start import prepared
from deploy.container.first_start import named, write_invitations
from edge_node.cloud.membership import Membership
from edge_node.settings import EdgeSettings
from shared.errors import CloudRefused, SettingsError
from tests.support.signed import URL


@pytest.fixture
def place(tmp_path):
    """Folders as the volumes of the edges."""
    for name in ("state", "trust", "invitations"):
        (tmp_path / name).mkdir()
    return tmp_path


def start(place, **given):
    settings = EdgeSettings(state_dir=place / "state", cloud_url=URL, **given)
    return prepared(settings, most=4, trust=place / "trust", invitations=place / "invitations")


def enrol(cloud, place, *edges, replace=False):
    return write_invitations(cloud.http, edges, place / "invitations", replace=replace)


def test_a_replica_joins_as_the_site_of_its_slot(cloud, place):
    assert enrol(cloud, place, "edge-1", "edge-2") == ["edge-1", "edge-2"]
    sites = [start(place), start(place)]
    assert [site.environment() for site in sites] == [
        {"DGRAG_EDGE_ID": f"edge-{number}", "DGRAG_EDGE_STATE_DIR": str(place / "state" / f"edge-{number}")} for number in (1, 2)
    ]
    assert [row.edge for row in cloud.registry.all()] == ["edge-1", "edge-2"]


def test_an_edge_with_an_id_of_its_own_takes_no_slot(cloud, place):
    enrol(cloud, place, "plant")
    site = start(place, id="plant")
    assert (site.edge, site.state) == ("plant", place / "state")
    assert not (place / "state" / "slots").exists()


def test_an_edge_that_has_joined_starts_without_invitation_and_without_a_cloud(cloud, place, monkeypatch):
    enrol(cloud, place, "plant")
    start(place, id="plant")
    (place / "invitations" / "plant").unlink()
    monkeypatch.setattr("deploy.cli.membership.cloud_http", lambda url, **_: pytest.fail("the cloud was called"))
    assert start(place, id="plant").edge == "plant"


def test_an_edge_without_an_invitation_is_told_how_it_gets_one(cloud, place):
    with pytest.raises(ClusterError, match="plant is not invited") as caught:
        start(place, id="plant")
    assert "docker compose up" in caught.value.next_step


def test_an_invitation_that_does_not_hold_is_refused(cloud, place):
    (place / "invitations" / "plant").write_text(f"inv_{'x' * 43}")
    with pytest.raises(CloudRefused, match="unknown, used, expired"):
        start(place, id="plant")


def test_an_edge_alone_joins_nothing(place):
    site = prepared(EdgeSettings(id="alone", state_dir=place / "state"), most=1, trust=place, invitations=place)
    assert Membership(site.state).joined() is None


def test_the_folder_of_another_edge_is_not_used(cloud, place):
    enrol(cloud, place, "plant", "bank")
    start(place, id="plant")
    with pytest.raises(SettingsError, match="state folder is that of edge 'plant'"):
        start(place, id="bank")


def test_who_has_joined_is_not_invited_again_and_its_file_goes(cloud, place):
    enrol(cloud, place, "plant", "bank")
    start(place, id="plant")
    assert enrol(cloud, place, "plant", "bank") == ["bank"]
    assert [path.name for path in (place / "invitations").iterdir()] == ["bank"]


def test_an_edge_whose_volume_was_lost_comes_in_again_with_another_key(cloud, place):
    enrol(cloud, place, "plant")
    start(place, id="plant")
    (place / "state").rename(place / "lost")
    assert enrol(cloud, place, "plant", replace=True) == ["plant"]
    assert start(place, id="plant").edge == "plant"


def test_a_cloud_that_is_not_there_is_said(place):
    def away(request):
        raise httpx2.ConnectError("nobody", request=request)

    with httpx2.Client(transport=httpx2.MockTransport(away), base_url=URL) as http, pytest.raises(ClusterError, match="does not answer"):
        write_invitations(http, ["plant"], place / "invitations")


def test_a_count_means_the_replicas_and_ids_mean_themselves():
    assert (named(["3"]), named(["bank"])) == (["edge-1", "edge-2", "edge-3"], ["bank"])
    with pytest.raises(ClusterError, match="cannot be an edge's name"):
        named(["../etc"])
