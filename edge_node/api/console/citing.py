"""An answer's text with its citations, each with the places in its passage that bear out what is claimed there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from edge_node.node import EdgeNode
from shared.records import Answer, Chunk, ChunkId, Citation, whole_of
from shared.text.citations import NUMBER_SHOWN, supporting
from shared.text.sentences import sentences


@dataclass(frozen=True, slots=True)
class Cite:
    """A number in an answer. ``claim``: the sentence in which it stands; ``is_first``: of this number."""

    n: int
    claim: str
    is_first: bool


@dataclass(frozen=True, slots=True)
class Opening:
    """A citation as a button: the passage at the end of this address, "" where this site has not got it."""

    n: int
    address: str


def pieces(text: str, known: frozenset[int]) -> Iterator[str | Cite]:
    """An answer's text, with its citations between.

    >>> list(pieces("It failed [1]. See [7].", frozenset({1})))
    ['It failed ', Cite(n=1, claim='It failed [1]. ', is_first=True), '. ', 'See [7].']
    """
    seen = set[int]()
    for begin, end in sentences(text):
        at, claim = begin, text[begin:end]
        for match in NUMBER_SHOWN.finditer(text, begin, end):
            if (number := int(match[1])) in known:
                yield text[at : match.start()]
                yield Cite(number, claim, number not in seen)
                seen.add(number)
                at = match.end()
        yield text[at:end]


def opened(node: EdgeNode, answer: Answer) -> list[str | Opening]:
    """The same, each citation with the passage that it opens. Reads the store: to be called in a thread."""
    cited = {citation.n: citation for citation in answer.citations}
    chunks = _chunks(node, [one for one in answer.citations if one.edge == node.settings.id])
    found = list[str | Opening]()
    for piece in pieces(answer.answer, frozenset(cited)):
        if isinstance(piece, str):
            found.append(piece)
        else:
            one = cited[piece.n]
            found.append(Opening(piece.n, address(one, places(one, piece, chunks.get(piece.n))) if one.edge == node.settings.id else ""))
    return found


def places(citation: Citation, cite: Cite, chunk: Chunk | None) -> list[tuple[int, int]]:
    """Where a claim is borne out, the best place first: what the answer quotes is that of the first one that cites the passage.

    >>> from shared.records import EdgeId
    >>> chunk = Chunk(ChunkId("d:0"), "d", 0, "P-204 failed. P-7 leaked.", 100, 125, 8)
    >>> citation = Citation(1, EdgeId("ward"), "d", "d", ChunkId("d:0"), (100, 113), "P-204 failed.", 0.9)
    >>> places(citation, Cite(1, "P-7 leaked [1].", False), chunk), places(citation, Cite(1, "P-204 failed [1].", True), chunk)
    ([(114, 125)], [(100, 113)])
    """
    found = [(chunk.start + start, chunk.start + end) for start, end in supporting(chunk.text, cite.claim)] if chunk else []
    if cite.is_first or not found:
        return [citation.span, *(one for one in found if one != citation.span)]
    return found


def address(citation: Citation, at: list[tuple[int, int]]) -> str:
    """What opens a passage at these places."""
    (start, end), *others = at
    also = [("also", f"{one}-{other}") for one, other in others[:5]]
    return f"/console/passages/{citation.document_id}?{urlencode([('start', start), ('end', end), *also])}"


def _chunks(node: EdgeNode, citations: list[Citation]) -> dict[int, Chunk]:
    """The chunk of each citation of this site, by the citation's number; the cloud's answers name it by its outside id."""
    ids = {one.n: _inside(node, one.chunk_id) for one in citations}
    chunks = node.documents.chunks(sorted(set(ids.values())))
    return {n: chunks[chunk_id][0] for n, chunk_id in ids.items() if chunk_id in chunks}


def _inside(node: EdgeNode, chunk_id: ChunkId) -> ChunkId:
    document, _, number = whole_of(chunk_id).rpartition(":")
    return ChunkId(f"{node.sharing.outside_ids.opened(document) or document}:{number}")
