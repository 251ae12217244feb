"""The compose file as a user starts it: it answers, is closed, and loses nothing that it acknowledged when parts of it fail.

The tests are one story and run in their order. The small model is often right, not always: held is what must be true of every answer.
"""

import pytest

from tests.support.containers import Traffic, added, asked, said, works

pytestmark = pytest.mark.long
MB = 1_000_000
AT_MOST = {"edge": 1200 * MB, "cloud": 700 * MB}
WARD = "Juniper Ward reported the failure of four infusion pumps on 14 March. Juniper Ward lies on the second floor of the Anchor Building."
PLANT = "Brackwell Works recalled lot L-7713 of the CX-40 battery pack on 2 May. A bad weld in lot L-7713 caused the failures of the pumps."
HERE = ("edge-1", "On which floor of the Anchor Building does Juniper Ward lie?")
ELSEWHERE = ("edge-1", "Which lot of the CX-40 battery pack did Brackwell Works recall?")
AT_TWO = ("edge-2", ELSEWHERE[1])
RIGHT = {HERE[1]: "second", ELSEWHERE[1]: "L-7713"}
DEADLINE_S = 180 + 30  # of an edge for a whole question, and what a busy machine takes besides


@pytest.fixture(scope="module")
def kept():
    """Documents that were acknowledged: edge and id."""
    return []


def lost(cluster, kept):
    """Acknowledged documents that are not indexed."""
    found = cluster.edges()
    with cluster.http() as http:
        return [(edge, key) for edge, key in kept if http.get(f"{found[edge][0]}/v1/documents/{key}").json().get("status") != "indexed"]


def honest(reply):
    """Whether an answer is right, gives none, or says that something was away."""
    said_so = reply.body["partial"] or reply.body["degraded"] or not reply.body["citations"]
    return said_so or RIGHT[reply.question] in reply.body["answer"]


def end_all(cluster, container):
    """Kill the service within a container by SIGKILL, and wait until the engine has started it again."""

    def restarts():
        return int(said("docker", "inspect", "--format", "{{.RestartCount}}", container))

    before = restarts()
    works("docker", "exec", container, "python", "-c", "import os; os.kill(-1, 9)")  # ends with the container
    cluster.wait(lambda: restarts() > before)


@pytest.mark.parametrize("name", AT_MOST)
def test_the_images_are_small(cluster, name):
    assert int(said("docker", "image", "inspect", f"dgrag-{name}:local", "--format", "{{.Size}}")) <= AT_MOST[name]


@pytest.mark.parametrize("name", AT_MOST)
def test_the_images_can_send_spans(cluster, name):
    assert said("docker", "run", "--rm", "--entrypoint", "python", f"dgrag-{name}:local", "-c", "import shared.telemetry.spans") == ""


def test_all_become_healthy_and_each_edge_is_a_site_of_its_own(cluster):
    cluster.wait(lambda: cluster.all_healthy(cloud=1, edge=4, model=1))
    assert set(cluster.edges()) == {f"edge-{number}" for number in range(1, 5)}
    cluster.wait_connected(*cluster.edges())


def test_the_containers_run_without_root_on_read_only_roots_within_limits(cluster):
    for service, memory in (("edge", 1536 * 2**20), ("cloud", 2**30)):
        for found in cluster.inspected(service):
            assert found["Config"]["User"] == "10001:10001"
            host = found["HostConfig"]
            assert (host["ReadonlyRootfs"], host["CapDrop"], host["Memory"]) == (True, ["ALL"], memory)
            assert all(port["HostIp"] == "127.0.0.1" for ports in host["PortBindings"].values() for port in ports)


def test_nobody_comes_in_without_the_key(cluster):
    url = cluster.edges()["edge-1"][0]
    with cluster.http() as http:
        assert http.get(f"{url}/v1/status", headers={"Authorization": "Bearer dgk_wrong"}).status_code == 401


def test_documents_come_in_at_two_edges(cluster, kept):
    for edge, name, text in (("edge-1", "ward.md", WARD), ("edge-2", "plant.md", PLANT)):
        reply = added(cluster, edge, name, text)
        assert reply.status == 202, reply.body
        kept.append((edge, reply.body["document_id"]))
    cluster.wait_settled("edge-1", "edge-2")
    assert lost(cluster, kept) == []
    cluster.wait(lambda: all(cluster.status(edge)["cloud"]["synced_version"] for edge in ("edge-1", "edge-2")))


def test_a_local_and_an_escalated_answer(cluster):
    local = asked(cluster, *HERE, mode="local")
    assert (local.status, local.body["route"]) == (200, "local")
    assert "second" in local.body["answer"]
    escalated = asked(cluster, *ELSEWHERE)
    assert (escalated.body["route"], escalated.body["degraded"]) == ("cloud", False)
    assert "L-7713" in escalated.body["answer"]
    assert {citation["edge"] for citation in escalated.body["citations"]} == {"edge-2"}


def killed(cluster):
    """The service of an edge is killed: its container comes back by itself."""
    end_all(cluster, cluster.edges()["edge-2"][1])


def paused(cluster):
    """An edge hangs for some questions: a container that holds its slot, and is silent."""
    container = cluster.edges()["edge-2"][1]
    said("docker", "pause", container)
    try:
        hung = asked(cluster, *ELSEWHERE)
        assert hung.status == 200
        assert hung.body["route"] != "cloud" or hung.body["partial"] or not hung.body["citations"]
    finally:
        said("docker", "unpause", container)


def cut(cluster):
    """The line of an edge to the cloud is cut: its port still answers, degraded, and says so."""
    container = cluster.edges()["edge-1"][1]
    said("docker", "network", "disconnect", f"{cluster.project}_link", container)
    try:
        cluster.wait(lambda: cluster.status("edge-1").get("cloud", {}).get("connected") is False)
        alone = asked(cluster, *ELSEWHERE)
        assert (alone.status, alone.body["degraded"]) == (200, True)
    finally:
        said("docker", "network", "connect", "--alias", "edge", f"{cluster.project}_link", container)


def cloud_restarted(cluster):
    """The cloud goes and comes."""
    cluster("stop", "cloud")
    alone = asked(cluster, *ELSEWHERE)
    cluster("start", "cloud")
    assert (alone.status, alone.body["degraded"]) == (200, True)


def cloud_killed(cluster):
    """The cloud is killed, and comes back by itself."""
    end_all(cluster, *cluster.containers("cloud"))


def cloud_paused(cluster):
    """The cloud hangs: it takes connections, and is silent."""
    (container,) = cluster.containers("cloud")
    said("docker", "pause", container)
    try:
        alone = asked(cluster, *ELSEWHERE)
        assert (alone.status, alone.body["degraded"]) == (200, True)
    finally:
        said("docker", "unpause", container)


def cloud_cut(cluster):
    """The line between the cloud and all edges is cut."""
    (container,) = cluster.containers("cloud")
    said("docker", "network", "disconnect", f"{cluster.project}_link", container)
    try:
        alone = asked(cluster, *ELSEWHERE)
        assert (alone.status, alone.body["degraded"]) == (200, True)
    finally:
        said("docker", "network", "connect", "--alias", "cloud", f"{cluster.project}_link", container)


def edges_restarted(cluster):
    """All edges at once: they draw their slots anew."""
    cluster("restart", "edge")


# each with the edges that it hits
FAULTS = [
    (killed, {"edge-2"}),
    (paused, {"edge-2"}),
    (cut, {"edge-1"}),
    (cloud_restarted, set()),
    (cloud_killed, set()),
    (cloud_paused, set()),
    (cloud_cut, set()),
    (edges_restarted, {"edge-1", "edge-2"}),
]


@pytest.mark.parametrize(("fault", "hit"), FAULTS, ids=[fault.__name__ for fault, _ in FAULTS])
def test_nothing_acknowledged_is_lost_and_who_is_not_hit_answers_where(cluster, kept, fault, hit):
    with Traffic(cluster, [HERE, AT_TWO, ELSEWHERE]) as traffic:
        fault(cluster)
        cluster.wait(lambda: cluster.all_healthy(cloud=1, edge=4) and len(cluster.edges()) == 4)
        cluster.wait_connected("edge-1", "edge-2", "edge-3", "edge-4")
    kept += traffic.kept
    assert traffic.kept
    assert max(reply.seconds for reply in traffic.answers) < DEADLINE_S
    spared = [reply for reply in traffic.answers if reply.edge not in hit]
    assert {reply.edge for reply in spared if reply.status == 200} == {"edge-1", "edge-2"} - hit
    assert {reply.status for reply in spared} <= {200, 503, 504}  # 504: the model was too slow
    assert {reply.status for reply in traffic.answers} <= {0, 200, 503, 504}  # 0: the edge itself was away
    assert [reply for reply in traffic.answers if reply.status == 200 and not honest(reply)] == []
    cluster.wait_settled("edge-1", "edge-2")
    assert lost(cluster, kept) == []
    assert [asked(cluster, *question).status for question in (HERE, AT_TWO)] == [200, 200]


def test_after_all_that_it_is_whole_again(cluster):
    escalated = asked(cluster, *ELSEWHERE)
    assert (escalated.body["route"], escalated.body["degraded"], escalated.body["partial"]) == ("cloud", False, False)


@pytest.mark.parametrize("count", [8, 2, 4])
def test_edges_come_and_go_and_a_site_is_there_again_with_its_documents(cluster, kept, count):
    cluster.up(count)
    cluster.wait(lambda: len(cluster.edges()) == count)
    if count == 4:  # whichever places the two kept, the new ones took the lowest of the others
        assert set(cluster.edges()) >= {"edge-1", "edge-2"}
        assert lost(cluster, kept) == []


def test_up_again_changes_nothing(cluster):
    before = [one["Id"] for service in ("cloud", "edge", "model") for one in cluster.inspected(service)]
    cluster.up(4)
    assert [one["Id"] for service in ("cloud", "edge", "model") for one in cluster.inspected(service)] == before
