"""cluster.json and what stands beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.cluster.errors import ClusterError
from deploy.cluster.processes import Mark
from deploy.cluster.state import ClusterState, Member, StateDir


def test_what_is_saved_is_loaded(tmp_path: Path):
    state = ClusterState(Mark(5, "b"), (Member("model", "standard", "http://m/v1"), Member("edge", "ward", "http://e", Mark(6, "c"))))
    directory = StateDir(tmp_path / "new" / "state")
    assert directory.load() is None
    directory.save(state)
    assert directory.load() == state
    directory.forget()
    directory.forget()
    assert directory.load() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"members": [{"role": "king"}]}'])
def test_a_file_that_is_not_ours_is_refused(tmp_path: Path, text: str):
    (tmp_path / "cluster.json").write_text(text)
    with pytest.raises(ClusterError, match="cannot be read"):
        StateDir(tmp_path).load()


def test_edges_with_a_store_are_known(tmp_path: Path):
    for name in ("b", "a"):
        (tmp_path / "edges" / name).mkdir(parents=True)
    (tmp_path / "edges" / "note.txt").touch()
    assert StateDir(tmp_path).known_edges() == ["a", "b"]


def test_edges_that_ran_are_known_in_that_order_after_a_stop_too(tmp_path: Path):
    directory = StateDir(tmp_path)
    for name in ("old", "attic", "ward"):
        (tmp_path / "edges" / name).mkdir(parents=True)
    directory.save_ports({"ward": 8100, "gone": 8101})
    directory.save_ports({"attic": 8102, "ward": 8103})
    directory.forget()
    assert directory.ports() == {"ward": 8103, "gone": 8101, "attic": 8102}
    assert directory.known_edges() == ["ward", "attic", "old"]


def test_members_are_found_by_role():
    edge, cloud = Member("edge", "ward", "http://e"), Member("cloud", "cloud", "http://c", Mark(1, "x"))
    state = ClusterState().with_member(cloud).with_member(edge)
    assert (state.of("edge"), state.of("cloud"), state.of("model")) == ([edge], [cloud], [])
    assert state.marks() == [Mark(1, "x")]
    assert state.running() == []
