"""A run that never was: journal rows with invented numbers, for every part of a report."""

import random
from dataclasses import asdict

import pytest

from benchmarks.records import AnswerRow, RetrievalRow, RoutingRow, Step
from benchmarks.summary import summarise

EDGES = ("harbour", "library", "orchard")
WORDS = [f"word{number}" for number in range(16)]
# system -> share of the reference's words that it says
SYSTEMS = {"naive": 0.3, "local": 0.4, "cloud": 0.6, "centralized": 0.62, "dgrag": 0.58, "dgrag-no-confidence": 0.45, "dgrag-no-graph": 0.5}
PROVENANCE = {
    "name": "invented",
    "seed": 7,
    "config": {"split": [{"name": "domain", "kind": "domain"}, {"name": "hotpotqa", "kind": "federated", "set": "multihop/hotpotqa"}]},
    "commit": "0123abc",
    "dirty": False,
    "started": "2001-02-03T04:05:06+00:00",
    "seconds": 2040.0,
    "index_seconds_before": 1200.0,
    "link": {"mbit": 5.0, "delay_ms": 15.0, "required": True},
    "machine": {"cpu": "Abacus", "cores": 2, "memory_gb": 8.0, "python": "3.11.0"},
    "models": {"generator": "standard", "embedder": "minilm"},
    "prompts": {"answer.md": "aabbccddeeff"},
    "version": "0.1.0",
}


def step(name, ms, *, calls=0, tokens_in=0, tokens_out=0, bytes_out=0, bytes_in=0):
    return Step(name, ms, calls, tokens_in, tokens_out, bytes_out, bytes_in)


def steps_of(system, *, escalated, rng):
    local = [step("retrieve", rng.uniform(5, 9)), step("narrow", 2.0)]
    local.append(step("samples", rng.uniform(2000, 4000), calls=1, tokens_in=600, tokens_out=120))
    gate = [step("gate: confidence", 700.0, calls=1, tokens_in=610), step("gate: similarity", 900.0, calls=1, tokens_in=300)]
    away = [
        step("cloud", 2600.0, bytes_out=900, bytes_in=4200),
        step("cloud: match", 6.0),
        step("cloud: fan_out", 90.0, bytes_out=700, bytes_in=9000),
        step("cloud: harbour: retrieve", 40.0),
        step("cloud: verify", 800.0, calls=1, tokens_in=400),
        step("cloud: generate", rng.uniform(1200, 1700), calls=1, tokens_in=420, tokens_out=90),
    ]
    if system == "cloud":
        return away
    if not system.startswith("dgrag"):
        return local
    return [*local, *gate, *away] if escalated else [*local, *gate, step("gate: selection", 600.0, calls=1, tokens_in=300)]


def answer_row(system, scenario, number, *, rng, error=""):
    escalated = system.startswith("dgrag") and rng.random() < (0.1 if scenario == "within" else 0.8)
    share = SYSTEMS[system] - (0.25 if scenario == "out" and system in {"naive", "local"} else 0)
    said = " ".join(word for word in WORDS if rng.random() < share)
    route = "cloud" if escalated or system == "cloud" else "local"
    gate = {
        "decision": "escalate" if escalated else "local",
        "reason": "",
        "confidence": {
            "refusals": 1,
            "samples": 5,
            "sufficiency": rng.random(),
            "nearness": 0.7 if scenario == "within" else rng.uniform(0.2, 0.6),
        },
        "similarity": {"mean": rng.uniform(0.4, 0.9)},
    }
    row = AnswerRow(
        split="domain",
        scenario=scenario,
        system=system,
        edge=EDGES[(number + (scenario == "out")) % 3],
        question_id=f"q{number}",
        question="Who keeps the lamp?",
        references=(" ".join(WORDS),),
        answer="" if error else said,
        answered=bool(said) and not error,
        route=route,
        seconds=rng.uniform(3, 9),
        escalated=escalated,
        gate=gate if system.startswith("dgrag") else None,
        steps=tuple(steps_of(system, escalated=escalated, rng=rng)),
        asked_edges=(),
        error=error,
    )
    return asdict(row)


def answer_rows(rng, questions=24):
    failing = ("naive", "within", 0)
    return [
        answer_row(system, scenario, number, rng=rng, error="504: too late" if (system, scenario, number) == failing else "")
        for system in SYSTEMS
        for scenario in ("within", "out")
        for number in range(questions)
    ]


def routing_rows(rng, sizes=(20, 40, 80)):
    rows = []
    for size in sizes:
        for number in range(30):
            home = EDGES[number % 3]
            edges = tuple(home if rng.random() < 0.85 else rng.choice(EDGES) for _ in range(10))
            for m in (1, 2, 3, 5, 10):
                rows.append(asdict(RoutingRow("domain", size, m, f"q{number}", (home,), edges[:m], (0.6,) * m, rng.uniform(0.004, 0.009))))
    return rows


def retrieval_rows(rng):
    rows = []
    for system, luck in {"local": 0.4, "federated": 0.8, "centralized": 0.85, "centralized:dense": 0.7}.items():
        for number in range(40):
            found = (*(gold for gold in ("g1", "g2") if rng.random() < luck), "x", "y", "z")
            asked = ("harbour", "library") if system == "federated" else ()
            rows.append(asdict(RetrievalRow("hotpotqa", system, "harbour", f"h{number}", found, rng.random() < luck, 9000, 0.05, asked)))
    return rows


@pytest.fixture(scope="session")
def journal():
    rng = random.Random(11)
    index = {
        "documents": 8,
        "chunks": 300,
        "tokens": 90_000,
        "entities": 900,
        "relations": 800,
        "subgraphs": 40,
        "summaries": 40,
        "seconds": 61.5,
        "wall_seconds": 70.0,
        "reused": True,
        "resumed": False,
    }
    storage = {"split": "domain", "cloud_bytes": 210_000, "centralised_bytes": 25_000_000, "ratio": 119.0, "what": "cloud: its summaries"}
    return {
        "index": [{"split": "domain", "layout": "edges", "edge": edge, **index} for edge in EDGES],
        "storage": [storage | {"subgraph_entities": size, "ratio": 119.0 * size / 40} for size in (20, 40, 80)],
        "routing": routing_rows(rng),
        "answers": answer_rows(rng),
        "retrieval": retrieval_rows(rng),
        "peers": [
            {
                "system": "dgrag",
                "step": "index",
                "size": 100_000,
                "tokens": 101_962,
                "own_cpu_s": 0.44,
                "calls": {"extract": 90, "summary": 9},
            },
            {"system": "lightrag", "step": "index", "size": 100_000, "tokens": 101_962, "own_cpu_s": 5.2, "disk_bytes": 11_900_000},
            {"system": "dgrag", "step": "use", "size": 100_000, "ask_own_cpu_p50_ms": 2.4, "add_own_cpu_s": 0.03},
            {"system": "dgrag", "step": "quality", "set": "hotpotqa", "questions": 60, "quality": [{"budget": 1000, "coverage": 0.8}]},
            {
                "system": "lightrag",
                "step": "quality",
                "set": "hotpotqa",
                "questions": 60,
                "quality": [{"budget": 1000, "chunks_alone": True, "coverage": 0.7}],
            },
            {"system": "nano-graphrag", "step": "index", "size": 100_000, "error": "took more than 600 s"},
            {
                "system": "dgrag",
                "step": "goal",
                "goal": "indexing",
                "what": "CPU s to index 100k tokens",
                "most": 0.5,
                "measured": 0.44,
                "met": True,
            },
        ],
        "link": [{"state": "domain-1", "edge": edge, "up": 4_000_000, "down": 9_000} for edge in EDGES],
        "skipped": [{"what": "BERTScore", "why": "the library is <not> there"}],
    }


@pytest.fixture(scope="session")
def gold():
    return {"hotpotqa": {f"h{number}": ("g1", "g2") for number in range(40)}}


@pytest.fixture(scope="session")
def result(journal, gold):
    return summarise(journal, PROVENANCE, gold=gold)
