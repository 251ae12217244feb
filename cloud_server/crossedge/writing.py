"""Prompts out of passages, and reasons in words."""

from __future__ import annotations

from collections.abc import Sequence

from shared.fence import Fence, one_line
from shared.passages import listed
from shared.ports import Message
from shared.prompts import PromptFile
from shared.records import EdgeId, EdgeReport, Evidence

NOT_MATCHED = "No connected site seems to have documents about this question."


def none_of(edges: Sequence[EdgeId]) -> str:
    """What is said when all that were asked could not tell.

    >>> none_of([EdgeId("ward"), EdgeId("bank")])
    'The sites that were asked (ward, bank) have no documents that answer this question.'
    """
    sites = "The sites that were asked" if len(edges) > 1 else "The site that was asked"
    return f"{sites} ({', '.join(edges)}) {'have' if len(edges) > 1 else 'has'} no documents that answer this question."


def render(prompt: PromptFile, question: str, passages: Sequence[Evidence], fence: Fence, *, task: str = "") -> tuple[Message, ...]:
    """The messages that put ``question`` and the numbered passages before the model."""
    return prompt.render(passages=fence.around(listed(passages)), question=one_line(question), task=task)


def missing_reason(reports: Sequence[EdgeReport]) -> str:
    """Who gave no answer and why, in words; empty when all did.

    >>> from shared.records import EdgeId
    >>> missing_reason([EdgeReport(EdgeId("a"), "evidence", "answered", 1, 9, 2), EdgeReport(EdgeId("b"), "evidence", "late", 9, 0, 0)])
    '1 of 2 sites gave no answer: b (late)'
    """
    missing = [f"{report.edge} ({report.status})" for report in reports if report.status != "answered"]
    return f"{len(missing)} of {len(reports)} sites gave no answer: {', '.join(missing)}" if missing else ""
