"""A compose cluster that a test may break: its containers, its edges by their ids, and people who ask and add all the time."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.conftest import ROOT
from tests.support.waiting import eventually

PATIENCE_S = 600  # of anything that a busy machine does
ONE_CLOUD = {"cloud": 1, "edge": 4, "model": 1}
SEVERAL_CLOUDS = {"database": 1, "clouds": 3, "proxy": 1, "sites": 4, "model": 1}


def said(*words, environment=None, folder=ROOT):
    """Standard output of a command that has to succeed."""
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env={**os.environ, **(environment or {})}, timeout=1800)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def works(*words):
    """Whether a command can be run."""
    try:
        return subprocess.run(words, capture_output=True, timeout=60).returncode == 0
    except FileNotFoundError:
        return False


@dataclass
class Compose:
    """One project, by one of the two composes."""

    command: tuple[str, ...]
    project: str
    environment: dict[str, str]
    key: str = ""
    folder: Path = ROOT
    services: Mapping[str, int] = field(default_factory=lambda: ONE_CLOUD)  # those that stay, and how many of each

    def __call__(self, *words):
        return said(*self.command, "-p", self.project, *words, environment=self.environment, folder=self.folder)

    @property
    def sites(self):
        """The service whose containers are edges."""
        return "sites" if "sites" in self.services else "edge"

    @property
    def clouds(self):
        """The service whose containers are clouds."""
        return "clouds" if "clouds" in self.services else "cloud"

    def up(self, edges):
        """Raises AssertionError with the end of all logs where it does not come up: `down` takes them away."""
        try:
            self("up", "-d", "--scale", f"{self.sites}={edges}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.logs()}") from error

    def logs(self):
        """The end of what each container has said, also of those that have ended."""
        return self("logs", "--no-color", "--tail", "20")

    def containers(self, service, *more):
        labels = [f"label=com.docker.compose.project={self.project}", f"label=com.docker.compose.service={service}", *more]
        return said("docker", "ps", "-q", *(word for label in labels for word in ("-f", label))).split()

    def inspected(self, service):
        found = self.containers(service)
        return json.loads(said("docker", "inspect", *found)) if found else []

    def all_healthy(self, **counts):
        found = {service: [one["State"].get("Health", {}).get("Status") for one in self.inspected(service)] for service in counts}
        return found == {service: ["healthy"] * count for service, count in counts.items()}

    def http(self, timeout=240):
        return httpx2.Client(headers={"Authorization": f"Bearer {self.key}"}, timeout=timeout, trust_env=False)

    def edges(self):
        """Address and container of each edge that answers, by its id: ports are drawn anew at each start of a container."""
        found = {}
        with self.http(timeout=20) as http:
            for container in self.containers(self.sites, "status=running"):
                port = subprocess.run(["docker", "port", container, "8100"], capture_output=True, text=True)
                try:
                    url = f"http://{port.stdout.split()[0]}"
                    found[http.get(f"{url}/v1/status").json()["edge"]] = (url, container)
                except (httpx2.HTTPError, IndexError, KeyError, ValueError):
                    continue
        return found

    def status(self, edge):
        """What an edge says of itself; {} where it does not answer."""
        try:
            with self.http(timeout=20) as http:
                return http.get(f"{self.edges()[edge][0]}/v1/status").json()
        except (httpx2.HTTPError, KeyError, ValueError):
            return {}

    def wait(self, condition):
        """Raises AssertionError with the end of all logs where ``condition`` does not come true."""
        if not eventually(condition, limit_s=PATIENCE_S, every_s=0.2):
            raise AssertionError(self.logs())

    def wait_whole(self):
        """Until each service is healthy and each edge is connected; then each edge is a site of its own."""
        self.wait(lambda: self.all_healthy(**self.services))
        edges = [f"edge-{number}" for number in range(1, self.services[self.sites] + 1)]
        self.wait(lambda: set(self.edges()) == set(edges))
        self.wait_connected(*edges)

    def wait_connected(self, *edges):
        self.wait(lambda: all(self.status(edge).get("cloud", {}).get("connected") for edge in edges))

    def wait_settled(self, *edges):
        def settled(status):
            return status.get("settled") and not status["documents"]["queued"] and not status["documents"]["running"]

        self.wait(lambda: all(settled(self.status(edge)) for edge in edges))

    def wait_known(self, *edges):
        """Until the cloud has the summaries of these edges."""
        self.wait(lambda: all(self.status(edge).get("cloud", {}).get("synced_version") for edge in edges))


@dataclass
class Reply:
    """What somebody got for a request."""

    edge: str
    seconds: float
    question: str = ""  # empty: it was a document
    status: int = 0  # 0: the connection failed, or the service was stopped in the middle of it
    body: dict = field(default_factory=dict)


def asked(cluster, edge, question, **more):
    """One question by REST."""
    url, began = cluster.edges().get(edge, ("http://127.0.0.1:1", ""))[0], time.monotonic()
    try:
        with cluster.http() as http:
            reply = http.post(f"{url}/v1/query", json={"question": question, "n": 1, "memory": False, **more})
            return Reply(edge, time.monotonic() - began, question, reply.status_code, reply.json())
    except (httpx2.HTTPError, ValueError):
        return Reply(edge, time.monotonic() - began, question)


def added(cluster, edge, name, content):
    """One document by REST: a text, or the bytes of a file."""
    data = content.encode() if isinstance(content, str) else content
    url, began = cluster.edges().get(edge, ("http://127.0.0.1:1", ""))[0], time.monotonic()
    try:
        with cluster.http(timeout=30) as http:
            reply = http.post(f"{url}/v1/documents", files={"file": (name, data)})
            return Reply(edge, time.monotonic() - began, "", reply.status_code, reply.json())
    except (httpx2.HTTPError, ValueError):
        return Reply(edge, time.monotonic() - began)


def document(cluster, edge, identity):
    """A document as its edge describes it."""
    with cluster.http() as http:
        return http.get(f"{cluster.edges()[edge][0]}/v1/documents/{identity}").json()


def lost(cluster, kept):
    """Those of the acknowledged documents that are not indexed: edge and id."""
    found = cluster.edges()
    with cluster.http() as http:
        return [(edge, key) for edge, key in kept if http.get(f"{found[edge][0]}/v1/documents/{key}").json().get("status") != "indexed"]


class Traffic:
    """Asks and adds at two edges until it is left; ``answers``, and the ``kept`` documents: edge and id of each that was acknowledged."""

    def __init__(self, cluster, questions):
        self.answers, self.kept = [], []
        self._cluster, self._questions, self._ended = cluster, questions, threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._ask, self._add)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _ask(self):
        while not self._ended.is_set():
            for edge, question in self._questions:
                self.answers.append(asked(self._cluster, edge, question))

    def _add(self):
        number = 0
        while not self._ended.wait(1.0):
            number += 1
            for edge in ("edge-1", "edge-2"):
                reply = added(self._cluster, edge, f"note-{number}.md", f"Note {number} of {edge}: valve V-{number} was checked.")
                if reply.status == 202:
                    self.kept.append((edge, reply.body["document_id"]))
