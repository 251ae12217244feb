"""A supervisor as its own process, for tests that kill it: ``foreground.py STATE PORT… [--detach]``."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx

from deploy.cluster.services import Service
from deploy.cluster.state import StateDir
from deploy.cluster.supervisor import Interrupted, supervised

FAKE = str(Path(__file__).with_name("fake_service.py"))


def fake(port: int, *flags: str, name: str = "") -> Service:
    url = f"http://127.0.0.1:{port}"
    return Service("edge", name or f"edge-{port}", url, f"{url}/ready", (FAKE, str(port), *flags), {})


def main(state: str, ports: list[int], *, detached: bool) -> None:
    services = [fake(port) for port in ports]
    with supervised(StateDir(Path(state)), detached=detached) as supervisor, httpx.Client(trust_env=False) as http:
        for service in services:
            supervisor.start(service)
        supervisor.wait_ready(services, http, lambda service: None)
        if not detached:
            Path(state, "ready").touch()
            supervisor.watch(lambda name, code: None)


if __name__ == "__main__":
    try:
        main(sys.argv[1], [int(word) for word in sys.argv[2:] if word.isdigit()], detached="--detach" in sys.argv)
    except Interrupted as interrupted:
        sys.exit(128 + interrupted.number)
