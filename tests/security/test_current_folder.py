"""Nothing that `dgrag` starts executes Python files of the folder that it is started in."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

NAMES = (
    "fastapi",
    "uvicorn",
    "json",
    "typer",
    "httpx2",
    "sitecustomize",
    "usercustomize",
    "edge_node",
    "cloud_server",
    "shared",
    "pip",
    "xllamacpp",
)
DGRAG = Path(sys.executable).with_name("dgrag")


@pytest.fixture
def folder(tmp_path):
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'a').write({name!r})\nraise SystemExit(99)\n")
    return tmp_path


def run(folder, *words):
    # a settings fault ends each service after its imports, before it does anything
    environment = {"PATH": "/usr/bin:/bin", "DGRAG_EDGE_PORT": "no-port", "DGRAG_CLOUD_PORT": "no-port"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


SERVE = (sys.executable, "-P", "-m", "shared.models.serve")  # as `spawn` starts it; the other services start below `dgrag`


@pytest.mark.parametrize(
    "words", [(DGRAG, "--version"), (DGRAG, "edge", "run"), (DGRAG, "cloud", "run"), SERVE], ids=lambda words: " ".join(words[1:])
)
def test_dgrag_runs_no_code_of_the_current_folder(folder, words):
    done = run(folder, *words)
    assert done.returncode != 99
    assert not (folder / "canary").exists(), done.stderr


@pytest.mark.parametrize("module", ["edge_node", "cloud_server", "shared.models.serve"])
def test_null_control_without_p_the_folder_is_executed(folder, module):
    run(folder, sys.executable, "-m", module)
    assert (folder / "canary").exists()


def test_no_launcher_of_ours_leaves_it_out():
    """Behind the interpreter `-m` never comes first; `spawn` adds -P by itself."""
    root = Path(__file__).parents[2]
    found = [path for part in ("shared", "edge_node", "cloud_server", "deploy", "benchmarks") for path in (root / part).rglob("*.py")]
    assert not [str(path) for path in found for before in ("sys.executable", "str(python)") if f'{before}, "-m"' in path.read_text()]
