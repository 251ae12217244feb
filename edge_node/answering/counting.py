"""Which names a question wants to have counted, and the points that tell how often each is named, without a model (GraphRAG §2.6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from edge_node.communities.named import NamedOften, as_words
from shared.counts import MOST_NAME_CHARS, Count
from shared.records import Chunk, EdgeId, Evidence
from shared.text.citations import LIST_MARKS, MAX_QUOTE_CHARS
from shared.text.fence import one_line
from shared.text.sentences import sentences

MAX_BEFORE = MAX_QUOTE_CHARS // 3  # characters of a long sentence that are quoted before the name
MOST_TOLD = 15  # names of one site: a cloud adds up what several tell
NAMES = frozenset({"person", "organization", "place", "product", "work", "event", "group", "title"})
_OFTEN = re.compile(r"\b(?:most|common\w*|main|major|key|frequen\w+|often|recurr\w+|dominant|prevalent|top)\b", re.IGNORECASE)
_KINDS = {
    "person": r"people|persons?|individuals?|players?|athletes?|celebrit(?:y|ies)|politicians?|authors?|experts?",
    "organization": r"compan(?:y|ies)|organi[sz]ations?|firms?|teams?|institutions?|brands?|agenc(?:y|ies)",
    "place": r"places?|countr(?:y|ies)|cit(?:y|ies)|regions?|locations?|towns?",
    "product": r"products?|devices?|tools?",
    "event": r"events?",
}
_ANY = re.compile(r"\b(?:themes?|topics?|subjects?|names?|matters?|trends?|stories|words)\b", re.IGNORECASE)
_OF_KIND = {kind: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for kind, words in _KINDS.items()}


def kinds_wanted(question: str) -> frozenset[str]:
    """The types of entities that a question wants to have counted; empty where it wants none. English only.

    >>> sorted(kinds_wanted("Which companies and people are mentioned most often?")), kinds_wanted("What are the main problems?")
    (['organization', 'person'], frozenset())
    """
    if not _OFTEN.search(question):
        return frozenset()
    found = frozenset(kind for kind, words in _OF_KIND.items() if words.search(question))
    return found or (NAMES if _ANY.search(question) else frozenset())


def counted(
    named: Sequence[NamedOften], of: int, chunks: Mapping[str, tuple[Chunk, str, str]], edge: EdgeId, mask: Callable[[str], str]
) -> list[Evidence]:
    """One point a name: how often it is told of, and the sentence of a document that names it. A name that is masked is not told.

    Each is cited from a document that none before was cited from, where there is one. ``of``: documents that were counted. ``chunks`` by
    id, with name and title of their document, as they may be told.
    """
    points = list[Evidence]()
    for one in named:
        name = one_line(one.name)
        if len(name) > MOST_NAME_CHARS or mask(name) != name:
            continue
        naming = [_naming(name, chunks[chunk_id], edge) for chunk_id in one.chunk_ids if chunk_id in chunks]
        found = [passage for passage in naming if passage is not None]
        cited = {point.document_id for point in points}
        if found:
            best = next((passage for passage in found if passage.document_id not in cited), found[0])
            points.append(replace(best, report=one.report, point=str(Count(name, one.documents, of))))
    return points


def _naming(name: str, told: tuple[Chunk, str, str], edge: EdgeId) -> Evidence | None:
    """The sentence of a passage that names something, or None."""
    chunk, document, title = told
    holds = re.compile(as_words(name).pattern, re.IGNORECASE)
    found = next(((match.start(), span) for span in sentences(chunk.text) if (match := holds.search(chunk.text, *span))), None)
    if found is None:
        return None
    start, text = _around(chunk.text, *found)
    place = (edge, chunk.document_id, document, chunk.chunk_id, (chunk.start + start, chunk.start + start + len(text)))
    return Evidence(*place, text, 1.0, title=title, places=chunk.places)


def _around(text: str, at: int, span: tuple[int, int]) -> tuple[int, str]:
    """Where a quote begins, and the quote: the sentence [start, end) that has a name at ``at``, or as much of it as may be quoted.

    >>> _around("Up. Ann left. Bo.", 4, (4, 14)), _around("# Ann Lee", 2, (0, 9))
    ((4, 'Ann left.'), (2, 'Ann Lee'))
    """
    start, end = span
    if end - start > MAX_QUOTE_CHARS:
        start = start if at - start <= MAX_BEFORE else text.find(" ", at - MAX_BEFORE, at) + 1 or at
        stop = min(end, start + MAX_QUOTE_CHARS)
        end = stop if stop == end else max(text.rfind(" ", at + MOST_NAME_CHARS, stop), at + MOST_NAME_CHARS)
    quote = text[start:end].rstrip()
    return end - len(text[start:end].lstrip(LIST_MARKS)), quote.lstrip(LIST_MARKS)
