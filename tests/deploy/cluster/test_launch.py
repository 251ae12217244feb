"""From a plan to services: who gets which port."""

import httpx2
import pytest

from deploy.cluster import launch
from deploy.cluster.launch import Plan
from deploy.cluster.local import ByProcess
from deploy.cluster.state import StateDir
from shared.errors import FetchError

MODEL = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, json={"data": [{"id": "m"}]})))


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Starts edges of one folder after a stop; returns where each is to answer. No process is started."""
    monkeypatch.setattr(launch, "fetch_embedder", lambda *_: None)

    def up(*edges):
        runtime = ByProcess(StateDir(tmp_path))
        monkeypatch.setattr(runtime, "keep", lambda services, others: None)
        for edge in edges:
            (tmp_path / "edges" / edge).mkdir(parents=True, exist_ok=True)
        services = runtime.start(Plan(edges, model="http://model/v1"), MODEL, lambda *_: None)
        runtime.directory.forget()
        return {service.name: service.url for service in services if service.role == "edge"}

    return up


def test_where_the_standard_weights_cannot_be_had_the_lighter_model_is_named_too(tmp_path, monkeypatch):
    def no_room(*_, **__):
        raise FetchError("the disk filled up", next_step="free some space")

    monkeypatch.setattr(launch, "fetch_embedder", lambda *_: None)
    monkeypatch.setattr(launch, "fetch", no_room)
    for model, is_told in (("standard", True), ("small", False)):
        with pytest.raises(FetchError) as caught:
            launch.charge_of(Plan(("ward",), model=model), tmp_path, MODEL, on_fetch=lambda *_: None)
        assert ("free some space" in caught.value.next_step, "--model small" in caught.value.next_step) == (True, is_told)


def test_sites_answer_where_they_did_when_they_are_started_again_by_number(started, tmp_path):
    first = started("ward", "bank")
    known = StateDir(tmp_path).known_edges()
    assert known == ["ward", "bank"]  # in another order than the names'
    assert started(*known) == first
    more = started("attic", *known)
    assert (more.pop("attic") in first.values(), more) == (False, first)
    assert started("bank") == {"bank": first["bank"]}
