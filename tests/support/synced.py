"""A real edge process for tests of sync, which can be killed and started again, and the command run against it."""

import json
import signal
import socket
import subprocess
import sys
import time

import httpx2

from shared.http.open_mode import CALLER

NOBODY = "http://127.0.0.1:9"  # the model's server, which nothing here asks


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


class EdgeProcess:
    """``python -m tests.faults.edge_process``, on one folder and port as often as it is started."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.http = httpx2.Client(base_url=self.url, headers=CALLER, timeout=60)
        self.child = None

    def start(self):
        self.child = subprocess.Popen(
            (sys.executable, "-m", "tests.faults.edge_process", str(self.folder), str(self.port), NOBODY),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ends = time.monotonic() + 120
        while not self._ready():
            assert self.child.poll() is None, "the edge ended"
            assert time.monotonic() < ends, "the edge does not start"
            time.sleep(0.05)
        return self

    def _ready(self):
        try:
            return self.http.get("/ready").is_success
        except httpx2.TransportError:
            return False

    def kill(self):
        if self.child is not None:
            self.child.send_signal(signal.SIGKILL)
            self.child.wait()

    def close(self):
        self.kill()
        self.http.close()

    def documents(self):
        """All views, the newest version of a name last."""
        found, after = [], ""
        while after is not None:
            page = self.http.get("/v1/documents", params={"limit": 1000, "after": after}).json()
            found, after = found + page["documents"], page["next"]
        return found

    def held(self):
        """The id of the newest version of each name."""
        return {view["name"]: view["document_id"] for view in self.documents()}

    def add(self, name, text, **fields):
        response = self.http.post("/v1/documents", json={"name": name, "text": text, **fields})
        assert response.status_code == 202, response.text
        return response.json()["document_id"]


def sync_process(folder, url, home, *options, env=None):
    """``dgrag sync`` as a process of its own, with a cache below ``home``."""
    return subprocess.Popen(
        (sys.executable, "-m", "deploy.cli.main", "sync", str(folder), "--edge", url, "--state", str(home), "--source", "s", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(home), "HOME": str(home)} | (env or {}),
    )


def synced(folder, url, home, *options, ends=0, env=None):
    """What ``dgrag sync --json`` said when it ended with this code."""
    child = sync_process(folder, url, home, "--json", *options, env=env)
    out, err = child.communicate(timeout=300)
    assert child.returncode == ends, err
    return json.loads(out) if out else err
