"""``dgrag sync`` against a real edge process."""

import signal

import pytest

from edge_node.records import document_id
from tests.support.synced import EdgeProcess, sync_process, synced
from tests.support.waiting import eventually

pytestmark = pytest.mark.process


@pytest.fixture
def edge(tmp_path):
    edge = EdgeProcess(tmp_path / "edge").start()
    yield edge
    edge.close()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "docs"
    for name in ("a.md", "sub/b.txt", "c.txt"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(f"The pump of {name} failed.")
    return made


def as_held(folder):
    """What the edge should hold."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): document_id(path.relative_to(folder).as_posix(), path.read_bytes()) for path in files}


def test_the_edge_equals_the_folder_after_each_run(edge, folder, tmp_path):
    assert synced(folder, edge.url, tmp_path, "--dry-run")["added"] == ["a.md", "c.txt", "sub/b.txt"]
    assert edge.held() == {}
    assert synced(folder, edge.url, tmp_path)["added"] == ["a.md", "c.txt", "sub/b.txt"]
    assert edge.held() == as_held(folder)
    again = synced(folder, edge.url, tmp_path)
    assert (again["unchanged"], again["added"], again["changed"]) == (3, [], [])

    (folder / "a.md").write_text("The pump of Juniper Ward works.")
    (folder / "c.txt").unlink()
    (folder / "sub" / "b.txt").rename(folder / 'odd "name" 100%.txt')
    (folder / "d.txt").write_text("The valve was replaced.")
    done = synced(folder, edge.url, tmp_path)
    assert (done["added"], done["changed"], done["deleted"]) == (["d.txt"], ["a.md"], ["c.txt"])
    assert done["renamed"] == [{"from": "sub/b.txt", "to": 'odd "name" 100%.txt'}]
    assert edge.held() == as_held(folder)
    assert all(view["source"] == "s" and view["status"] == "indexed" for view in edge.documents())


def test_what_came_another_way_is_never_touched(edge, folder, tmp_path):
    other, taken = edge.add("other.txt", "The nurse called."), edge.add("a.md", "The ward closed.")
    said = synced(folder, edge.url, tmp_path, ends=1)
    assert [problem["name"] for problem in said["problems"]] == ["a.md"]
    (folder / "a.md").unlink()
    synced(folder, edge.url, tmp_path)
    assert edge.held() == as_held(folder) | {"other.txt": other, "a.md": taken}


def test_an_empty_folder_does_not_wipe_the_site(edge, folder, tmp_path):
    synced(folder, edge.url, tmp_path)
    before = edge.held()
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "have no file any more: nothing was changed" in synced(empty, edge.url, tmp_path, ends=1)
    assert synced(empty, edge.url, tmp_path, "--keep-deleted")["kept"] == 3
    assert edge.held() == before
    assert len(synced(empty, edge.url, tmp_path, "--force")["deleted"]) == 3
    assert edge.held() == {}


def test_labels_are_given_to_all_without_sending_them_again(edge, folder, tmp_path):
    synced(folder, edge.url, tmp_path)
    done = synced(folder, edge.url, tmp_path, "--label", "public, ward 7")
    assert (len(done["relabelled"]), done["changed"]) == (3, [])
    assert {tuple(view["labels"]) for view in edge.documents()} == {("public", "ward 7")}
    assert synced(folder, edge.url, tmp_path)["unchanged"] == 3


def test_a_parked_document_is_told_and_not_sent_again(edge, folder, tmp_path):
    (folder / "empty.txt").write_text(" ")
    assert synced(folder, edge.url, tmp_path, ends=1)["added"] == ["a.md", "c.txt", "empty.txt", "sub/b.txt"]
    said = synced(folder, edge.url, tmp_path, ends=1)
    assert (said["added"], [problem["name"] for problem in said["problems"]]) == ([], ["empty.txt"])


def test_watching_follows_each_change_survives_the_edge_and_ends_clean(edge, folder, tmp_path):
    child = sync_process(folder, edge.url, tmp_path, "--watch")
    try:
        assert eventually(lambda: edge.held() == as_held(folder))
        (folder / "new.txt").write_text("The valve was replaced.")
        assert eventually(lambda: edge.held() == as_held(folder))
        edge.kill()
        (folder / "a.md").write_text("The pump of Juniper Ward works.")
        assert any("tried again" in line for line in child.stderr)  # reads on until it is said
        edge.start()
        assert eventually(lambda: edge.held() == as_held(folder))
    finally:
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=60)
    assert (child.returncode, "Traceback" in told) == (0, False)
