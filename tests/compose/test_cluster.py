"""The compose file as a user starts it: it answers, is closed, and loses nothing that it acknowledged when parts of it fail.

The tests are one story and run in their order.
"""

import pytest

from tests.compose.faults import AT_TWO, ELSEWHERE, HERE, OF_ONE_CLOUD, PLANT, WARD, played
from tests.support.containers import added, asked, lost, said

pytestmark = pytest.mark.long
MB = 1_000_000
AT_MOST = {"edge": 1200 * MB, "cloud": 650 * MB, "model": 650 * MB}


@pytest.fixture(scope="module")
def kept():
    """Documents that were acknowledged: edge and id."""
    return []


@pytest.mark.parametrize("name", AT_MOST)
def test_the_images_are_small(cluster, name):
    assert int(said("docker", "image", "inspect", f"dgrag-{name}:local", "--format", "{{.Size}}")) <= AT_MOST[name]


@pytest.mark.parametrize("name", ["edge", "cloud"])
def test_the_images_can_send_spans(cluster, name):
    assert (
        said(
            "docker",
            "run",
            "--rm",
            "--entrypoint",
            "python",
            f"dgrag-{name}:local",
            "-c",
            "import dgrag.shared.telemetry.spans, opentelemetry.sdk",
        )
        == ""
    )


def test_all_become_healthy_and_each_edge_is_a_site_of_its_own(cluster):
    cluster.wait_whole()


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
    cluster.wait_known("edge-1", "edge-2")


def test_a_local_and_an_escalated_answer(cluster):
    local = asked(cluster, *HERE, mode="local")
    assert (local.status, local.body["route"]) == (200, "local")
    assert "second" in local.body["answer"]
    escalated = asked(cluster, *ELSEWHERE)
    assert (escalated.body["route"], escalated.body["degraded"]) == ("cloud", False)
    assert "L-7713" in escalated.body["answer"]
    assert {citation["edge"] for citation in escalated.body["citations"]} == {"edge-2"}


@pytest.mark.parametrize("fault", OF_ONE_CLOUD, ids=lambda fault: fault.name)
def test_nothing_acknowledged_is_lost_and_who_is_not_hit_answers_where(cluster, kept, fault):
    assert played(cluster, fault, kept).wrong() == []
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
