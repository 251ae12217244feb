"""Answers that a trusted edge has told already, given once its own passage confirms them: no model has a part in it (FD-RAG §6)."""

from __future__ import annotations

from dataclasses import dataclass

from cloud_server.crossedge.confirming import confirming, given, holds_answer
from cloud_server.crossedge.fan_out import FanOutResult, Wanted
from cloud_server.crossedge.gathering import Gatherer, Sought
from cloud_server.crossedge.standing import Standing
from cloud_server.crossedge.writing import with_edges
from cloud_server.memories.bank import Candidate, MemoryBank
from shared.ports import Clock
from shared.records import Answer, EdgeId
from shared.same_question import is_single
from shared.trace import Trace

ROUND_S = 2.0  # for the owner's passage: who takes longer costs the usual way no more than that
BUDGET_TOKENS = 400


@dataclass(frozen=True, slots=True)
class Trust:
    """``edges``: whose answers may be given on the word of that site alone, as the operator vouches for it; ``threshold``: least score."""

    edges: frozenset[EdgeId]
    threshold: float


class Rememberer:
    """Looks whether a question has been answered by a site that is trusted, and asks that site whether it still says so."""

    def __init__(self, bank: MemoryBank, gatherer: Gatherer, standing: Standing, trust: Trust, clock: Clock) -> None:
        self._bank = bank
        self._gatherer = gatherer
        self._standing = standing
        self._trust = trust
        self._clock = clock

    async def answer(self, sought: Sought, query_id: str, trace: Trace, *, until: float) -> Answer | None:
        """The stored answer with the owner's citation; None: the usual way, also where the owner is away, refuses or is late."""
        owners = [edge for edge in sorted(self._trust.edges) if self._gatherer.can_ask(edge)]
        if not owners or not is_single(sought.question):
            return None
        with trace.step("remember"):
            vector = (await self._gatherer.embedder.embed([sought.question]))[0]
            best = await self._bank.best(sought.question, vector, owners=owners, threshold=self._trust.threshold)
        if best is None:
            return None
        result = await self._ask(best, sought, trace, until=until)
        passages, reports = result.evidence.get(best.edge, ()), result.reports
        passage = confirming(sought.question, best.memory.question, best.memory.answer, passages)
        found = given(best, passage, query_id, threshold=self._trust.threshold) if passage else None
        useful = {best.edge} if found else set[EdgeId]()
        await self._standing.note(reports, matched={best.edge}, useful=useful, requester=sought.requester)
        if found is not None:
            return with_edges(found, reports, trace.steps())
        if passages and not any(holds_answer(best.memory.answer, one.text) for one in passages):  # it told what its documents do not say
            await self._bank.refute(best.edge, best.memory.memory_id)
            self._standing.disappointed(best.edge, sought.requester)
        return None

    async def _ask(self, best: Candidate, sought: Sought, trace: Trace, *, until: float) -> FanOutResult:
        """The owner, for the passage of that memory alone."""
        memories = {best.edge: [best.memory.memory_id]}
        asked = (sought.question, BUDGET_TOKENS, sought.requester, sought.purpose)
        wanted = Wanted(*asked, memories=memories, memories_only=True)
        soon = min(until, self._clock.monotonic() + 2 * ROUND_S)  # one round takes half of the time that is left at most
        return await self._gatherer.ask([best.edge], wanted, trace, until=soon)
