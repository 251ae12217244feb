"""Folders that an edge keeps itself in step with."""

import pytest

from edge_node.records import document_id
from edge_node.settings import EdgeSettings
from tests.support.running_edge import running_edge
from tests.support.waiting import until


def as_held(root):
    """What the edge should hold of a folder."""
    files = [path for path in root.rglob("*") if path.is_file()]
    named = {f"{root.name}/{path.relative_to(root).as_posix()}": path for path in files}
    return {name: document_id(name, path.read_bytes()) for name, path in named.items()}


def held(edge):
    return {view["name"]: view["document_id"] for view in edge.node.documents.list(limit=1000)}


@pytest.fixture
def reports(tmp_path):
    root = tmp_path / "reports"
    (root / "sub").mkdir(parents=True)
    for name in ("a.md", "sub/b.txt"):
        (root / name).write_text(f"Juniper Ward reported the pump of {name}.")
    return root


async def test_an_edge_follows_its_folder(tmp_path, reports):
    async with running_edge(tmp_path / "edge", folders={str(reports): "public"}) as edge:
        await until(lambda: held(edge) == as_held(reports))
        (reports / "new.txt").write_text("The valve was replaced.")
        (reports / "a.md").rename(reports / "c.md")
        (reports / "sub" / "b.txt").unlink()
        await until(lambda: held(edge) == as_held(reports))
        await until(lambda: not edge.node.folders.states()[0].is_running)
        [told] = (await edge.http.get("/v1/status")).json()["folders"]
        assert (told["files"], told["error"], told["problems"]) == (2, "", [])
        assert all(view["labels"] == ["public"] for view in edge.node.documents.list(limit=10))
    sent = edge.node.folders.states()[0].sent
    async with running_edge(tmp_path / "edge", folders={str(reports): "public"}) as again:
        await until(lambda: again.node.folders.states()[0].ran_at is not None)
        assert (sent, again.node.folders.states()[0].sent) == (3, 0)


async def test_a_folder_that_goes_away_deletes_nothing_and_comes_back(tmp_path, reports):
    async with running_edge(tmp_path / "edge", folders={str(reports): ""}) as edge:
        await until(lambda: held(edge) == as_held(reports))
        before = held(edge)
        reports.rename(tmp_path / "away")
        await until(lambda: "cannot be read" in edge.node.folders.states()[0].error)
        assert held(edge) == before
        page = (await edge.http.get("/console/documents", headers={"Accept": "text/html"})).text
        assert "not in step" in page
        (tmp_path / "away" / "new.txt").write_text("The valve was replaced.")
        (tmp_path / "away").rename(reports)
        await until(lambda: held(edge) == as_held(reports))


async def test_a_file_that_is_not_in_step_is_shown_with_its_reason(tmp_path, reports):
    (reports / "big.txt").write_text("x" * 2000)
    async with running_edge(tmp_path / "edge", folders={str(reports): ""}, max_document_bytes=1000) as edge:
        await until(lambda: edge.node.folders.states()[0].ran_at is not None)
        page = (await edge.http.get("/console/documents/folders")).text
    assert "it has more than 1,000 bytes" in page
    assert "reports/big.txt" in page


@pytest.mark.parametrize("value", ["reports", "/a/x,/b/x", "/", f"/a/x={'l' * 65}"])
def test_folders_that_cannot_be_told_apart_or_have_no_right_label_are_refused_at_the_start(value, monkeypatch):
    monkeypatch.setenv("DGRAG_EDGE_FOLDERS", value)
    with pytest.raises(ValueError, match="folders"):
        EdgeSettings()


def test_folders_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("DGRAG_EDGE_FOLDERS", "/data/reports=public, /data/notes/")
    assert EdgeSettings().folders == {"/data/reports": "public", "/data/notes": ""}
