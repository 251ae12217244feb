import ast
import subprocess

import pytest

from benchmarks import machine as module
from benchmarks.machine import (
    AFTERWARDS,
    ASKING,
    PEERS,
    PRODUCT,
    READ_PATH,
    READERS,
    RESULTS,
    SINGLE,
    WRITERS,
    answering_code,
    code,
    indexing_code,
    machine,
    prompts,
)


def test_the_commit_of_a_repository_is_told(root):
    told = code(root)
    assert set(told) == {"commit", "dirty", "version"}
    assert told["commit"] == "unknown" or len(told["commit"]) == 40


def test_outside_of_a_repository_the_commit_is_unknown(tmp_path):
    told = code(tmp_path)
    assert told["commit"] == "unknown"
    assert told["dirty"] is None


def test_the_machine_has_a_processor_cores_and_memory():
    told = machine()
    assert told["cpu"]
    assert told["cores"] >= 1
    assert told["memory_gb"] > 0


def test_a_prompts_hash_follows_its_text(tmp_path):
    file = tmp_path / "edge_node" / "prompts" / "answer.md"
    file.parent.mkdir(parents=True)
    file.write_text("one")
    first = prompts(tmp_path)
    file.write_text("two")
    assert list(first) == ["edge_node/prompts/answer.md"]
    assert prompts(tmp_path) != first


def test_every_prompt_of_the_project_is_listed():
    assert {"shared/prompts/draft.md", "edge_node/prompts/map.md", "benchmarks/prompts/covers.md"} <= prompts().keys()


def written(root, place, text):
    file = root / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    "place",
    [
        "edge_node/graph/store.py",
        "edge_node/settings.py",
        "edge_node/policy/standard.toml",
        "edge_node/prompts/extract.md",
        "cloud_server/migrations/1.sql",
        "shared/wire.py",
        "edge_node/of_tomorrow/part.py",
        "deploy/cli/add.py",
    ],
)
def test_an_index_belongs_to_all_that_can_change_it(tmp_path, place):
    written(tmp_path, place, "one")
    index, rows = indexing_code(tmp_path), answering_code(tmp_path)
    written(tmp_path, place, "two")
    assert indexing_code(tmp_path) != index
    assert answering_code(tmp_path) != rows


@pytest.mark.parametrize(
    "place",
    [
        "edge_node/answering/gate.py",
        "cloud_server/answering/passages.py",
        "benchmarks/systems.py",
        "benchmarks/metrics/text.py",
        "benchmarks/prompts/covers.md",
        "benchmarks/of_tomorrow.py",
    ],
)
def test_what_only_reads_makes_new_rows_on_the_same_index(tmp_path, place):
    written(tmp_path, place, "one")
    index, rows = indexing_code(tmp_path), answering_code(tmp_path)
    written(tmp_path, place, "two")
    assert indexing_code(tmp_path) == index
    assert answering_code(tmp_path) != rows


@pytest.mark.parametrize(
    "place",
    [
        "benchmarks/report/page.py",
        "benchmarks/summary.py",
        "benchmarks/clouds/hijack.py",
        "benchmarks/erarag/growth.py",
        "deploy/cli/ask.py",
        "docs/x.md",
        "edge_node/__pycache__/gate.pyc",
    ],
)
def test_what_cannot_change_a_row_changes_no_hash(tmp_path, place):
    before = indexing_code(tmp_path), answering_code(tmp_path)
    written(tmp_path, place, "one")
    assert (indexing_code(tmp_path), answering_code(tmp_path)) == before


@pytest.mark.parametrize(
    "place", ["benchmarks/peers/run.py", "benchmarks/meters.py", "benchmarks/stand_ins.py", "benchmarks/instant_edge.py"]
)
def test_what_asks_peers_is_code_of_a_run_with_peers_alone(tmp_path, place):
    before, with_peers = answering_code(tmp_path), answering_code(tmp_path, peers=True)
    written(tmp_path, place, "one")
    assert answering_code(tmp_path) == before
    assert answering_code(tmp_path, peers=True) != with_peers


def test_another_version_of_a_library_is_other_code(tmp_path, monkeypatch):
    index, rows = indexing_code(tmp_path), answering_code(tmp_path)
    monkeypatch.setattr(module, "version", lambda library: "9" if library == "xllamacpp" else "")
    writer = indexing_code(tmp_path), answering_code(tmp_path)
    monkeypatch.setattr(module, "version", lambda library: "9" if library == "spacy" else "")
    assert len({index, writer[0], indexing_code(tmp_path)}) == 3
    assert len({rows, writer[1], answering_code(tmp_path)}) == 3


def test_libraries_that_count_are_those_of_the_project(root):
    named = (root / "constraints.txt").read_text().replace("_", "-")
    assert all(f"\n{name}==" in named for name in (*READERS, *WRITERS))


def test_a_file_that_moves_is_other_code(tmp_path):
    written(tmp_path, "shared/a.py", "one")
    before = indexing_code(tmp_path)
    (tmp_path / "shared" / "a.py").rename(tmp_path / "shared" / "b.py")
    assert indexing_code(tmp_path) != before


def test_places_that_only_read_are_there(root):
    assert all((root / place).exists() for place in (*PRODUCT, *READ_PATH, *ASKING, *AFTERWARDS, *SINGLE, *PEERS))


def imported(root, place):
    """Files of the benchmarks that a file imports."""
    tree = ast.parse((root / place).read_text(encoding="utf-8"))
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchmarks")]
    found = {module.replace(".", "/") for module in modules}
    return {f"{path}{end}" for path in found for end in (".py", "/__init__.py") if (root / f"{path}{end}").exists()}


def test_nothing_that_makes_a_row_is_left_out_of_its_hash(root):
    waiting = {
        file.relative_to(root).as_posix()
        for folder in ("stages", "peers", "datasets")
        for file in (root / "benchmarks" / folder).glob("*.py")
    }
    seen = set[str]()
    while waiting:
        seen.add(place := waiting.pop())
        waiting |= imported(root, place) - seen
    left_out = [root / place for place in (*AFTERWARDS, *SINGLE)]
    of_peers = [root / place for place in PEERS]
    reach_peers = {
        place for place in seen for other in imported(root, place) if any((root / other).is_relative_to(one) for one in of_peers)
    }
    assert {place for place in reach_peers if not any((root / place).is_relative_to(one) for one in of_peers)} == {"benchmarks/config.py"}
    assert "benchmarks/metrics/text.py" in seen  # of a retrieval's row
    assert [place for place in seen if any((root / place).is_relative_to(folder) for folder in left_out)] == []


def test_results_that_a_run_wrote_do_not_make_the_code_another(tmp_path):
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first", "--allow-empty"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / RESULTS).mkdir(parents=True)
    (tmp_path / RESULTS / "tiny.json").write_text("{}")
    assert code(tmp_path)["dirty"] is False
    (tmp_path / "benchmarks" / "new.py").write_text("")
    assert code(tmp_path)["dirty"] is True
