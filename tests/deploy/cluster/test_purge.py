"""Deleting a cluster's folder: all that is ours, nothing else, and nothing that runs."""

import os

import pytest

from deploy.cluster.errors import ClusterError
from deploy.cluster.lifecycle import purge, require_ours
from deploy.cluster.processes import Mark, birth
from deploy.cluster.state import ClusterState, Member, StateDir, SupervisorPlan
from tests.support.running_cloud import running_cloud
from tests.support.running_edge import running_edge


@pytest.fixture
def directory(tmp_path):
    made = StateDir(tmp_path / "state")
    made.save(ClusterState())
    made.save_charge(SupervisorPlan(()))
    for place in ("cloud/cloud.db", "database/PG_VERSION", "edges/ward/edge.db", "logs/cloud.log"):
        file = made.root / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    return made


async def test_all_that_real_services_leave_behind_is_ours(tmp_path):
    async with running_edge(tmp_path / "edges" / "ward") as edge, running_cloud(tmp_path / "cloud"):
        await edge.add("notes.md", "Juniper Ward reported a failure.")
    assert (tmp_path / "edges" / "ward" / "edge.db").exists()
    require_ours(tmp_path)


def test_the_folder_is_gone_afterwards(directory):
    purge(directory)
    assert not directory.root.exists()


@pytest.mark.parametrize("path", ["backup.db", "edges/notes.txt", "edges/ward/ward.backup", "cloud/old/x"])
def test_nothing_is_deleted_while_something_else_lies_there(directory, path):
    (directory.root / path).parent.mkdir(exist_ok=True)
    (directory.root / path).write_text("mine")
    with pytest.raises(ClusterError, match="no state of a cluster: " + path.removesuffix("/x")):
        purge(directory)
    assert directory.file.exists()
    assert (directory.root / "edges" / "ward" / "edge.db").exists()


@pytest.mark.parametrize("path", ["edges", "cloud", "edges/ward"])
def test_a_link_to_elsewhere_is_not_followed(directory, tmp_path, path):
    folder = directory.root / path
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ClusterError, match=f"no state of a cluster: {path}"):
        purge(directory)
    assert any((tmp_path / "elsewhere").iterdir())


def test_a_cluster_that_runs_is_not_deleted(directory):
    directory.save(ClusterState(members=(Member("cloud", "cloud", "http://c", Mark(os.getpid(), birth(os.getpid()))),)))
    with pytest.raises(ClusterError, match="running already"):
        purge(directory)
    assert directory.file.exists()


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ClusterError, match="nothing to delete"):
        purge(StateDir(tmp_path / "none"))
