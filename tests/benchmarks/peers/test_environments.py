import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.peers import environments
from benchmarks.peers.environments import environment, python_of


def refuse(command, **_):
    """A pip without its index."""
    failed = "pip" in command
    return subprocess.CompletedProcess(command, int(failed), "", "ERROR: No matching distribution found for x\n" if failed else "")


@pytest.fixture
def offline(monkeypatch, tmp_path):
    monkeypatch.setattr(environments.subprocess, "run", refuse)
    (tmp_path / "venv-lightrag").mkdir()
    return tmp_path


def test_our_edge_runs_in_our_own_environment(tmp_path):
    assert python_of("dgrag", tmp_path) == Path(sys.executable)


def test_settings_of_the_shell_do_not_reach_a_system_or_its_model_server(monkeypatch, tmp_path):
    names = {"DGRAG_EDGE_SAMPLES", "DGRAG_MODEL_EMBEDDER", "DGRAG_MODEL_DIR", "LIGHTRAG_X"}
    for name in names:
        monkeypatch.setenv(name, "x")
    assert names & set(environment("dgrag", tmp_path)) == {"DGRAG_MODEL_DIR"}


def test_without_an_index_the_error_says_what_to_do(monkeypatch, tmp_path):
    def fake(command, **options):
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)
        return refuse(command, **options)

    monkeypatch.setattr(environments.subprocess, "run", fake)
    with pytest.raises(BenchmarkError, match="No matching distribution found for x") as caught:
        python_of("lightrag", tmp_path)
    assert "leave lightrag out" in caught.value.next_step
    assert not (tmp_path / "venv-lightrag" / "installed.txt").exists()


def test_the_vocabulary_is_asked_for_once_and_its_lack_is_told(offline):
    with pytest.raises(BenchmarkError, match="vocabulary"):
        environment("lightrag", offline)
    (offline / "tiktoken").mkdir()
    (offline / "tiktoken" / environments.VOCABULARY).write_bytes(b"")
    assert environment("lightrag", offline)["TIKTOKEN_CACHE_DIR"] == str(offline / "tiktoken")


def test_an_environment_is_made_once_for_its_pins(monkeypatch, tmp_path):
    commands: list[list[str]] = []

    def fake(command, **_):
        commands.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(environments.subprocess, "run", fake)
    first = python_of("lightrag", tmp_path)
    assert python_of("lightrag", tmp_path) == first == tmp_path / "venv-lightrag" / "bin" / "python"
    assert len(commands) == 2
    (tmp_path / "venv-lightrag" / "installed.txt").write_text("other pins", encoding="utf-8")
    python_of("lightrag", tmp_path)
    assert len(commands) == 4


@pytest.mark.parametrize("system", environments.REQUIREMENTS)
def test_every_package_of_a_peer_has_an_exact_pin(system):
    pins = (Path(environments.__file__).parent / environments.REQUIREMENTS[system]).read_text(encoding="utf-8").splitlines()
    assert all("==" in pin for pin in pins)
    assert any(pin.startswith(system) for pin in pins)
