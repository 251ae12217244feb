"""FD-RAG and itself without each of its parts (§5.4, Fig. 3): settings of the edges, and what they tell the cloud.

Locally a question is asked where all that it needs is, and stays there. Federated it is looked up at home, and goes to the cloud if nothing
there remembers it. All write one answer, and no gate judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Shares = Literal["", "hints", "answers"]  # of its memories, with the cloud

MEMORY, FAST, STRATEGY = "DGRAG_EDGE_MEMORY", "DGRAG_EDGE_MEMORY_FAST", "DGRAG_EDGE_STRATEGY"
OFF = "off"
NO_MEMORY = {MEMORY: OFF, FAST: OFF}  # of every system that says nothing of it
KEPT = "remembering"  # the copy of a state in which memories are
PLAIN = {MEMORY: "plain", STRATEGY: "fdrag"}
# The nearest memory stands beside the model's answer, and what speaks against it but its score: each threshold can be tried afterwards.
LOOKED_AT = {FAST: "shadow", "DGRAG_EDGE_MEMORY_THRESHOLD": "template=0,model=0,learned=0"}
# A question that no memory answers leaves the site before a model reads anything there: no passage has this cosine.
TO_THE_CLOUD = {"DGRAG_EDGE_MIN_NEARNESS": "1"}


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to remember. ``settings`` are what it changes of a system that writes one answer."""

    name: str
    settings: dict[str, str]
    copy: str = KEPT
    mode: Literal["auto", "local"] = "local"
    shares: Shares = ""


def shared_copy(shares: Shares) -> str:
    """The copy of a state whose memories the cloud is told of."""
    return f"{KEPT}-{shares}"


def _federated(name: str, shares: Shares) -> Variant:
    """Its strategy is DGRAG's, of which the cloud's summaries are; it has a state of its own, as the cloud remembers what it was told."""
    return Variant(name, {MEMORY: "plain", FAST: "on"} | TO_THE_CLOUD, shared_copy(shares), "auto", shares)


VARIANTS = (
    Variant("fdrag", PLAIN | {FAST: "on"}),
    Variant("fdrag-slow", PLAIN | LOOKED_AT),
    Variant("fdrag-no-memorizer", PLAIN | {FAST: OFF}),
    Variant("fdrag-no-hypergraph", PLAIN | {FAST: "on", "DGRAG_EDGE_MEMORY_EDGES": "chunks"}),
    Variant("fdrag-no-cognizer", {MEMORY: "plain", STRATEGY: "naive", FAST: "on"}),
    Variant("fdrag-no-memory", {STRATEGY: "naive"}, "naive"),
    Variant("fdrag-no-federation", PLAIN | {FAST: "on"}),
    _federated("fdrag-federated", "answers"),
    _federated("fdrag-federated-hints", "hints"),
)


def remembers(environment: Mapping[str, str]) -> bool:
    """Whether an edge with these settings makes memories.

    >>> remembers({}), remembers(NO_MEMORY), remembers({"DGRAG_EDGE_MEMORY": "model"})
    (False, False, True)
    """
    return environment.get(MEMORY, OFF) != OFF


def copy_of(copy: str, environment: Mapping[str, str]) -> str:
    """The copy of a state that settings work on: what a model remembered stands in another one than what templates did.

    >>> copy_of("remembering", {"DGRAG_EDGE_MEMORY": "plain"}), copy_of("remembering", {"DGRAG_EDGE_MEMORY": "model"})
    ('remembering', 'remembering-model')
    """
    return f"{copy}-model" if environment.get(MEMORY) == "model" else copy
