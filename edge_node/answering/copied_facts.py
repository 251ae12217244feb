"""READ PATH, second of all: a single fact in the words of a sentence, by two short calls of the model (FD-RAG §4.3, the fast path)."""

from __future__ import annotations

import logging
from typing import Protocol

from edge_node.answering.narrowing import SentenceSelector
from edge_node.memory.spans import SENTENCES, Span, copied, names_are_there
from edge_node.records import Retrieval
from shared.errors import ModelError
from shared.limits import Deadline
from shared.models.fingerprint import Measured
from shared.ports import Generator
from shared.records import Answer
from shared.telemetry.logs import redacted
from shared.telemetry.trace import Trace
from shared.text.citations import cite, with_marker
from shared.text.fence import Fence
from shared.text.inert import inert
from shared.text.same_question import is_single

log = logging.getLogger("dgrag.edge.memory")


class Finds(Protocol):
    """Finds whole passages for a question."""

    async def __call__(self, question: str, /) -> Retrieval:
        """Best first."""


class CopiedFacts:
    """Answers a question about a single fact where the model is sure enough of what it copied, and no other."""

    def __init__(self, selector: SentenceSelector, generator: Generator, measured: Measured, *, least: float | None) -> None:
        """``least``: the certainty that suffices; None: as it was measured for this model, and no answer of one that was not."""
        self._selector = selector
        self._generator = generator
        self._measured = measured
        self._least = least

    async def answer(self, question: str, query_id: str, find: Finds, fence: Fence, trace: Trace, deadline: Deadline) -> Answer | None:
        """None: the question goes the slow way. A model that fails is logged: the slow way tells the client."""
        if not is_single(question):
            return None
        try:
            least = await self._bar(trace, deadline)
            span = None if least is None else await self._copied(question, find, fence, trace, deadline)
        except ModelError as error:
            log.warning("no fact was copied: %s", redacted(error))
            return None
        if span is None or least is None or span.certainty < least or not names_are_there(question, span.sentence):
            return None
        return self._told(span, query_id)

    async def _bar(self, trace: Trace, deadline: Deadline) -> float | None:
        if self._least is not None:
            return self._least
        measured = await self._measured.certainties(trace, deadline)
        return measured.copied if measured else None

    async def _copied(self, question: str, find: Finds, fence: Fence, trace: Trace, deadline: Deadline) -> Span | None:
        found = await find(question)
        with trace.step("narrow"):
            sentences = await self._selector.best(question, found.evidence, k=SENTENCES)
        return await copied(self._generator, question, sentences, fence, trace, deadline_s=deadline.left_s()) if sentences else None

    def _told(self, span: Span, query_id: str) -> Answer | None:
        text, citations = cite(with_marker(inert(span.text), " [1]"), [span.sentence])
        return Answer(query_id, text, citations, "memory+model") if citations else None
