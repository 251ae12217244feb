"""READ PATH of an edge for others: what passages of this site leave it for another site's question (DGRAG §III-C ⑥)."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Callable
from functools import partial

from edge_node.answering.narrowing import in_turn
from edge_node.answering.released import ReleasedPassages
from edge_node.answering.search import FindPassages, Search
from edge_node.egress.memory_outbox import Tells
from edge_node.egress.sharing import Requester, Served, Sharing
from edge_node.extraction.titles import names_of
from edge_node.records import Retrieval
from shared.limits import Deadline
from shared.records import Evidence, TraceStep
from shared.telemetry.trace import Trace
from shared.text.marks import about, unpacked
from shared.text.nearness import is_near
from shared.text.sentences import questions_in
from shared.wire import MAX_TITLES_ASKED, EvidenceRequest

Serve = Callable[[Requester, list[Evidence], tuple[TraceStep, ...]], Served]
MASKED = "masked"  # what keeps a passage here that is near to a question only as long as nothing in it is masked
OF_A_TITLE = 4  # passages that are found for a title that passages of sites name
TITLES_SHARE = 0.5  # of a request's time: no search for a title begins later, or what was found would come to nothing


class EvidenceForOthers:
    """Answers the cloud's requests for evidence, within the policy."""

    def __init__(self, search: Search, sharing: Sharing, told: Tells | None = None, released: ReleasedPassages | None = None) -> None:
        """``released``: where other sites' questions look if something is masked; None: then they find nothing."""
        self._search = search
        self._sharing = sharing
        self._told = told
        self._released = released

    async def evidence(self, request: EvidenceRequest) -> Served:
        """⑥ Retrieve for another site's question, as for a local one; of what is near enough to it the policy lets some leave.

        Where the policy masks something, the passages are masked before anything looks at them: what leaves, and in which order, is what
        the masked texts say.
        """
        return await self._evidence(request, self._sharing.served)

    async def tried_evidence(self, request: EvidenceRequest) -> Served:
        """What ``evidence`` would give, for this site's own eyes: no meter counts it."""
        return await self._evidence(request, self._sharing.tried)

    async def near(self, request: EvidenceRequest) -> tuple[list[Evidence], list[tuple[Evidence, str]]]:
        """What ``evidence`` would find if the policy kept and masked nothing; and what of it stays, with the rule that keeps it.

        For this site's own eyes.
        """
        trace, requester = Trace(), Requester(request.requester, request.purpose)
        found = await self._near(request, partial(self._search.retrieve, trace=trace))
        kept = await asyncio.to_thread(self._sharing.held, requester, found)
        withheld = await asyncio.to_thread(self._sharing.withheld, requester)
        if withheld is None or (await asyncio.to_thread(self._sharing.redactor_now)).idle:
            return found, kept
        leaving = await self._near(request, await self._search_for_others(trace, withheld))
        known = {one.chunk_id for one in (*leaving, *(one for one, _ in kept))}
        return found, [*kept, *((one, MASKED) for one in found if one.chunk_id not in known)]

    async def _evidence(self, request: EvidenceRequest, serve: Serve) -> Served:
        trace, requester = Trace(), Requester(request.requester, request.purpose)
        looking = Deadline(TITLES_SHARE * request.deadline_ms / 1000)
        withheld = await asyncio.to_thread(self._sharing.withheld, requester)
        if withheld is None:
            return await asyncio.to_thread(self._sharing.nothing_granted, requester)
        told = await self._told.of(request.memories, withheld) if self._told else []
        if request.memories_only:
            return await asyncio.to_thread(serve, requester, told, trace.steps())
        search = await self._search_for_others(trace, withheld)
        near = [] if request.titles_only else await self._near(request, search)
        if request.titles:
            titled = await self._titled(request, withheld, search, looking)
            near = in_turn(near, *titled)[: self._search.settings.reader_passages]
        served = await asyncio.to_thread(serve, requester, [*told, *near], trace.steps())
        if request.titles_only:
            return served
        return await asyncio.to_thread(self._sharing.nothing_found, requester, served)

    async def _titled(
        self, request: EvidenceRequest, withheld: frozenset[str], search: FindPassages, looking: Deadline
    ) -> list[list[Evidence]]:
        """⑥ What each document says whose title was named: the cloud sends the marks that this site told it. As far as time allows."""
        marks = set(unpacked(b64decode(request.titles)))
        titles = await asyncio.to_thread(self._sharing.titles_marked, marks, withheld)
        found = list[list[Evidence]]()
        for title in titles[:MAX_TITLES_ASKED]:
            if looking.left_s() == 0:
                break
            told = await search(about(request.question, title), budget_tokens=request.budget_tokens, top_k=OF_A_TITLE)
            near = (one for one in told.evidence if one.score >= self._search.settings.reader_threshold)
            found.append([one for one in near if title in names_of(one.title)])
        return found

    async def _near(self, request: EvidenceRequest, search: FindPassages) -> list[Evidence]:
        least = self._search.settings.reader_threshold if request.whole else self._search.settings.evidence_threshold
        parts = questions_in(request.question)
        most = self._search.settings.reader_passages
        found = [(await search(part, budget_tokens=request.budget_tokens, top_k=most)).evidence for part in parts]
        near = (item for item in in_turn(*found) if item.score >= least)
        return [item for item in near if is_near(item.score, request.question, f"{item.title} {item.text}")][:most]

    async def _search_for_others(self, trace: Trace, withheld: frozenset[str]) -> FindPassages:
        """As ``retrieve`` where nothing is masked, else over the masked passages."""
        redactor = await asyncio.to_thread(self._sharing.redactor_now)
        if redactor.idle:
            return partial(self._search.retrieve, trace=trace, withheld=withheld)

        async def search(question: str, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
            if self._released is None:
                return Retrieval(())
            budget_tokens, top_k = budget_tokens or self._search.settings.candidate_tokens, top_k or self._search.settings.top_k
            with trace.step("retrieve"):
                return await self._released.retrieve(question, redactor, budget_tokens=budget_tokens, top_k=top_k, withheld=withheld)

        return search
