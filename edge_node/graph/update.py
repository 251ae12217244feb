"""①② From mentions to what questions and the cloud see: merged graph, the vectors that are read, partition, plain summaries (§III-B).

All of it is a function of the mentions, so adding and removing documents in any order leads to the same graph. A settle looks at
what the log of changes names, and at what that touches; a crash anywhere leaves the log, so the next settle does it again.
No language model is asked here: see ``refine``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import orjson

from edge_node.database.vectors import GraphKind, VectorRows, embed_texts, text_hash
from edge_node.graph.knowledge_graph import Graph, changed_graph, difference
from edge_node.graph.mentions import Changes
from edge_node.graph.merging import Merged, Merger
from edge_node.graph.release import SummaryRelease, released_parts
from edge_node.graph.repair import Placed, Placer
from edge_node.graph.resolution import Resolved, Resolver
from edge_node.graph.store import OBEYS, Settlement, StoredSummary
from edge_node.graph.summaries import extractive_summary
from edge_node.graph.titles import title_marks
from edge_node.graph.tools import Tools
from edge_node.graph.view import View, changed_told, entity_text, pair_of, relation_key, relation_text
from edge_node.records import Progress
from edge_node.settings import GraphSettings
from shared.records import Summary, SummaryId
from shared.sqlite import crc

SUMMARISED_BY = "summarised_by"  # key in meta


@dataclass(frozen=True, slots=True)
class SummaryForm:
    """Who writes summaries; a model's is written again when this share of its facts is different."""

    by_model: bool
    staleness: float


@dataclass(frozen=True, slots=True)
class ToldSummaries:
    """Summaries that the cloud must learn, and those that say what they said but are made of something else, or are stale now."""

    changed: list[StoredSummary]
    kept: list[StoredSummary]


def tell(
    parts: Mapping[str, Graph],
    stored: Mapping[str, StoredSummary],
    removed_from: Collection[str],
    form: SummaryForm,
    mask: Callable[[str], str],
    titles: Mapping[str, bytes],
) -> ToldSummaries:
    """Look at parts as they may be told. removed_from: those whose text may tell of something that was removed: it must not stay.

    titles: the marks of each part.
    """
    told = ToldSummaries([], [])
    for subgraph_id, part in parts.items():
        old, made_of, marks = stored.get(subgraph_id), summary_hash(part), titles[subgraph_id]
        if old is not None and old.input_hash == made_of and subgraph_id not in removed_from:
            if old.summary.titles != marks:
                told.changed.append(replace(old, summary=replace(old.summary, titles=marks)))
            continue
        if old is not None and form.by_model and old.facts and subgraph_id not in removed_from:  # plain ones have no facts to find them by
            stale = old.stale or changed_share(old.facts, facts_of(part)) >= form.staleness
            new = replace(old, summary=replace(old.summary, titles=marks), input_hash=made_of, stale=stale)
            (told.kept if old.summary == new.summary else told.changed).append(new)
            continue
        text = mask(extractive_summary(part))
        summary = Summary(SummaryId(subgraph_id), text, len(part.entities), len(part.relations), marks)
        facts = facts_of(part) if form.by_model else ()  # a plain text is always of its part as it is
        new = StoredSummary(summary, made_of, facts, stale=form.by_model and bool(part.entities))
        (told.kept if old is not None and old.summary == summary else told.changed).append(new)
    return told


def disobeying(parts: Mapping[str, Graph], stored: Mapping[str, StoredSummary], mask: Callable[[str], str]) -> set[str]:
    """Parts whose stored text is of other facts than may be told now, or holds what is masked now."""
    return {
        subgraph_id
        for subgraph_id, old in stored.items()
        if old.input_hash != summary_hash(parts[subgraph_id]) or mask(old.summary.text) != old.summary.text
    }


def summary_hash(part: Graph) -> str:
    """Identity of what a summary is made of: the part's entities and relations with their descriptions."""
    entities = [part.entities[key] for key in sorted(part.entities)]
    relations = [part.relations[pair] for pair in sorted(part.relations)]
    return text_hash(orjson.dumps([entities, relations], option=orjson.OPT_PASSTHROUGH_SUBCLASS).decode())


def facts_of(part: Graph) -> tuple[int, ...]:
    """One number for each entity and each relation."""
    return (*sorted(map(crc, part.entities)), *sorted(crc(*pair) for pair in part.relations))


def fact_numbers(keys: Iterable[str]) -> list[int]:
    """The numbers of entities among the facts."""
    return [crc(key) for key in keys]


def changed_share(before: Collection[int], now: Collection[int]) -> float:
    """Jaccard distance of two sets of facts, in [0, 1].

    >>> changed_share([1, 2, 3], [2, 3, 4])
    0.5
    """
    either = set(before) | set(now)
    return len(set(before) ^ set(now)) / len(either) if either else 0.0


@dataclass(frozen=True, slots=True)
class _Renewed:
    """Vectors of one kind that are new or different, and the keys of those that are gone."""

    rows: VectorRows
    gone: list[str]


class GraphUpdater:
    """Runs the step for one edge, and holds what it made: the view that questions see, and the partition."""

    def __init__(self, tools: Tools, settings: GraphSettings, kinds: Collection[GraphKind] = ()) -> None:
        """``kinds``: whose vectors are read by a method; the others are not made, and not kept."""
        self._store = tools.graph
        self._documents = tools.documents
        self._kinds = kinds
        self._releases = tools.releases
        self._embedder = tools.embedder
        self._index = tools.index
        self._settings = settings
        self._form = SummaryForm(by_model=settings.summaries == "model", staleness=settings.summary_staleness)
        self._resolver = Resolver(tools.graph.mentions, tools.embedder)
        self._merger = Merger(tools.graph, self._resolver, settings.description_chars, by_model=settings.descriptions == "model")
        self.placer = Placer(tools.graph, max_entities=settings.subgraph_entities, seed=settings.seed, method=settings.leiden)
        self._doubtful = True  # memory may be behind the store: a settle did not end well, or nothing was read yet
        self._commit: asyncio.Future[None] | None = None  # the last one; it goes on where the settle that began it was cancelled
        self.lock = asyncio.Lock()
        self.view = View.empty(index=tools.index, dimensions=tools.embedder.dimensions)

    @property
    def wanted_descriptions(self) -> Mapping[str, str]:
        """Entities and relations whose descriptions are too long together, each with the hash of what the model should shorten."""
        return self._merger.wanted

    def descriptions_of(self, key: str) -> list[str]:
        """All descriptions of an entity, or of a relation by its ``relation_key``, in the order of their chunks."""
        return self._merger.descriptions_of(key)

    async def open(self) -> None:
        """Read everything from the store; what is damaged there, or missing, is logged for the next settle."""
        async with self.lock:
            await self._read()

    async def settle(self, progress: Progress) -> None:
        """Renew everything that the changes make different, and commit it. After one that failed, the store is read again first."""
        async with self.lock:
            if self._doubtful:
                await self._read()
            await asyncio.to_thread(self._releases.tell_languages)
            release = await asyncio.to_thread(self._releases.summaries)
            changes = await asyncio.to_thread(self._store.mentions.changes)
            if changes.seq or await asyncio.to_thread(self._store.database.meta, OBEYS) != release.obeys:
                self._doubtful = True
                await self._settle(changes, release, progress)
                self._doubtful = False

    async def ended(self) -> None:
        """Return when no commit of a settle is under way, not even of one that was cancelled."""
        if self._commit is not None:
            await asyncio.wait([self._commit])

    async def _read(self) -> None:
        await self.ended()
        await asyncio.to_thread(self._load)
        self._doubtful = False

    def _load(self) -> None:
        self._forget_other_settings()
        self._resolver.load(self._store.aliases())
        graph = self._merger.everything()
        dimensions = self._embedder.dimensions
        entities, relations = self._vectors("entity"), self._vectors("relation")
        self.view = View.of(graph, self._resolver.canonical, entities, relations, index=self._index, dimensions=dimensions)
        unplaced = self.placer.load(graph)
        missing = graph.entities.keys() ^ set(entities.keys) if "entity" in self._kinds else set[str]()
        unlike = {relation_key(pair) for pair in graph.relations} ^ set(relations.keys) if "relation" in self._kinds else set[str]()
        self._store.mentions.log_changes(missing | unplaced, map(pair_of, unlike))

    def _vectors(self, kind: GraphKind) -> VectorRows:
        if kind not in self._kinds:
            self._store.vectors.clear(kind)
        return self._store.vectors.load(kind, self._embedder.dimensions)

    def _forget_other_settings(self) -> None:
        """What the model was to write is not what it is to write now."""
        if self._settings.descriptions == "joined":
            self._store.drop_descriptions()
        if self._store.database.meta(SUMMARISED_BY) == self._settings.summaries:
            return
        if self._form.by_model:
            self._store.mark_all_stale()
        self._store.database.set_meta(SUMMARISED_BY, self._settings.summaries)

    async def _settle(self, changes: Changes, release: SummaryRelease, progress: Progress) -> None:
        progress("merge", 0, 1)
        old = self.view
        resolved = await self._resolver.resolve(changes.entities)
        merged = await asyncio.to_thread(self._merger.merge, old.graph, changes, resolved)
        change = difference(old.graph, merged.entities, merged.relations)
        graph, adjacency = await asyncio.to_thread(changed_graph, old.graph, old.adjacency, change)
        new = View(graph, adjacency, changed_told(old.told, old.graph, change), old.canonical, old.entities, old.relations)
        entities = await self._renew("entity", {key: entity_text(graph, key) for key in merged.entities}, progress)
        pairs = {relation_key(pair): relation_text(graph, pair) for pair in merged.relations}
        relations = await self._renew("relation", pairs, progress)
        progress("partition", 0, 1)
        placed = await asyncio.to_thread(self.placer.place, new, merged)
        told = await asyncio.to_thread(self._tell, new, placed, merged, resolved, release)
        settlement = Settlement(
            changes.seq, resolved.keys, resolved.pairs, placed.change.changed, placed.change.gone,
            told.changed, told.kept, merged.outdated, placed.drift, release.obeys,
        )  # fmt: skip
        self._commit = asyncio.ensure_future(asyncio.to_thread(self._store.commit, settlement))
        await asyncio.shield(self._commit)
        self._resolver.accept(resolved)
        self._merger.accept(merged)
        self.placer.accept(placed)
        self.view = await asyncio.to_thread(_shown, new, entities, relations)

    async def _renew(self, kind: GraphKind, texts: Mapping[str, str | None], progress: Progress) -> _Renewed:
        """Embed the texts that are new or different and commit their vectors; delete those of what is gone (None)."""
        if kind not in self._kinds:
            return _Renewed(VectorRows((), (), np.empty((0, self._embedder.dimensions), dtype=np.float32)), [])
        known = await asyncio.to_thread(self._store.vectors.hashes, kind, texts)
        present = {key: text for key, text in texts.items() if text is not None}
        hashes = {key: text_hash(text) for key, text in present.items()}
        wanted = [key for key in present if known.get(key) != hashes[key]]
        gone = [key for key in texts if key not in present]
        texts_wanted = {key: present[key] for key in wanted}
        keys, matrix = await embed_texts(self._embedder, texts_wanted, lambda done: progress(f"embed {kind} texts", done, len(wanted)))
        rows = VectorRows(tuple(keys), tuple(hashes[key] for key in keys), matrix)
        if wanted or gone:
            await asyncio.to_thread(self._store.vectors.save, kind, rows, drop=gone)
        return _Renewed(rows, gone)

    def _tell(self, view: View, placed: Placed, merged: Merged, resolved: Resolved, release: SummaryRelease) -> ToldSummaries:
        """Summaries of the parts in which something may be different; of all where the policy or a document's labels have changed."""
        before, after = self.placer.parts, placed.parts
        seen = [*merged.entities, *(end for pair in merged.relations for end in pair)]
        touched = {after.home[key] for key in seen if key in after.home} | {part.subgraph_id for part in placed.change.changed}
        removed_from = {parts.home[key] for parts in (before, after) for key in merged.removed if key in parts.home}
        removed_from |= self._store.telling_of(fact_numbers(merged.removed))  # a text may be older than the part that it stands for
        obeyed = self._store.database.meta(OBEYS) == release.obeys
        members = {key: after.members[key] for key in sorted(touched | removed_from if obeyed else after.members) if key in after.members}
        canonical = {key: entity for key, entity in {**self._resolver.canonical, **resolved.now}.items() if key != entity}
        parts = released_parts(view, members, release, self._store.mentions, canonical)
        stored, mask = self._store.stored_summaries(members), release.redactor.mask
        if not obeyed:
            removed_from |= disobeying(parts, stored, mask)
        return tell(parts, stored, removed_from, self._form, mask, title_marks(parts, self._documents, release, canonical))

    def released_part(self, subgraph_id: str, release: SummaryRelease) -> Graph | None:
        """What the cloud may know of a part now; None where the part is gone, or what is shown is older than the partition."""
        members = self.placer.parts.members.get(subgraph_id)
        if members is None or not self.view.graph.entities.keys() >= set(members):
            return None
        return released_parts(self.view, {subgraph_id: members}, release, self._store.mentions, self._resolver.canonical)[subgraph_id]


def _shown(view: View, entities: _Renewed, relations: _Renewed) -> View:
    """The view with its indexes brought up to it."""
    for index, renewed in ((view.entities, entities), (view.relations, relations)):
        index.put(renewed.rows.keys, renewed.rows.vectors)
        index.drop(renewed.gone)
    return view
