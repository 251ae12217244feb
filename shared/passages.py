"""How passages stand in a prompt: grouped by document, numbered, one a line."""

from __future__ import annotations

from collections.abc import Sequence

from shared.fence import one_line
from shared.records import Evidence

MAX_NAME_CHARS = 80


def grouped(passages: Sequence[Evidence]) -> list[Evidence]:
    """Passages of one document side by side, in the document's order; documents by their first appearance."""
    rank: dict[tuple[str, str], int] = {}
    for passage in passages:
        rank.setdefault((passage.edge, passage.document_id), len(rank))
    return sorted(passages, key=lambda passage: (rank[passage.edge, passage.document_id], passage.span))


def listed(passages: Sequence[Evidence]) -> str:
    r"""Passages numbered from 1 below a line for each document; "(none)" when there are none.

    A passage is one visible line, so that no line of its text can pass for another passage or for the question.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> print(listed([Evidence(EdgeId("bank"), DocumentId("d"), "loans.md", ChunkId("d:0"), (0, 9), "A loan.\n[3] x", 0.5)]))
    bank, loans.md:
    [1] A loan. [3] x
    """
    lines: list[str] = []
    previous = ""
    for n, passage in enumerate(passages, start=1):
        head = f"{passage.edge}, {one_line(passage.document)[:MAX_NAME_CHARS]}:"
        if head != previous:
            lines.append(head)
            previous = head
        lines.append(f"[{n}] {one_line(passage.text)}")
    return "\n".join(lines) or "(none)"
