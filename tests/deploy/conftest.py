"""The ``dgrag`` command with fake services that run as processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.cli.main import run
from deploy.cluster import launch, local, services
from deploy.cluster.names import Ports
from deploy.cluster.processes import spawn
from deploy.cluster.services import Service

WINDOW = 1_000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])  # tests beside each other look for ports in places of their own
FAKE = str(Path(__file__).with_name("fake_service.py"))


class OwnPorts(Ports):
    """Each wished port moved into this worker's window: two clusters that start at once cannot take the same."""

    def take(self, wished: int) -> int:
        return super().take(wished + WINDOW)


class Dgrag:
    """Runs the command in this process, on one state directory."""

    def __init__(self, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.state = state
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        with pytest.raises(SystemExit) as caught:
            run([*arguments, "--state", str(self.state)])
        said = self._capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    def beside(self, name: str) -> Dgrag:
        """The same on another state directory."""
        return Dgrag(self.state.with_name(name), self._capsys)


def faked(make: Callable[..., Service]) -> Callable[..., Service]:
    """The service as it would be, but for its command."""

    def made(*given: Any, **named: Any) -> Service:
        service = make(*given, **named)
        return replace(service, command=(FAKE, str(named["port"])))

    return made


@pytest.fixture
def dgrag(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Dgrag]:
    monkeypatch.setattr(launch, "fetch_embedder", lambda settings, progress: None)
    monkeypatch.setattr(launch, "fetch_generator", lambda name, settings, progress: Path("weights.gguf"))
    for name in ("model_service", "cloud_service", "edge_service"):
        monkeypatch.setattr(launch, name, faked(getattr(services, name)))
    monkeypatch.setattr(launch, "Ports", OwnPorts)
    monkeypatch.setenv("COLUMNS", "200")
    keepers = []
    monkeypatch.setattr(local, "spawn", lambda *given, **named: keepers.append(spawn(*given, **named)) or keepers[-1])
    made = Dgrag(tmp_path / "state", capsys)
    yield made
    made("down")
    for keeper in keepers:
        keeper.wait()  # a detached one outlives its command, which here is this process
