"""Does an answer come from where the sample questions say it must? Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shared.plural import counted
from shared.records import Answer

Expect = Literal["local", "other_edge", "two_edges", "nobody"]
HEADLINES: dict[Expect, str] = {
    "local": "answered at the site itself",
    "other_edge": "answered from another site's documents",
    "two_edges": "answered from two other sites together",
    "nobody": "answered by nobody, and said so",
}
ROUTES_OF_A_SITE = ("local", "memory")


@dataclass(frozen=True, slots=True)
class Sample:
    """One row of ``samples/questions.json``."""

    question: str
    asked_at: str  # edge id
    expect: Expect
    answer: str
    must_contain: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()  # "<edge>/<document>"


def fault(sample: Sample, answer: Answer) -> str:
    """What is wrong with the answer, in words; empty when it is as expected."""
    if sample.expect == "nobody":
        return f"was answered ({answer.route}), though no document holds the answer" if answer.answered else ""
    if not answer.answered:
        return f"was not answered ({answer.route})"
    return _wrong_place(sample, answer) or _missing_words(sample, answer)


def _wrong_place(sample: Sample, answer: Answer) -> str:
    if sample.expect == "local":
        return "" if answer.route in ROUTES_OF_A_SITE else f"was answered by {answer.route}, expected local"
    if answer.route != "cloud":
        return f"was answered by {answer.route}, expected cloud"
    others = {citation.edge for citation in answer.citations} - {sample.asked_at}
    wanted = 2 if sample.expect == "two_edges" else 1
    return "" if len(others) >= wanted else f"cites {counted(len(others), 'other site')}, expected {wanted}"


def _missing_words(sample: Sample, answer: Answer) -> str:
    missing = [words for words in sample.must_contain if words.casefold() not in answer.answer.casefold()]
    return f"does not say {', '.join(missing)}" if missing else ""
