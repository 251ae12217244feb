"""① Which keys are names of one entity, decided anew only for keys that a change can reach."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from edge_node.database.vectors import embed_texts
from edge_node.graph.aliases import AliasPair, EntityName, find_aliases
from edge_node.graph.mentions import MentionStore
from edge_node.graph.spellings import SpellingIndex, alike_pairs
from shared.ports import Embedder, FloatArray


@dataclass(frozen=True, slots=True)
class Resolved:
    """A decision about ``keys``: those that are another's alias, and the key of each one's entity before and now.

    The result for all keys at once would be the same: no link leads from ``keys`` to any other key.
    """

    keys: frozenset[str]
    mentioned: frozenset[str]  # those of ``keys`` that are there at all
    pairs: tuple[AliasPair, ...]
    before: Mapping[str, str]
    now: Mapping[str, str]

    @property
    def moved(self) -> set[str]:
        """Keys that stand for another entity than before."""
        return {key for key in self.keys if self.before[key] != self.now[key]}


class Resolver:
    """Knows the present aliases and every key's spelling; a cache of the store."""

    def __init__(self, mentions: MentionStore, embedder: Embedder) -> None:
        self._mentions = mentions
        self._embedder = embedder
        self._spellings: SpellingIndex | None = None
        self._canonical: dict[str, str] = {}
        self._groups: dict[str, set[str]] = {}

    def load(self, aliases: Iterable[AliasPair]) -> None:
        """Take over what was decided before; which keys there are is read again too, as a settle that was cut off may have committed."""
        self._spellings = None
        self._canonical = {pair.key: pair.canonical for pair in aliases}
        self._groups = defaultdict(set)
        for key, canonical in self._canonical.items():
            self._groups[canonical] |= {key, canonical}

    @property
    def canonical(self) -> Mapping[str, str]:
        """Key -> the key of its entity, for aliases only."""
        return self._canonical

    def group(self, canonical: str) -> set[str]:
        """All keys of an entity."""
        return self._groups.get(canonical, {canonical})

    async def resolve(self, changed: Collection[str]) -> Resolved:
        """Decide about the changed keys and all that links lead to from there. ``accept`` makes it hold."""
        keys, names, definitions = await asyncio.to_thread(self._reached, changed)
        alike = await asyncio.to_thread(alike_pairs, [name.key for name in names])
        vectors = await self._vectors({key for a, b, _ in alike for key in (a, b)})
        pairs = await asyncio.to_thread(partial(find_aliases, names, definitions, vectors, alike=alike))
        now = {key: key for key in keys} | {pair.key: pair.canonical for pair in pairs}
        before = {key: self._canonical.get(key, key) for key in keys}
        return Resolved(frozenset(keys), frozenset(name.key for name in names), tuple(pairs), before, now)

    def accept(self, resolved: Resolved) -> None:
        """The decision is committed: later ones build on it."""
        for canonical in set(resolved.before.values()):
            self._groups.pop(canonical, None)
        for key in resolved.keys:
            self._canonical.pop(key, None)
        for pair in resolved.pairs:
            self._canonical[pair.key] = pair.canonical
            self._groups.setdefault(pair.canonical, {pair.canonical}).add(pair.key)
        if self._spellings is not None:
            for key in resolved.keys:
                (self._spellings.add if key in resolved.mentioned else self._spellings.drop)(key)

    def _reached(self, changed: Collection[str]) -> tuple[set[str], list[EntityName], set[tuple[str, str]]]:
        """Follow spellings, definitions and present aliases from the changed keys, as far as they lead."""
        if self._spellings is None:
            self._spellings = SpellingIndex(self._mentions.keys())
        reached: set[str] = set()
        definitions: set[tuple[str, str]] = set()
        frontier = set(changed)
        while frontier:
            reached |= frontier
            found = self._mentions.definitions(frontier)
            definitions |= found
            beside = {key for definition in found for key in definition}
            beside.update(*(self._spellings.near(key) for key in frontier))
            beside.update(*(self.group(self._canonical.get(key, key)) for key in frontier))
            frontier = beside - reached
        return reached, self._mentions.names(reached), definitions

    async def _vectors(self, alike: Collection[str]) -> dict[str, FloatArray]:
        """Only names that are spelled alike are embedded: others are no aliases whatever they mean."""
        found, vectors = await embed_texts(self._embedder, {key: key for key in sorted(alike)})
        return dict(zip(found, vectors, strict=True))
