import httpx2
import pytest

from benchmarks.config import load_config
from benchmarks.fdrag_systems import FAST, KEPT, MEMORY, NO_MEMORY, VARIANTS, remembers
from benchmarks.records import Asking, Question
from benchmarks.systems import SYSTEMS, Asker, system_named
from edge_node.settings import KINDS, EdgeSettings
from shared.http.open_mode import CALLER
from tests.benchmarks.test_config import shipped

CONFIGS = shipped()[0].parent


def settings_of(name):
    return NO_MEMORY | dict(system_named(name).start.environment)


def edge_of(name, monkeypatch):
    for setting, value in settings_of(name).items():
        monkeypatch.setenv(setting, value)
    return EdgeSettings()


@pytest.mark.parametrize("name", [system.name for system in SYSTEMS.values() if not system.name.startswith("fdrag")])
def test_no_other_system_remembers_anything(name):
    assert not remembers(settings_of(name))
    assert settings_of(name)[FAST] == "off"


@pytest.mark.parametrize("one", VARIANTS, ids=lambda one: one.name)
def test_each_variant_starts_an_edge_and_writes_one_answer(one, monkeypatch):
    edge = edge_of(one.name, monkeypatch)
    assert (edge.samples, edge.min_sufficiency, edge.min_similarity) == (1, 0, 0)


def test_each_ablation_lacks_its_part_and_nothing_else(monkeypatch):
    whole = settings_of("fdrag")
    lacking = {
        "fdrag-no-memorizer": {FAST: "off"},
        "fdrag-no-hypergraph": {"DGRAG_EDGE_MEMORY_EDGES": "chunks"},
        "fdrag-no-cognizer": {"DGRAG_EDGE_STRATEGY": "naive"},
        "fdrag-no-memory": {"DGRAG_EDGE_STRATEGY": "naive", MEMORY: "off", FAST: "off"},
    }
    assert {name: dict(settings_of(name).items() - whole.items()) for name in lacking} == lacking


def test_always_the_model_means_that_memories_are_looked_at_whatever_their_score(monkeypatch):
    edge = edge_of("fdrag-slow", monkeypatch)
    assert edge.memory_fast == "shadow"
    assert edge.memory_threshold == dict.fromkeys(KINDS, 0.0)


def test_without_memory_shares_its_start_with_the_naive_baseline():
    assert system_named("fdrag-no-memory").start == system_named("naive").start


def test_what_only_reads_memories_shares_their_copy_and_those_that_the_cloud_knows_of_have_their_own():
    copies = {name: system_named(name).start.copy for name in ("fdrag", "fdrag-slow", "fdrag-no-hypergraph", "fdrag-no-cognizer")}
    assert set(copies.values()) == {KEPT}
    shared = [system_named(name).start for name in ("fdrag-federated", "fdrag-federated-hints")]
    assert [(start.shares, start.copy) for start in shared] == [("answers", f"{KEPT}-answers"), ("hints", f"{KEPT}-hints")]


def test_a_federated_question_that_nothing_remembers_goes_to_the_cloud_before_a_model_reads(monkeypatch):
    assert system_named("fdrag-federated").mode == "auto"
    assert edge_of("fdrag-federated", monkeypatch).min_nearness == 1


def test_memories_that_a_model_writes_stand_in_a_copy_of_their_own():
    assert system_named("fdrag:memory=model").start.copy == f"{KEPT}-model"
    assert system_named("fdrag:cover=0.8").start.copy == KEPT


async def test_what_the_nearest_memory_said_is_in_the_row():
    report = {"memory_id": "m", "kind": "template", "question": "Who?", "answer": "Ann", "score": 0.95, "why_not": ""}
    said = {"answer": "Ann", "answered": True, "route": "memory", "memory": report, "trace": []}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=said))
    async with httpx2.AsyncClient(headers=CALLER, transport=transport) as http:
        asker = Asker(system_named("fdrag"), "s", {"a": "http://a"}, http)
        row = await asker.answer(Asking(Question("q", "Who?", "a", ("Ann",)), "a", "within"))
    assert (row.route, row.memory) == ("memory", report)


def test_the_local_run_asks_where_all_that_a_question_needs_is_and_the_federated_one_where_it_may_not_be():
    local, federated = (load_config(CONFIGS / f"{name}.toml") for name in ("fdrag", "fdrag-federated"))
    assert {split.client for split in local.split} == {"client_grouped"}
    assert {split.client for split in federated.split} == {"client_iid"}
    for config in (local, federated):
        assert [split.set for split in config.split] == [f"multihop/{name}" for name in ("hotpotqa", "2wikimultihopqa", "musique")]
        assert len({split.systems for split in config.split}) == 1


def test_the_tiny_twin_measures_what_the_two_runs_do():
    whole = {
        name for file in ("fdrag", "fdrag-federated") for split in load_config(CONFIGS / f"{file}.toml").split for name in split.systems
    }
    assert set(load_config(CONFIGS / "tiny-fdrag.toml").split[0].systems) <= whole


@pytest.mark.parametrize(("alone", "whole"), [("fdrag-memory", "fdrag"), ("fdrag-memory-federated", "fdrag-federated")])
def test_memories_alone_are_measured_where_each_question_is_asked_and_without_a_model(alone, whole):
    alone, whole = load_config(CONFIGS / f"{alone}.toml"), load_config(CONFIGS / f"{whole}.toml")
    assert alone.models.generator == "unknowing"
    places = [[(split.set, split.client, split.within) for split in config.split] for config in (alone, whole)]
    assert places[0] == places[1]
    assert set(alone.split[0].systems) <= set(whole.split[0].systems)
