"""READ PATH of an edge: the search for passages, for who may read them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Protocol

from edge_node.egress.sharing import Sharing
from edge_node.records import NOTHING_WITHHELD, Filters, Retrieval, Retriever
from edge_node.settings import AnswerSettings
from shared.telemetry.trace import Trace


class FindPassages(Protocol):
    """Finds whole passages for a question."""

    async def __call__(self, question: str, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
        """Best first, within the budget."""


class Search:
    """Finds passages of this site. ``settings``: in use now, as calibration sets its thresholds while the site serves."""

    def __init__(self, retriever: Retriever, sharing: Sharing, settings: AnswerSettings) -> None:
        self.retriever = retriever
        self.settings = settings
        self._sharing = sharing

    async def retrieve(
        self,
        question: str,
        trace: Trace,
        *,
        budget_tokens: int | None = None,
        top_k: int | None = None,
        withheld: frozenset[str] = NOTHING_WITHHELD,
    ) -> Retrieval:
        """④ Whole passages and facts for a question, best first."""
        with trace.step("retrieve"):
            return await self.retriever.retrieve(
                question,
                budget_tokens=budget_tokens or self.settings.candidate_tokens,
                top_k=top_k or self.settings.top_k,
                withheld=withheld,
            )

    async def for_reader(self, labels: frozenset[str] | None, filters: Filters | None, trace: Trace) -> FindPassages:
        """``retrieve`` for who may read, or asks about, some documents only, or all."""
        if filters is None:
            withheld = await asyncio.to_thread(self._sharing.beyond, labels)
            return partial(self.retrieve, trace=trace, withheld=withheld)

        async def search(question: str, *, budget_tokens: int | None = None, top_k: int | None = None) -> Retrieval:
            found = partial(self.retrieve, question, trace, budget_tokens=budget_tokens, top_k=top_k)
            return await self._sharing.read_filtered(labels, filters, lambda withheld: found(withheld=withheld))

        return search
