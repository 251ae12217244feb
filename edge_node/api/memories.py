"""What an edge remembers of questions, and what people say of its answers (FD-RAG §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from edge_node.answering.feedback import READERS, Outcome
from edge_node.api.access import GuardedRoute, Node, ReaderDep
from edge_node.memory.records import Rating, Remembered
from edge_node.reading import Reader
from edge_node.records import Kind
from shared.http.access import Caller, caller_of
from shared.records import ChunkId, DocumentId
from shared.text.fence import one_line
from shared.text.inert import inert
from shared.wire import Feedback

router = APIRouter(prefix="/v1", route_class=GuardedRoute)
CallerDep = Annotated[Caller, Depends(caller_of)]
NOTED = f"it counts when {READERS} keys that may only read have said the same; the verdict of a key that may write counts at once"


@dataclass(frozen=True, slots=True)
class SupportView:
    """A sentence that a memory rests on."""

    chunk_id: ChunkId
    document_id: DocumentId
    document: str
    span: tuple[int, int]  # characters in the document's text
    text: str


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A question, its answer, and what people said of it."""

    memory_id: str
    kind: Kind  # template: of a fact; model: written by one; learned: of an answer that was given
    question: str
    answer: str
    supports: tuple[SupportView, ...]
    good: int  # how often somebody called its answer right
    bad: int  # at least as often as right: it answers no more
    barred: bool  # somebody deleted it: it answers no more, whatever is said of it
    silenced: bool  # by that, or by what people said of it
    doubtful: bool  # a later passage is nearer to its question than its own: it does not answer


@dataclass(frozen=True, slots=True)
class MemoriesReply:
    """A page of memories; ``next`` goes into ``after`` for the page that follows."""

    memories: tuple[MemoryView, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class FeedbackReply:
    """What a verdict has changed. An answer that is no memory's is learned only if it is right and cites what says it."""

    outcome: Outcome
    next_step: str = ""  # what makes a verdict count that was only noted


@router.get("/memories")
async def list_memories(
    reader: ReaderDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100, after: Annotated[str, Query(max_length=64)] = ""
) -> MemoriesReply:
    """A page of what this edge remembers, by id; nothing where memory is off."""
    page = await reader.memories(after, limit)
    views = await _views(reader, page)
    return MemoriesReply(views, page[-1].memory.memory_id if len(page) >= limit else None)


@router.delete("/memories/{memory_id}", status_code=204)
async def delete_memory(memory_id: str, node: Node) -> None:
    """A memory answers no more, for good: a learned one is deleted, and not learned again; one of a document's stays, as barred."""
    await node.strategy.memories.bar(memory_id)
    node.tell_cloud()


@router.post("/queries/{query_id}/feedback")
async def feedback(query_id: str, body: Feedback, node: Node, caller: CallerDep) -> FeedbackReply:
    """Whether an answer was right, by its ``query_id``. What is right may be remembered.

    A memory that is called wrong at least as often as right answers no more. The verdict of a key that may write counts at once; that of
    a key that may only read is ``noted``, and counts when three such keys have said the same.

    404 for an answer that is not among the last ones since the edge's start; 409 for a second verdict on one answer, and for an answer
    that no verdict can change: of another site's memory, of the cloud's model, or to a question about everything.
    """
    reader = "" if "write" in caller.roles else caller.name
    outcome = await node.feedback.judge(query_id, right=body.verdict == "right", reader=reader)
    node.tell_cloud()
    return FeedbackReply(outcome, NOTED if outcome is Outcome.noted else "")


async def _views(reader: Reader, page: Sequence[Remembered]) -> tuple[MemoryView, ...]:
    """Without the supports whose passages were deleted since the page was read."""
    chunks = await reader.chunks(sorted({support.chunk_id for one in page for support in one.memory.supports}))

    def supports(one: Remembered) -> tuple[SupportView, ...]:
        views = list[SupportView]()
        for support in one.memory.supports:
            if support.chunk_id in chunks:
                chunk, document, _ = chunks[support.chunk_id]
                span = (chunk.start + support.start, chunk.start + support.end)
                views.append(SupportView(chunk.chunk_id, chunk.document_id, document, span, _line(chunk.text[support.start : support.end])))
        return tuple(views)

    return tuple(
        MemoryView(
            one.memory.memory_id,
            one.memory.kind,
            _line(one.memory.question),
            _line(one.memory.answer),
            supports(one),
            one.good,
            one.bad,
            one.barred,
            Rating(one.good, one.bad, one.barred).silences,
            one.doubtful,
        )
        for one in page
    )


def _line(text: str) -> str:
    """Words of a document, as a viewer may show them."""
    return one_line(inert(text))
