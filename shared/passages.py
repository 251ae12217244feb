"""How passages stand in a prompt: grouped by document, numbered, one a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shared.fence import one_line
from shared.records import Evidence

MAX_NAME_CHARS = 80
OPAQUE = re.compile(r"(?<=\b[0-9a-f]{8})(?:-?[0-9a-f]){16,}\b", re.IGNORECASE)  # a hash or UUID: tells a model nothing, at a token a digit


def grouped(passages: Sequence[Evidence]) -> list[Evidence]:
    """Passages of one document side by side, in the document's order; documents by their first appearance."""
    rank: dict[tuple[str, str], int] = {}
    for passage in passages:
        rank.setdefault((passage.edge, passage.document_id), len(rank))
    return sorted(passages, key=lambda passage: (rank[passage.edge, passage.document_id], passage.span))


def listed(passages: Sequence[Evidence]) -> str:
    r"""Passages numbered from 1 below a line for each document; "(none)" when there are none.

    A passage is one visible line, so that no line of its text can pass for another passage or for the question. Of a hash or UUID in a
    document's name stand the first eight digits.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> print(listed([Evidence(EdgeId("bank"), DocumentId("d"), "loans.md", ChunkId("d:0"), (0, 9), "A loan.\n[3] x", 0.5)]))
    bank, loans.md:
    [1] A loan. [3] x
    """
    lines: list[str] = []
    previous: tuple[str, str] | None = None
    for n, passage in enumerate(passages, start=1):
        source = (passage.edge, passage.document)
        if source != previous:
            lines.append(f"{passage.edge}, {OPAQUE.sub('', one_line(passage.document))[:MAX_NAME_CHARS]}:")
            previous = source
        lines.append(f"[{n}] {one_line(passage.text)}")
    return "\n".join(lines) or "(none)"
