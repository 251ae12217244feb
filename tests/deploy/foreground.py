"""``dgrag up`` of fakes as its own process, for tests that kill it: ``foreground.py STATE PORT… [--detach]``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import httpx2

from deploy.cli.up import stay
from deploy.cluster.lifecycle import Interrupted, supervised, wait_ready
from deploy.cluster.local import ByProcess
from deploy.cluster.processes import birth
from deploy.cluster.services import Service
from deploy.cluster.state import StateDir

FAKE = str(Path(__file__).with_name("fake_service.py"))


def fake(port: int, *flags: str, name: str = "") -> Service:
    url = f"http://127.0.0.1:{port}"
    return Service("edge", name or f"edge-{port}", url, f"{url}/ready", (FAKE, str(port), *flags), {}, health_url=f"{url}/health")


class TellsWhenItStays(ByProcess):
    """Its folder has a file ``ready`` from the moment at which the foreground is held."""

    def watch(self, tell: Callable[[str], None]) -> None:
        (self.directory.root / "ready").touch()
        super().watch(tell)


def main(state: str, ports: list[int], *, detached: bool) -> None:
    services = tuple(fake(port) for port in ports)
    runtime = TellsWhenItStays(StateDir(Path(state)), detached=detached)
    with supervised(runtime, detached=detached), httpx2.Client(trust_env=False) as http:
        runtime.keep(services)
        wait_ready(runtime, services, http, lambda service: None)
        if not detached:
            stay(runtime)


def group(pid: int) -> list[int]:
    """The live processes of a group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == pid and fields[0] != "Z" and birth(int(stat.parent.name)):
            found.append(int(stat.parent.name))
    return found


if __name__ == "__main__":
    try:
        main(sys.argv[1], [int(word) for word in sys.argv[2:] if word.isdigit()], detached="--detach" in sys.argv)
    except Interrupted as interrupted:
        sys.exit(128 + interrupted.number)
