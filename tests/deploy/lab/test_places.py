import pytest

from deploy.cluster.errors import ClusterError
from deploy.cluster.services import EdgeOptions, ModelEndpoint, cloud_service, edge_service, model_service
from deploy.lab import namespaces, network
from deploy.lab.network import Linked, planned
from deploy.lab.topology import LinkShape


def services(model_url="http://127.0.0.1:8090/v1"):
    model = ModelEndpoint(model_url, "m")
    cloud = cloud_service(model, "/s/cloud", port=8099)
    return [cloud, *(edge_service(edge, model, cloud.url, f"/s/{edge}", EdgeOptions(), port=8100 + n) for n, edge in enumerate("ab"))]


def test_the_links_are_planned_from_the_services_and_the_words():
    plan = planned([model_service("m", "w", port=8090), *services()], "lab-", "rate=5mbit congestion=reno")
    assert plan == network.WanPlan("lab-", {"cloud": 8099, "a": 8100, "b": 8101}, 8090, LinkShape(mbit=5.0), "reno")


def test_a_model_server_elsewhere_cannot_be_reached_from_a_namespace():
    with pytest.raises(ClusterError, match="reaches no other machine"):
        planned(services("https://models.example/v1"), "lab-", "")


def test_the_links_come_first_and_each_service_stands_in_its_namespace(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(namespaces, "unable", lambda: "")
    monkeypatch.setattr(namespaces, "make", made.append)
    links, model, cloud, *edges = Linked(tmp_path, "loss=1%").arranged([model_service("m", "w", port=8090), *services()])
    plan = network.read(tmp_path)
    assert (links.role, links.name, links.command) == ("link", "wan", ("-m", "deploy.lab", str(tmp_path)))
    assert model.prefix == ()
    assert [service.prefix[-1] for service in (cloud, *edges)] == made == [plan.namespace(name) for name in ("cloud", "a", "b")]
    assert plan.shape == LinkShape(loss=0.01)


def test_where_no_link_can_be_made_nothing_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(network.namespaces, "unable", lambda: "only root may")
    with pytest.raises(ClusterError, match="links cannot be had: only root may"):
        Linked(tmp_path).arranged(services())


@pytest.mark.parametrize("text", [None, "{", '{"prefix": 1}'])
def test_a_folder_without_a_plan_is_told(tmp_path, text):
    if text:
        (tmp_path / network.PLAN).write_text(text)
    with pytest.raises(ClusterError, match="tells of no links"):
        network.read(tmp_path)
