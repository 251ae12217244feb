"""The demo judges honestly."""

from __future__ import annotations

import pytest

from deploy.cli.demo import Expect, SampleQuestion, fault, samples
from shared.records import Answer, ChunkId, Citation, DocumentId, EdgeId, Route


def sample(expect: Expect, *words: str) -> SampleQuestion:
    return SampleQuestion("Why?", "bank", expect, "Because.", words)


def answer(route: Route, *edges: str, text: str = "Lot L-7713.", answered: bool = True) -> Answer:
    cited = tuple(Citation(n, EdgeId(edge), DocumentId("d"), "d.md", ChunkId("d:0"), (0, 1), "L", 0.5) for n, edge in enumerate(edges, 1))
    return Answer("q", text, cited, route, answered=answered)


@pytest.mark.parametrize(
    ("expect", "given"),
    [
        ("local", answer("local", "bank")),
        ("local", answer("memory")),
        ("other_edge", answer("cloud", "plant")),
        ("two_edges", answer("cloud", "plant", "hospital", "plant")),
        ("nobody", answer("cloud", answered=False)),
    ],
)
def test_an_answer_from_the_right_place_has_no_fault(expect: Expect, given: Answer):
    assert fault(sample(expect), given) == ""


@pytest.mark.parametrize(
    ("expect", "given", "said"),
    [
        ("local", answer("cloud", "plant"), "was answered by cloud, expected local"),
        ("local", answer("local", answered=False), "was not answered (local)"),
        ("other_edge", answer("local", "bank"), "was answered by local, expected cloud"),
        ("other_edge", answer("degraded", "bank"), "was answered by degraded, expected cloud"),
        ("other_edge", answer("cloud", "bank"), "cites 0 other sites, expected 1"),
        ("two_edges", answer("cloud", "plant", "bank"), "cites 1 other site, expected 2"),
        ("nobody", answer("cloud", "plant"), "was answered (cloud), though no document holds the answer"),
    ],
)
def test_an_answer_from_elsewhere_has_its_fault_named(expect: Expect, given: Answer, said: str):
    assert fault(sample(expect), given) == said


def test_missing_words_are_named_whatever_their_case():
    assert fault(sample("local", "LOT l-7713", "Juniper"), answer("local", "bank")) == "does not say Juniper"


def test_the_demo_asks_one_question_of_each_kind():
    assert {row.expect for row in samples()} == {"local", "other_edge", "two_edges", "nobody"}
