"""Reports about communities, and the one that is written without a model, in sentences of the documents (GraphRAG §2.5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import orjson

from edge_node.communities.cover import Count, cover
from edge_node.communities.elements import Element, Finding, Line
from edge_node.communities.hierarchy import Community
from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.summaries import SUBJECTS, told_entities
from shared.plural import counted
from shared.records import ChunkId, document_of
from shared.text.fence import one_line
from shared.text.sentences import content_words

MOST_CHUNKS = 8  # of a finding
MOST_RATING = 10
TITLE_NAMES = 2
Telling = Callable[[Finding], tuple[ChunkId, ...]]  # the chunks of a finding that say it
TELLING_WORDS = 14  # content words of a sentence that says something by itself: six of them fill a report
RUNNING_SHARE = 0.4  # of the words of a sentence, those in small letters: fewer make a headline, a table or a call to click
_LEANS = re.compile(  # not IT, the trade
    r"\W*(?:[Ii]ts?|[Hh]e|[Hh]is|[Ss]he|[Hh]er|[Tt]he(?:y|ir|se)|[Tt]h(?:is|at|ose|us)|[Ss]uch|[Hh]ere|[Yy]es|[Nn]o(?=,)"
    r"|[Hh]owever|[Bb]ut|[Aa]nd|[Tt]hen|[Ss]ince then|[Ii]nstead|[Aa]lso|[Yy]et|[Ss]o|[Aa]gain|[Mm]oreover|[Tt]herefore|[Mm]eanwhile"
    r"|[Ff]or (?:example|instance)|[Ii]n (?:this|that|these|those|addition|fact|another|other words))\b"
    r"|.*\b(?:(?:afore|above[- ])mentioned|[Aa]s (?:we |I )?(?:noted|mentioned|said))\b"
)
_QUOTES = (("“", "”"), ("(", ")"))
ENDS = (".", "!", "…", '."', ".”", ".)", "。", "।")  # of a statement; a question tells nothing


@dataclass(frozen=True, slots=True)
class ReportBounds:
    """How much a report is written from, and how much it says, in tokens; ``findings``: at most."""

    context_tokens: int
    tokens: int
    findings: int


PLAIN_BOUNDS = ReportBounds(8000, 2000, 40)  # where no model has to read or write them; the paper's tokens (§3.1, §A)


@dataclass(frozen=True, slots=True)
class Headline:
    """A community, what its report is called, and how much tells of it."""

    community: Community
    title: str
    rating: int  # 0 to 10
    chunks: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a community is about, how much that matters, and findings, best first."""

    community_id: str
    level: int
    title: str
    summary: str
    rating: int  # 0 to 10
    reason: str  # of the rating
    findings: tuple[Finding, ...]
    by_model: bool
    content: str  # ``content_of`` what it was written from


def content_of(lines: Sequence[Line], bounds: ReportBounds) -> str:
    """Identity of what a report is written from: its context, and the bounds of its findings.

    The lines of an upper community hold the reports below it, so a change goes up exactly as far as it can be read (a Merkle hash).
    """
    return blake2b(orjson.dumps([bounds.tokens, bounds.findings, *lines]), digest_size=8).hexdigest()


def lines_of(report: Report) -> tuple[Line, ...]:
    """A report as it stands in the context of the community above: one line a finding."""
    return tuple(Line("", (finding,), finding.chunk_ids, finding.elements) for finding in report.findings)


def headline(community: Community, part: Graph) -> Headline:
    """Title and rating of ``plain_report``, without its findings, which take far longer. part: the community's entities and relations."""
    chunks = chunks_of(part)
    return Headline(community, _title(_names(part)), _rating(len(chunks)), len(chunks))


def first_chunks(finding: Finding) -> tuple[ChunkId, ...]:
    """The first of the chunks that tell of a finding's elements, where nothing is known of what each says."""
    return finding.chunk_ids[:MOST_CHUNKS]


def plain_report(
    community: Community,
    part: Graph,
    lines: Sequence[Line],
    bounds: ReportBounds = PLAIN_BOUNDS,
    *,
    count: Count,
    telling: Telling = first_chunks,
) -> Report:
    """Write a community's report without a model, from its context: a function of the graph, whatever the order of its entities.

    part: the community's entities and relations. Title and summary name the most central entities, and are empty where a document's title
    or file name is all there is to name. Findings are a ``cover`` of what the lines say, within ``bounds``. Each has those of its
    elements' chunks that ``telling`` gives.
    """
    names, chunks = _names(part), chunks_of(part)
    documents = {document_of(chunk_id) for chunk_id in chunks}
    return Report(
        community_id=community.community_id,
        level=community.level,
        title=_title(names),
        summary=f"This part is about {', '.join(names)}." if names else "",
        rating=_rating(len(chunks)),
        reason=f"told of in {counted(len(chunks), 'passage')} of {counted(len(documents), 'document')}",
        findings=_findings(lines, bounds, count, telling),
        by_model=False,
        content=content_of(lines, bounds),
    )


def chunks_of(part: Graph) -> set[ChunkId]:
    """All chunks that tell of the entities and relations of a part."""
    elements: list[Element] = [*part.entities.values(), *part.relations.values()]
    return {chunk_id for element in elements for chunk_id in element.chunk_ids}


def _findings(lines: Sequence[Line], bounds: ReportBounds, count: Count, telling: Telling) -> tuple[Finding, ...]:
    told = _by_themselves([[finding.text for finding in line.findings] for line in lines])
    chosen = [
        (one.text, lines[one.place[0]].findings[one.place[1]])
        for one in cover(told, max_tokens=bounds.tokens, count=count, terms=content_words, most=bounds.findings, least=TELLING_WORDS)
    ]
    return tuple(replace(finding, text=text, chunk_ids=telling(finding)) for text, finding in chosen)


def _by_themselves(told: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """With "" in the place of each sentence that leans on the one before it or states nothing; as they are, where all do.

    >>> _by_themselves([["The pump failed.", "It was old.", "PUMPS ON SALE", "Which pump failed?"]])
    [['The pump failed.', '', '', '']]
    """
    alone = [[text if _states(text) else "" for text in texts] for texts in told]
    return alone if any(map(any, alone)) else told


def stands_alone(text: str) -> bool:
    """Whether a sentence is whole and leans on no other one, as far as its form tells.

    >>> [stands_alone(text) for text in ("No pump failed.", "No, the pump failed.", "For example, the pump failed.", "PUMPS ON SALE")]
    [True, False, False, False]
    >>> [stands_alone(text) for text in ("failed”), the pump did.", "The pump failed, as we noted.", "Ann Lee leads Juniper Ward.")]
    [False, False, True]
    """
    whole = all(text.count(opens) == text.count(closes) for opens, closes in _QUOTES) and text.count('"') % 2 == 0
    return whole and not text[:1].islower() and text.endswith(ENDS) and not _LEANS.match(text)


def _states(text: str) -> bool:
    """Whether it stands alone, and is no headline, table or call to click either."""
    words = [word for word in text.split() if word[0].isalpha()]
    return sum(word.islower() for word in words) >= RUNNING_SHARE * len(words) and stands_alone(text)


def _names(part: Graph) -> list[str]:
    return [one_line(entity.name) for entity in told_entities(part)[:SUBJECTS]]


def _title(names: Sequence[str]) -> str:
    return " and ".join(names[:TITLE_NAMES])


def _rating(chunks: int) -> int:
    """By the logarithm of how much tells of the community: what is added elsewhere does not change it."""
    return min(MOST_RATING, (chunks + 1).bit_length() - 1)  # the floor of log2(1 + chunks)
