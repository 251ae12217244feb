import pytest

from benchmarks.costs import by_component, costs
from shared.telemetry.trace import COMPONENTS, TRANSFERS


def step(name, ms=0.0, *, calls=0, tokens_in=0, tokens_out=0, bytes_out=0, bytes_in=0):
    return {
        "step": name,
        "ms": ms,
        "calls": calls,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "bytes_out": bytes_out,
        "bytes_in": bytes_in,
    }


ESCALATED = {
    "escalated": True,
    "seconds": 7.5,
    "steps": [
        step("retrieve", 5.0),
        step("samples", 2000.0, calls=1, tokens_in=600, tokens_out=100),
        step("gate: confidence", 700.0, calls=1, tokens_in=50),
        step("cloud", 2500.0, bytes_out=1000, bytes_in=4000),
        step("cloud: match", 6.0),
        step("cloud: fan_out", 90.0, bytes_out=500, bytes_in=6250),
        step("cloud: law: rerank", 30.0, calls=1, tokens_in=7),
        step("cloud: verify", 800.0, calls=1, tokens_in=300),
        step("cloud: generate", 1200.0, calls=1, tokens_in=400, tokens_out=80),
    ],
}


def test_tokens_of_the_clouds_model_are_apart_and_those_of_an_edge_that_it_asked_are_an_edges():
    found = costs(ESCALATED, cloud_pays=False)
    assert (found["cloud_tokens_in"], found["edge_tokens_in"], found["tokens_out"], found["calls"]) == (700, 657, 180, 5)


def test_all_tokens_of_a_central_index_are_the_clouds():
    found = costs(ESCALATED, cloud_pays=True)
    assert (found["cloud_tokens_in"], found["edge_tokens_in"]) == (1357, 0)


def test_bytes_are_those_between_the_edge_and_the_cloud():
    found = costs(ESCALATED, cloud_pays=False)
    assert (found["bytes_up"], found["bytes_down"], found["seconds"], found["escalated"]) == (1000, 4000, 7.5, 1.0)


def test_the_papers_components_add_up_their_steps():
    found = by_component(ESCALATED)
    assert {name: found[name].ms for name in COMPONENTS if name in found} == {
        "local query": 2005.0,
        "gate": 700.0,
        "summary matching": 6.0,
        "global retrieval": 90.0,
        "cloud generation": 2000.0,
    }
    assert found["cloud generation"].tokens_in == 700


def test_tokens_that_edges_read_for_the_cloud_are_global_retrievals_and_their_time_is_within_it():
    assert (by_component(ESCALATED)["global retrieval"].tokens_in, by_component(ESCALATED)["global retrieval"].ms) == (7, 90.0)
    steps = [step("cloud: fan_out", 900.0), *(step(f"cloud: {edge}: map", 800.0, tokens_in=900) for edge in ("bank", "ward", "bank"))]
    found = by_component({"steps": [*steps, step("cloud: rescore", 5.0, tokens_in=40)]})
    assert {name: (one.ms, one.tokens_in) for name, one in found.items() if one.tokens_in} == {"global retrieval": (905.0, 2740)}


def test_every_token_of_an_answers_models_is_in_one_component():
    assert sum(one.tokens_in for one in by_component(ESCALATED).values()) == sum(one["tokens_in"] for one in ESCALATED["steps"])


def test_a_transfer_takes_its_bytes_at_the_links_rate():
    """6,250 bytes are 50,000 bits: a millisecond at 50 Mbit/s, ten at 5."""
    assert by_component(ESCALATED)["knowledge send"].ms == pytest.approx(1.0)
    assert by_component(ESCALATED, link_mbit=5)["knowledge send"].ms == pytest.approx(10.0)
    assert {name: by_component(ESCALATED)[name].bytes for name in TRANSFERS} == {
        "query send": 1000,
        "request send": 500,
        "knowledge send": 6250,
        "answer send": 4000,
    }


def test_an_answer_of_the_edge_has_neither_transfers_nor_components_of_the_cloud():
    assert list(by_component({"steps": ESCALATED["steps"][:3]})) == ["local query", "gate"]


def test_a_global_answer_has_its_own_components_wherever_they_ran():
    steps = [step("choose", 5.0), step("map", 900.0, calls=4, tokens_in=3000), step("cloud: reduce", 80.0, tokens_in=900)]
    found = by_component({"steps": steps})
    assert {name: (one.ms, one.tokens_in) for name, one in found.items()} == {
        "choice of reports": (5.0, 0),
        "map": (900.0, 3000),
        "reduce": (80.0, 900),
    }
