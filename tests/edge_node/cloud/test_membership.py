"""An edge beside a cloud on the same machine: it joins by itself, and comes back whatever was deleted (goal S3)."""

import shutil

import httpx2
import pytest

from edge_node.cloud.membership import Membership
from shared.errors import SettingsError
from shared.http.open_mode import CALLER
from shared.identity import make_identity
from tests.support.running_cloud import running_cloud
from tests.support.running_edge import running_edge
from tests.support.signed import URL
from tests.support.waiting import until


def line(service):
    return httpx2.AsyncClient(headers=CALLER, transport=httpx2.ASGITransport(service.app), base_url=URL)


async def connected(folder, service):
    async with running_edge(folder, id="ward", cloud=line(service)) as edge:
        await until(lambda: edge.node.link.state.connected)


async def test_an_edge_joins_by_itself_and_pins_the_clouds_key(tmp_path):
    async with running_cloud(tmp_path / "cloud") as service:
        await connected(tmp_path / "ward", service)
        membership = Membership(tmp_path / "ward")
        assert membership.cloud_key() == service.cloud.credentials.identity.public_key
        assert [key.key_id for key in service.cloud.credentials.keys.live("ward")] == [membership.identity().key_id]


async def test_after_the_clouds_state_was_deleted_the_edge_joins_the_new_cloud(tmp_path):
    async with running_cloud(tmp_path / "cloud") as service:
        await connected(tmp_path / "ward", service)
        former = Membership(tmp_path / "ward").cloud_key()
    shutil.rmtree(tmp_path / "cloud")
    async with running_cloud(tmp_path / "cloud") as service:
        await connected(tmp_path / "ward", service)
        assert Membership(tmp_path / "ward").cloud_key() != former


async def test_after_the_clouds_key_alone_was_deleted_the_edge_pins_the_new_one(tmp_path):
    async with running_cloud(tmp_path / "cloud") as service:
        await connected(tmp_path / "ward", service)
    shutil.rmtree(tmp_path / "cloud" / "identity")
    async with running_cloud(tmp_path / "cloud") as service:
        await connected(tmp_path / "ward", service)
        assert Membership(tmp_path / "ward").cloud_key() == service.cloud.credentials.identity.public_key


async def test_after_the_edges_state_was_deleted_its_new_key_takes_the_place_of_the_old_one(tmp_path):
    async with running_cloud(tmp_path / "cloud") as service:
        await connected(tmp_path / "ward", service)
        shutil.rmtree(tmp_path / "ward")
        await connected(tmp_path / "ward", service)
        assert len(service.cloud.credentials.keys.live("ward")) == 1


async def test_a_readmitted_edge_comes_back_with_the_key_that_it_has(tmp_path):
    async with running_cloud(tmp_path / "cloud") as service:
        await connected(tmp_path / "ward", service)
        await service.http.delete("/v1/edges/ward")
        await service.http.post("/v1/edges/ward/readmit")
        await connected(tmp_path / "ward", service)


async def test_an_edge_whose_key_others_can_read_does_not_start(tmp_path):
    Membership(tmp_path / "ward").identity()
    (tmp_path / "ward" / "identity" / "edge.key").chmod(0o644)
    async with running_cloud(tmp_path / "cloud") as service:
        with pytest.raises(SettingsError, match="can be read by others"):
            await connected(tmp_path / "ward", service)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"edge": "ward", "url": "x", "cloud_key": "short", "joined_at": 1}'])
def test_a_membership_file_that_cannot_be_read_is_said_in_words(tmp_path, content):
    (tmp_path / "identity").mkdir()
    (tmp_path / "identity" / "cloud.json").write_text(content)
    with pytest.raises(SettingsError, match="cannot be read"):
        Membership(tmp_path).joined()


def test_a_key_that_is_replaced_while_the_edge_runs_is_used_from_then_on(tmp_path):
    membership = Membership(tmp_path)
    former = membership.identity()
    following = Membership(tmp_path).next_identity()
    assert membership.identity().key_id == former.key_id
    assert Membership(tmp_path).advance()
    assert membership.identity().key_id == following.key_id
    assert not membership.advance()


def test_a_folder_of_another_edge_is_refused_with_both_names(tmp_path):
    membership = Membership(tmp_path)
    assert membership.joined_as("ward") is None
    membership.note("ward", "https://cloud.example", make_identity().public_key)
    assert membership.joined_as("ward") == membership.joined()
    with pytest.raises(SettingsError, match=r"'bank'.*'ward'") as refused:
        membership.joined_as("bank")
    assert "--id ward" in refused.value.next_step
