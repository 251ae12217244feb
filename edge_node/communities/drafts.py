"""Reports of one moment of the graph: what each is written from, and the text that stands for it (GraphRAG §2.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Self

import orjson

from edge_node.communities.cover import Count
from edge_node.communities.elements import Line, elements_of, told_sentences
from edge_node.communities.hierarchy import Community
from edge_node.communities.reports import (
    PLAIN_BOUNDS,
    Headline,
    Report,
    ReportBounds,
    Telling,
    chunks_of,
    headline,
    lines_of,
    plain_report,
)
from edge_node.communities.snapshot import Snapshot
from edge_node.communities.store import StoredReport
from edge_node.graph.knowledge_graph import Graph
from edge_node.graph.local_search import lines_within
from edge_node.graph.update import changed_share, facts_of
from edge_node.settings import CommunitySettings
from shared.records import ChunkId

REMEMBERED = 2**14  # texts: about what the largest root of 40,000 entities has
MOST_LEAVES = 4096  # plain reports of communities that are not divided: there are most of these, and each is soon written again


def leaf_context(elements: Sequence[Line], *, limit_tokens: int, count: Count) -> tuple[Line, ...]:
    """The first of ``elements_of`` a community, until the next one does not fit; tokens are those of the lines' texts, summed."""
    return tuple(elements[: len(lines_within([line.text for line in elements], limit_tokens, count))])


def upper_context(
    elements: Sequence[Line],
    children: Mapping[str, Iterable[str]],
    report: Callable[[str], Sequence[Line]],
    *,
    limit_tokens: int,
    count: Count,
) -> tuple[Line, ...]:
    """``elements_of`` a community whose children have reports: all of them if they fit, and else reports in the place of some.

    children: keys of entities by id. report: the lines of a child's report, by its id; only those are asked for that are looked at.
    Child by child, the one with most tokens of elements first (ties by id), the elements within it give way to its report, where that is
    shorter, until all fits. The reports stand first, in this order, then the elements that are left, in theirs; if that still is too
    long, up to the limit. What a report says is not said again. Raises KeyError for an entity of the elements that no child has.
    """
    homes = {entity: child for child, entities in children.items() for entity in entities}
    within = [_home(line, homes) for line in elements]
    tokens = Counter[str]()
    for home, line in zip(within, elements, strict=True):
        tokens[home] += count(line.text)
    over, told, reported = tokens.total() - limit_tokens, list[Line](), set[str]()
    for child in sorted(children, key=lambda child: (-tokens[child], child)):
        if over <= 0 or _tokens(_told_once(told), count) > limit_tokens:
            break  # it fits, or the reports alone never will: what comes behind them is not told
        saved = tokens[child] - _tokens(lines := report(child), count)
        if saved > 0:
            told += lines
            reported.add(child)
            over -= saved
    left = [line for home, line in zip(within, elements, strict=True) if home not in reported]
    return leaf_context(list(_told_once([*told, *left])), limit_tokens=limit_tokens, count=count)


def _tokens(lines: Iterable[Line], count: Count) -> int:
    return sum(count(line.text) for line in lines)


def _home(element: Line, homes: Mapping[str, str]) -> str:
    """The child that an entity, or both ends of a relation, are in; "" where a relation joins two."""
    found = {homes[key] for key in element.elements[0].split("\t")}
    return found.pop() if len(found) == 1 else ""


def _told_once(lines: Iterable[Line]) -> Iterator[Line]:
    said = set[str]()
    for line in lines:
        new = tuple(finding for finding in line.findings if finding.text not in said)
        said.update(finding.text for finding in new)
        if line.name or new:
            yield replace(line, findings=new)


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """A report that a model should write: from ``lines``, in the place of ``plain``, whose ``content`` names what it is written from."""

    plain: Report
    lines: tuple[Line, ...]
    facts: tuple[int, ...]  # a number for each entity, relation and claim of the community
    made_of: frozenset[ChunkId]  # all chunks that tell of them


@dataclass(frozen=True, slots=True)
class PlainReport:
    """A plain report, and names of all that it follows from."""

    made_of: bytes  # the community, its entities, relations and claims
    below: Mapping[str, bytes]  # what the reports below say that were looked at, by id: none where the community's own elements fit
    report: Report


@dataclass(frozen=True, slots=True)
class SentenceCache:
    """Tokens and sentences of texts, remembered: the same ones stand on several levels, and in what guests see."""

    count: Count
    split: Callable[[str], Sequence[str]]

    @classmethod
    def of(cls, count: Count) -> Self:
        """Of a tokenizer, and ``told_sentences``; the last ``REMEMBERED`` texts each."""
        return cls(lru_cache(REMEMBERED)(count), lru_cache(REMEMBERED)(told_sentences))


class DraftWriter:
    """Gives the reports of a moment, those below first; each is made when it is asked for, once.

    What was written in a former moment is taken where all that it follows from is the same. A model's text stands for a report that is
    written from the same; and, within ``staleness``, where fewer of the facts than this share differ, and each chunk that it may
    say words of tells of the community still. Of several the one with most facts in common, ties by id.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        texts: dict[str, StoredReport],
        former: Mapping[str, PlainReport],
        settings: CommunitySettings,
        reading: SentenceCache,
        *,
        staleness: float,
        telling: Telling,
        go_on: Callable[[], None],
    ) -> None:
        """``texts`` by community id, of this moment or former ones; staleness 0: of the same content only.

        ``telling``: as of ``plain_report``. ``go_on`` is called before each report, and may raise; what was made is kept.
        """
        self.snapshot = snapshot
        self._communities = snapshot.hierarchy.communities
        self._texts = texts
        self._moved = [one for key, one in sorted(texts.items()) if key not in self._communities and one.report.by_model]
        self._settings = settings
        self._bounds = bounds_of(settings)
        self._reading = reading
        self._staleness = staleness
        self._telling = telling
        self._go_on = go_on
        self.written = {key: written for key, written in former.items() if key in self._communities}
        self._leaves = dict.fromkeys(key for key in self.written if not self._communities[key].children)  # the oldest first
        self._looked_at = set[str]()  # those written that hold in this moment
        self._availability: dict[str, StoredReport | None] = {}

    def report(self, community: Community) -> Report:
        """What is told about a community: a model's text, where one stands for it."""
        plain, stored = self._plain_of(community), self.text(community)
        if stored is None or not stored.report.by_model:
            return plain
        return replace(stored.report, community_id=community.community_id, level=community.level)

    def headline(self, community: Community) -> Headline:
        """Title and rating of its report."""
        short = headline(community, self.snapshot.part(community))
        if not self._texts:
            return short
        told = self.report(community)
        return replace(short, title=told.title, rating=told.rating)

    def text(self, community: Community) -> StoredReport | None:
        """What a model has written that stands for a community; it may have been of no use."""
        key = community.community_id
        if key not in self._availability:
            self._availability[key] = self._found(community) if self._texts else None
        return self._availability[key]

    def unwritten(self) -> list[Community]:
        """Those that a model should write, the lowest level first."""
        found = (one for one in self._communities.values() if one.level <= self._settings.report_finest and self.text(one) is None)
        return sorted(found, key=lambda one: (-one.level, one.community_id))

    def ready(self, unwritten: Collection[Community]) -> list[Community]:
        """Those that wait for nothing below them: what is written there may change what they are written from."""
        above = set[str]()
        for one in unwritten:
            parent = one.parent
            while parent and parent not in above:
                above.add(parent)
                parent = self._communities[parent].parent
        return [one for one in unwritten if one.community_id not in above]

    def unused(self) -> set[str]:
        """The texts that stand for no community of those that a model writes."""
        used = (self.text(one) for one in self._communities.values() if one.level <= self._settings.report_finest)
        return self._texts.keys() - {stored.report.community_id for stored in used if stored is not None}

    def draft(self, community: Community) -> ReportDraft:
        """What a model is to write a community's report from."""
        plain, part = self._plain_of(community), self.snapshot.part(community)
        lines, _ = self._lines(community, part)
        return ReportDraft(plain, lines, self._facts(part), frozenset(chunks_of(part)))

    def keep(self, stored: StoredReport) -> None:
        """Let a text stand for its community, which is one of this moment's; what those above say is looked at again."""
        key = stored.report.community_id
        self._texts[key] = stored
        while key:
            self._availability.pop(key, None)
            self._looked_at.discard(key)
            key = self._communities[key].parent

    # ------------------------------------------------------------ a model's

    def _found(self, community: Community) -> StoredReport | None:
        content = self._plain_of(community).content
        own = self._texts.get(community.community_id)
        if own is not None and own.report.content == content:
            return own
        if not self._staleness:
            return None
        part = self.snapshot.part(community)
        facts, chunks = self._facts(part), chunks_of(part)
        near = []
        for stored in self._candidates(community, own):
            share = changed_share(stored.facts, facts)
            if share < self._staleness and stored.made_of <= chunks:
                near.append((share, stored.report.community_id, stored))
        return min(near, key=lambda one: one[:2])[2] if near else None

    def _candidates(self, community: Community, own: StoredReport | None) -> Iterator[StoredReport]:
        if own is not None and own.report.by_model:
            yield own
        yield from (stored for stored in self._moved if stored.report.level == community.level)

    # ------------------------------------------------------------ plain ones

    def _plain_of(self, community: Community) -> Report:
        key = community.community_id
        known = self.written.get(key)
        if known is None or key not in self._looked_at:
            self._go_on()
            part = self.snapshot.part(community)
            made_of = self._made_of(community, part)
            if known is None or known.made_of != made_of or not self._says_the_same(known.below):
                known = self._write(community, part, made_of)
            self._remember(community, known)
        return known.report

    def _made_of(self, community: Community, part: Graph) -> bytes:
        """A name of all that a plain report follows from, but for the reports below it."""
        elements = [list(part.entities.values()), list(part.relations.values())]
        return _digest(
            [community.level, community.children, elements, list(self._degrees(part).values()), self.snapshot.claims_about(part)]
        )

    def _says_the_same(self, below: Mapping[str, bytes]) -> bool:
        return all(_digest(lines_of(self.report(self._communities[child]))) == said for child, said in below.items())

    def _remember(self, community: Community, written: PlainReport) -> None:
        key = community.community_id
        self.written[key] = written
        self._looked_at.add(key)
        if not community.children:
            self._leaves[key] = None
            while len(self._leaves) > MOST_LEAVES:
                oldest = next(iter(self._leaves))
                del self._leaves[oldest], self.written[oldest]

    def _write(self, community: Community, part: Graph, made_of: bytes) -> PlainReport:
        lines, below = self._lines(community, part)
        report = plain_report(community, part, lines, self._bounds, count=self._reading.count, telling=self._telling)
        return PlainReport(made_of, below, report)

    def _lines(self, community: Community, part: Graph) -> tuple[tuple[Line, ...], dict[str, bytes]]:
        """What a report is written from, and what the reports below say that this took."""
        limit_tokens, count = self._bounds.context_tokens, self._reading.count
        elements = elements_of(part, self._degrees(part), self.snapshot.claims_about(part), split=self._reading.split)
        lines = leaf_context(elements, limit_tokens=limit_tokens, count=count)
        below = dict[str, bytes]()
        if len(lines) == len(elements) or not community.children:
            return lines, below

        def reported(child: str) -> tuple[Line, ...]:
            said = lines_of(self.report(self._communities[child]))
            below[child] = _digest(said)
            return said

        children = {child: self._communities[child].entities for child in community.children}
        return upper_context(elements, children, reported, limit_tokens=limit_tokens, count=count), below

    def _facts(self, part: Graph) -> tuple[int, ...]:
        claims = self.snapshot.claims_about(part).values()
        return (*facts_of(part), *sorted(claim.fact for several in claims for claim in several))

    def _degrees(self, part: Graph) -> dict[str, int]:
        return {key: len(self.snapshot.adjacency.get(key, ())) for key in part.entities}


def bounds_of(settings: CommunitySettings) -> ReportBounds:
    """Of reports as the settings want them: small ones where a model writes them, which the plain ones stand in for."""
    if settings.reports != "model":
        return PLAIN_BOUNDS
    return ReportBounds(settings.report_context_tokens, settings.report_tokens, settings.report_findings)


def _digest(value: object) -> bytes:
    return blake2b(orjson.dumps(value), digest_size=16).digest()
