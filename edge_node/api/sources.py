"""The sources of an answer as lines of text, for clients that show nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from shared.records import Citation
from shared.text.fence import one_line
from shared.text.inert import inert

HEADING = "Sources:"


def source_lines(citations: Sequence[Citation]) -> tuple[str, ...]:
    """A line for each citation, with its number in the text, its document and the document's site.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> source_lines([Citation(2, EdgeId("plant"), DocumentId("d1"), "lots.md", ChunkId("d1:0"), (0, 9), "Lot 7713", 0.8)])
    ('- [2] lots.md – plant',)
    """
    return tuple(f"- [{one.n}] {one_line(inert(one.document))} – {one_line(inert(one.edge))}" for one in citations)


def listed(citations: Sequence[Citation]) -> str:
    """The sources under their heading, as a list that Markdown shows as one; "" where nothing is cited."""
    return "\n".join((HEADING, "", *source_lines(citations))) if citations else ""
