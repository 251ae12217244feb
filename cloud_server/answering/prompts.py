"""Prompts out of passages, and reasons in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from cloud_server.answering.fan_out import FanOutResult
from shared.missing import missing_reason, summaries_reason
from shared.records import Answer, EdgeId, EdgeReport, Evidence, TraceStep
from shared.text.no_answer import no_answer


def none_of(question: str, edges: Sequence[EdgeId]) -> str:
    """What is said when all that were asked could not tell. It leaves open whether they have any: who asks must not learn that.

    >>> none_of("Who?", [EdgeId("ward"), EdgeId("bank")])
    'The sites that were asked (ward, bank) share no documents that answer this question.'
    """
    return no_answer("none_of_many" if len(edges) > 1 else "none_of_one", question, sites=", ".join(edges))


def unsupported_by(question: str, evidence: Sequence[Evidence]) -> str:
    """What is said when passages came and none of them carries an answer. Names sites only: a document's name is its site's own words.

    >>> from shared.records import ChunkId, DocumentId
    >>> pump = Evidence(EdgeId("ward"), DocumentId("d"), "d.md", ChunkId("d:0"), (0, 5), "Pumps", 0.9)
    >>> unsupported_by("Who?", [pump, pump])
    'Passages near to this question were found (2 of ward), but they support no statement that answers it.'
    """
    of = Counter(passage.edge for passage in evidence)
    found = ", ".join(no_answer("passages_of", question, number=number, site=edge) for edge, number in of.items())
    return no_answer("unsupported", question, found=found)


def with_edges(answer: Answer, reports: Sequence[EdgeReport], steps: Sequence[TraceStep]) -> Answer:
    """The answer with what became of each edge; partial where one gave none. Where nobody answers, what a site may change about it."""
    missing = missing_reason(reports)
    summaries = "" if answer.answered else summaries_reason(reports)
    reason = "; ".join(part for part in (answer.reason, missing, summaries) if part)
    return replace(answer, edges=tuple(reports), partial=bool(missing), reason=reason, trace=tuple(steps))


def with_shortfalls(answer: Answer, result: FanOutResult) -> Answer:
    """The answer with what sites did less than they were asked: partial where one left reports unread, degraded where none had a model."""
    unread = [f"{edge} left {count} of the reports unread that it chose" for edge, count in result.unread.items()]
    without = bool(result.evidence) and result.evidence.keys() <= result.without_model
    why = [*unread, *(["no model has read the reports of any site that told something"] if without else [])]
    reason = "; ".join(part for part in (answer.reason, *why) if part)
    return replace(answer, partial=answer.partial or bool(unread), degraded=answer.degraded or without, reason=reason)
