"""What can happen to a cluster of containers while people use it, and what has to be true then. For test_cluster.py and release_trial.py.

The small model is often right, not always: held is what must be true of every answer.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.containers import Compose, Reply, Traffic, asked, lost, said, works

WARD = "Juniper Ward reported the failure of four infusion pumps on 14 March. Juniper Ward lies on the second floor of the Anchor Building."
PLANT = "Brackwell Works recalled lot L-7713 of the CX-40 battery pack on 2 May. A bad weld in lot L-7713 caused the failures of the pumps."
HERE = ("edge-1", "On which floor of the Anchor Building does Juniper Ward lie?")
ELSEWHERE = ("edge-1", "Which lot of the CX-40 battery pack did Brackwell Works recall?")
AT_TWO = ("edge-2", ELSEWHERE[1])
RIGHT = {HERE[1]: "second", ELSEWHERE[1]: "L-7713"}
DEADLINE_S = 180 + 30  # of an edge for a whole question, and what a busy machine takes besides


def kill_all(cluster: Compose, container: str, *, user: str = "") -> None:
    """Kill the service within a container by SIGKILL, and wait until the engine has started it again."""

    def starts():
        return said("docker", "inspect", "--format", "{{.RestartCount}} {{.State.Running}}", container).split()

    before = int(starts()[0])
    words = ["--user", user] if user else []
    works("docker", "exec", *words, container, "sh", "-c", "kill -9 -1")  # ends with the container
    cluster.wait(lambda: int(starts()[0]) > before and starts()[1] == "true")


def edge_killed(cluster):
    """the process of an edge is killed"""
    kill_all(cluster, cluster.edges()["edge-2"][1])


def edge_paused(cluster):
    """an edge hangs during a question, then goes on"""
    container = cluster.edges()["edge-2"][1]
    said("docker", "pause", container)
    try:
        hung = asked(cluster, *ELSEWHERE)
        assert hung.status == 200
        assert hung.body["route"] != "cloud" or hung.body["partial"] or not hung.body["citations"]
    finally:
        said("docker", "unpause", container)


def edge_cut(cluster):
    """an edge is cut off from the cloud, and says so; then joined again"""
    with without_link(cluster, cluster.edges()["edge-1"][1], alias=cluster.sites):
        cluster.wait(lambda: cluster.status("edge-1").get("cloud", {}).get("connected") is False)
        answered_alone(cluster)


def cloud_restarted(cluster):
    """the cloud is stopped during a question, then started"""
    cluster("stop", "cloud")
    answered_alone(cluster)
    cluster("start", "cloud")


def cloud_killed(cluster):
    """the process of a cloud is killed"""
    kill_all(cluster, cluster.containers(cluster.clouds)[0])


def cloud_paused(cluster):
    """the cloud hangs during a question, then goes on"""
    (container,) = cluster.containers("cloud")
    said("docker", "pause", container)
    try:
        answered_alone(cluster)
    finally:
        said("docker", "unpause", container)


def cloud_cut(cluster):
    """the cloud is cut off from all edges, then joined again"""
    (container,) = cluster.containers("cloud")
    with without_link(cluster, container, alias="cloud"):
        answered_alone(cluster)


def edges_restarted(cluster):
    """all edges are restarted at once: they draw their places anew"""
    cluster("restart", cluster.sites)


def database_killed(cluster):
    """all processes of the database are killed"""
    kill_all(cluster, *cluster.containers("database"), user="postgres")


def proxy_killed(cluster):
    """the process of the proxy is killed"""
    kill_all(cluster, *cluster.containers("proxy"))


@dataclass
class without_link:  # noqa: N801 - reads as what it is
    """A container is off the network between edges and cloud."""

    cluster: Compose
    container: str
    alias: str

    def __enter__(self):
        said("docker", "network", "disconnect", f"{self.cluster.project}_link", self.container)

    def __exit__(self, *_):
        said("docker", "network", "connect", "--alias", self.alias, f"{self.cluster.project}_link", self.container)


def answered_alone(cluster):
    """An edge without the cloud answers, and says that it was alone."""
    alone = asked(cluster, *ELSEWHERE)
    assert (alone.status, alone.body["degraded"]) == (200, True), alone


@dataclass(frozen=True)
class Fault:
    """Something that is done to a cluster, and the edges that it hits themselves."""

    act: Callable[[Compose], None]
    hit: frozenset[str] = frozenset()

    @property
    def name(self):
        return self.act.__name__


OF_ONE_CLOUD = [
    Fault(edge_killed, frozenset({"edge-2"})),
    Fault(edge_paused, frozenset({"edge-2"})),
    Fault(edge_cut, frozenset({"edge-1"})),
    Fault(cloud_restarted),
    Fault(cloud_killed),
    Fault(cloud_paused),
    Fault(cloud_cut),
    Fault(edges_restarted, frozenset({"edge-1", "edge-2"})),
]
OF_SEVERAL_CLOUDS = [Fault(cloud_killed), Fault(database_killed), Fault(proxy_killed)]


@dataclass(frozen=True)
class Outcome:
    """What a fault did. ``back_s``: from its end until all was healthy and connected; ``lost``: of all that was ever acknowledged."""

    fault: Fault
    back_s: float
    kept: list[tuple[str, str]]
    lost: list[tuple[str, str]]
    answers: list[Reply] = field(repr=False)

    def wrong(self):
        """In words what must not be."""
        spared = [reply for reply in self.answers if reply.edge not in self.fault.hit]
        answered = {reply.edge for reply in spared if reply.status == 200}
        found = {
            f"lost: {self.lost}": self.lost,
            "no document was acknowledged": not self.kept,
            f"a question took longer than {DEADLINE_S} s": [reply for reply in self.answers if reply.seconds >= DEADLINE_S],
            f"of the edges that were not hit only {answered} answered": answered != {"edge-1", "edge-2"} - self.fault.hit,
            "an edge that was not hit failed": {reply.status for reply in spared} - {200, 503, 504},  # 504: the model was too slow
            "a status that nobody expects": {reply.status for reply in self.answers} - {0, 200, 503, 504},  # 0: the edge itself was away
            "an answer is wrong": [reply for reply in self.answers if reply.status == 200 and not honest(reply)],
        }
        return [f"{words} ({what})" for words, what in found.items() if what]


def played(cluster, fault, kept):
    """Do it to a cluster that two edges are asked at and get documents at; ``kept``: acknowledged before, and what comes to it."""
    with Traffic(cluster, [HERE, AT_TWO, ELSEWHERE]) as traffic:
        fault.act(cluster)
        over = time.monotonic()
        cluster.wait_whole()
        back_s = time.monotonic() - over
    kept += traffic.kept
    cluster.wait_settled("edge-1", "edge-2")
    return Outcome(fault, back_s, traffic.kept, lost(cluster, kept), traffic.answers)


def honest(reply):
    """Whether an answer is right, gives none, or says that something was away."""
    said_so = reply.body["partial"] or reply.body["degraded"] or not reply.body["citations"]
    return said_so or RIGHT[reply.question] in reply.body["answer"]
