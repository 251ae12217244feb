"""A question as a client put it, and the turns that questions wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edge_node.policy.rules import EscalationMode
from shared.limits import Admission
from shared.records import Level

Mode = Literal["auto", "local", "cloud"]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question as the client put it."""

    question: str
    mode: Mode = "auto"
    samples: int | None = None  # default: the setting
    escalation: EscalationMode | None = None  # may the question leave; None: as the sharing policy says
    purpose: str = ""  # what the answer is for, as other sites' policies know it
    memory: bool = True  # a memory may answer


@dataclass(frozen=True, slots=True)
class GlobalAsk:
    """A question about everything, as the client put it."""

    question: str
    level: Level | None = None  # of the reports; None: the setting
    escalation: EscalationMode | None = None  # may the question leave; None: as the sharing policy says
    purpose: str = ""  # what the answer is for, as other sites' policies know it


@dataclass(frozen=True, slots=True)
class Admissions:
    """Who may ask the model now, and who waits. Questions about everything take minutes: they never hold the turns of the others."""

    questions: Admission
    overviews: Admission

    def of(self, ask: Ask | GlobalAsk) -> Admission:
        """The turns for such a question."""
        return self.overviews if isinstance(ask, GlobalAsk) else self.questions
