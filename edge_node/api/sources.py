"""The sources of an answer as chat programs show them: a list below its text, and annotations of its markers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.records import Citation, Evidence, located
from shared.text.citations import NUMBER_SHOWN
from shared.text.fence import one_line
from shared.text.inert import inert

HEADING = "Sources:"
CLOSEST = "Closest passages:"
NOT_CERTAIN = "Not certain: read the source."


@dataclass(frozen=True, slots=True)
class Annotation:
    """Which characters [start, end) of a text are the marker of a citation."""

    start: int
    end: int
    citation: Citation


def doubts(unanswered: Sequence[str], *, answered: bool, certain: bool) -> str:
    """What a reader has to know of an answer before believing it; "" where nothing speaks against it.

    >>> doubts(["since when?"], answered=True, certain=False)
    'Not certain: read the source. No answer was found to: since when?'
    """
    doubt = [NOT_CERTAIN] if answered and not certain else []
    parts = [f"No answer was found to: {one_line(inert(part))}" for part in unanswered]
    return " ".join([*doubt, *parts])


def uri_of(found: Citation | Evidence) -> str:
    """The address of a passage, by the site that has it; no browser opens it, an agent asks that site by MCP (RFC 5147: characters).

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> uri_of(Citation(1, EdgeId("plant"), DocumentId("d1"), "lots.md", ChunkId("d1:0"), (0, 9), "Lot 7713", 0.8))
    'dgrag://plant/documents/d1#char=0,9'
    """
    start, end = found.span
    return f"dgrag://{found.edge}/documents/{found.document_id}#char={start},{end}"


def listed(citations: Sequence[Citation]) -> str:
    r"""A line for each citation, with its number, its document and the document's site, as Markdown's list; "" where nothing is cited.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> listed([Citation(2, EdgeId("plant"), DocumentId("d1"), "lots.md", ChunkId("d1:0"), (0, 9), "Lot 7713", 0.8)])
    'Sources:\n\n- [2] lots.md – plant'
    """
    lines = (f"- [{one.n}] {one_line(inert(located(one.document, one.place)))} – {one_line(inert(one.edge))}" for one in citations)
    return "\n".join((HEADING, "", *lines)) if citations else ""


def listed_closest(citations: Sequence[Citation]) -> str:
    r"""The sentences nearest a question, each with its document; "" where there are none.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> listed_closest([Citation(1, EdgeId("plant"), DocumentId("d1"), "lots.md", ChunkId("d1:0"), (0, 9), "Lot 7713.", 0.8)])
    'Closest passages:\n\n- "Lot 7713." – lots.md, plant'
    """
    lines = (
        f'- "{one_line(one.quote)}" – {one_line(inert(located(one.document, one.place)))}, {one_line(inert(one.edge))}' for one in citations
    )
    return "\n".join((CLOSEST, "", *lines)) if citations else ""


def without_sources(text: str) -> str:
    r"""What a program sends back as our answer, less the list of sources below it.

    >>> without_sources("Lot 7713 [1].\n\nSources:\n\n- [1] lots.md – plant")
    'Lot 7713 [1].'
    """
    bare = text
    for heading in (f"\n\n{NOT_CERTAIN}", f"\n\n{HEADING}\n", f"\n\n{CLOSEST}\n"):
        bare = bare.partition(heading)[0]
    return bare


def annotated(text: str, citations: Sequence[Citation], *, start: int = 0) -> Iterator[Annotation]:
    """Each marker of a text from ``start`` on that a citation resolves.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> cited = Citation(1, EdgeId("plant"), DocumentId("d1"), "lots.md", ChunkId("d1:0"), (0, 9), "Lot 7713", 0.8)
    >>> [(one.start, one.end) for one in annotated("It failed [1], not [7].", [cited])]
    [(10, 13)]
    """
    by_number = {one.n: one for one in citations}
    for match in NUMBER_SHOWN.finditer(text, start):
        if found := by_number.get(int(match[1])):
            yield Annotation(*match.span(), found)
