"""Prompts out of passages, and reasons in words."""

from __future__ import annotations

from collections.abc import Sequence

from shared.passages import listed
from shared.ports import Message
from shared.prompts import PromptFile
from shared.records import EdgeReport, Evidence

NOBODY_KNOWS = "No connected site has documents that answer this question."


def render(prompt: PromptFile, question: str, passages: Sequence[Evidence], *, task: str = "") -> tuple[Message, ...]:
    """The messages that put ``question`` and the numbered passages before the model."""
    return prompt.render(passages=listed(passages), question=" ".join(question.split()), task=task)


def missing_reason(reports: Sequence[EdgeReport]) -> str:
    """Who gave no answer and why, in words; empty when all did.

    >>> from shared.records import EdgeId
    >>> missing_reason([EdgeReport(EdgeId("a"), "evidence", "answered", 1, 9, 2), EdgeReport(EdgeId("b"), "evidence", "late", 9, 0, 0)])
    '1 of 2 asked sites gave no answer: b (late)'
    """
    missing = [f"{report.edge} ({report.status})" for report in reports if report.status != "answered"]
    return f"{len(missing)} of {len(reports)} asked sites gave no answer: {', '.join(missing)}" if missing else ""
