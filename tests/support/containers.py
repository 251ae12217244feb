"""A compose cluster that a test may break: its containers, its edges by their ids, and people who ask and add all the time."""

import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass, field

import httpx2

from tests.conftest import ROOT
from tests.support.waiting import eventually

PATIENCE_S = 600  # of anything that a busy machine does
FILES = ("-f", "docker-compose.yml", "-f", "tests/compose/small-model.yml")


def said(*words, environment=None):
    """Standard output of a command that has to succeed."""
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **(environment or {})}, timeout=1800)
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

    def __call__(self, *words):
        return said(*self.command, "-p", self.project, *FILES, *words, environment=self.environment)

    def up(self, edges):
        self("up", "-d", "--scale", f"edge={edges}")

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
            for container in self.containers("edge", "status=running"):
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
        if not eventually(condition, limit_s=PATIENCE_S):
            raise AssertionError(self("logs", "--tail", "20"))

    def wait_connected(self, *edges):
        self.wait(lambda: all(self.status(edge).get("cloud", {}).get("connected") for edge in edges))

    def wait_settled(self, *edges):
        def settled(status):
            return status.get("settled") and not status["documents"]["queued"] and not status["documents"]["running"]

        self.wait(lambda: all(settled(self.status(edge)) for edge in edges))


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


def added(cluster, edge, name, text):
    """One document by REST."""
    url, began = cluster.edges().get(edge, ("http://127.0.0.1:1", ""))[0], time.monotonic()
    try:
        with cluster.http(timeout=30) as http:
            reply = http.post(f"{url}/v1/documents", files={"file": (name, text.encode())})
            return Reply(edge, time.monotonic() - began, "", reply.status_code, reply.json())
    except (httpx2.HTTPError, ValueError):
        return Reply(edge, time.monotonic() - began)


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
