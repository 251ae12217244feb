"""Goal P2: ``dgrag policy try`` works where there is no network, not even loopback, and does not try to use one."""

import asyncio
import json
import subprocess
import sys

import pytest

from edge_node.egress.dry_run import shown_sync
from shared.errors import FetchError
from shared.models.build import build_embedder
from shared.models.settings import ModelSettings
from tests.support.models import no_model
from tests.support.running_edge import running_edge

pytestmark = [pytest.mark.model, pytest.mark.process]

OFFLINE = ["unshare", "--map-root-user", "--net"]
WATCHED = """
import sys
CALLS = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname", "socket.listen"}
sys.addaudithook(lambda call, _: call in CALLS and print("network:", call, file=sys.stderr))
from deploy.cli.main import run
run()
"""


@pytest.fixture(scope="module")
def offline():
    """The words before a command that take its network away."""
    try:
        subprocess.run([*OFFLINE, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespace can be made here: {error}")
    return OFFLINE


@pytest.fixture(scope="module")
def embedder():
    try:
        return build_embedder(ModelSettings())
    except FetchError as error:
        no_model(error.message)


def run(command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


async def test_a_dry_run_needs_no_network_and_asks_for_none(tmp_path, offline, embedder):
    async with running_edge(tmp_path, strategy="dgrag", embedder=embedder) as edge:
        await edge.add("pump.md", "Brackwell Works makes the Maristow Pump. Juniper Ward uses the Maristow Pump.")
        real = shown_sync(tmp_path)
    asked = ["--question", "Who makes the Maristow Pump?", "--requester", "ward-1", "--json"]
    command = [sys.executable, "-c", WATCHED, "policy", "try", "--state", str(tmp_path), *asked]
    done = await asyncio.to_thread(run, [*offline, *command])
    assert (done.returncode, [line for line in done.stderr.splitlines() if line.startswith("network:")]) == (0, []), done.stderr
    sync, evidence = map(json.loads, done.stdout.splitlines())
    assert (sync["body"], sync["sha256"]) == (real[0].body, real[0].sha256)
    assert "Brackwell" in evidence["body"]


def test_null_control_what_asks_for_a_network_is_seen(offline):
    code = WATCHED.partition("from deploy")[0] + "import socket\nsocket.socket().connect_ex(('127.0.0.1', 9))"
    done = run([*offline, sys.executable, "-c", code])
    assert done.stderr == "network: socket.connect\n"
