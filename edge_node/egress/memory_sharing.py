"""Keeps what the cloud is to be told of memories as the sharing policy, the labels and the memories say now (goals P3, P5, R5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Protocol, Self

from edge_node.documents.languages import TOLD as LANGUAGES_TOLD
from edge_node.documents.store import LABELS_CHANGED, DocumentStore
from edge_node.egress.memory_outbox import ReleasedNames, SharedMemories
from edge_node.egress.sharing import Sharing
from edge_node.graph.mentions import MentionStore
from edge_node.graph.store import GraphStore
from edge_node.memory.records import Memory
from edge_node.memory.release import MemoryRelease, Released
from edge_node.memory.store import MemoryStore, Ratings, StoredMemory
from edge_node.policy.hints import Names
from edge_node.policy.redaction import Redactor
from edge_node.policy.rules import Level, Policy
from edge_node.policy.surrogates import Drawing, Surrogates
from shared.ports import Clock
from shared.records import DocumentId, document_of

State = tuple[object, ...]


@cache
def installed_surrogates() -> Surrogates:
    """The list of ``surrogates.toml``."""
    return Surrogates.parse(files("edge_node.egress").joinpath("surrogates.toml").read_text(encoding="utf-8"))


class Source(Protocol):
    """The memories of a site."""

    def all(self) -> Iterable[StoredMemory]:
        """All of them."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What a release is made of; ``state`` is another one where any of it is."""

    state: State
    memories: tuple[Memory, ...]


class MemorySharing:
    """Implements ``Release`` for memories. Reads disk and store: to be called in a thread, ``renew`` in one at a time."""

    def __init__(self, sharing: Sharing, documents: DocumentStore, mentions: MentionStore, source: Source, clock: Clock) -> None:
        self._sharing = sharing
        self._documents = documents
        self._mentions = mentions
        self.source = source
        self._clock = clock
        self._made_of: State = ()  # of what was stored last in this run
        self._known: tuple[State, Names] | None = None  # the last ones, and what they were made of
        self.told = SharedMemories(documents.database)
        self.names = ReleasedNames(documents.database)
        self._ratings = Ratings(documents.database)

    @classmethod
    def of(cls, sharing: Sharing, documents: DocumentStore, graph: GraphStore) -> Self:
        """Of a store's own memories; their vectors are of no use here."""
        return cls(sharing, documents, graph.mentions, MemoryStore(documents.database, 0), documents.clock)

    def is_told(self) -> bool:
        """Whether all stored ones obey the policy and the labels as they are now; not known while a policy is just being saved."""
        if self._sharing.file.lasting() is not self._sharing.policy:
            return False
        return self.told.is_empty() or self.told.obeys() == self._wanted(self._sharing.policy)

    def rule(self) -> str:
        """What lets memories go, for the ledger."""
        policy = self._sharing.policy
        return f"memories: {policy.memories.share}; policy {policy.key}, labels {self._labels_changed()}"

    def renew(self) -> None:
        """Store what may be told now, names drawn for it included; cheap where nothing has changed, or nothing may be told."""
        policy = self._sharing.file.lasting()
        wanted = self._wanted(policy)  # before anything is read that it stands for
        if policy.memories.share == "off":
            if not self.told.is_empty():
                self.told.commit((), (), obeys=wanted, at=self._clock.now())
            return
        redactor = self._sharing.redactor(policy)
        read = self._read((wanted, redactor.key))
        if read.state == self._made_of and self.told.obeys() == wanted:
            return
        found = self._released(policy, redactor, read.memories)
        self.told.commit(found.leaving, found.drawn, obeys=wanted, at=self._clock.now())
        self._made_of = read.state

    def released(self) -> Released:
        """What may be told now, and why how many others stay; nothing is stored."""
        policy = self._sharing.file.lasting()
        return self._released(policy, self._sharing.redactor(policy), self._read(()).memories)

    def _read(self, made_of: State) -> _Read:
        mentions, silenced = self._mentions.state(), {key for key, rating in self._ratings.all().items() if rating.silences}
        standing = (one.memory for one in self.source.all() if not one.doubtful)
        memories = tuple(memory for memory in standing if not silenced or self._ratings.key_of(memory) not in silenced)
        return _Read((*made_of, mentions, frozenset(memory.memory_id for memory in memories)), memories)

    def _released(self, policy: Policy, redactor: Redactor, memories: Iterable[Memory]) -> Released:
        rules, names, levels = policy.memories, self.names, dict[DocumentId, Level]()
        memories = tuple(memories)
        known = self._names(policy, levels)
        self._add_levels(levels, policy, {document_of(support.chunk_id) for memory in memories for support in memory.supports})
        drawing = Drawing(installed_surrogates(), names.secret(), rules.epsilon, rules.epsilon_budget, names.all())
        unread = self._sharing.unread(policy)
        return MemoryRelease(rules, policy.minimum_support, levels, known, redactor, drawing, unread).released(memories)

    def _names(self, policy: Policy, levels: dict[DocumentId, Level]) -> Names:
        """The names of all entities; ``levels`` learns of their documents."""
        state: State = (self._wanted(policy), self._mentions.state())
        if self._known is None or self._known[0] != state:
            mentions = tuple(self._mentions.entities())
            self._add_levels(levels, policy, {document_of(mention.chunk_id) for mention in mentions})
            self._known = state, Names.of(mentions, levels)
        return self._known[1]

    def _add_levels(self, levels: dict[DocumentId, Level], policy: Policy, documents: Iterable[DocumentId]) -> None:
        """The strictest of each document's versions; never where labels cannot be read."""
        of_labels: dict[tuple[str, ...] | None, Level] = {None: Level.NEVER}
        for document, versions in self._documents.labels_of([one for one in documents if one not in levels]).items():
            for labels in versions:
                if labels not in of_labels:
                    of_labels[labels] = policy.level_for_all(labels or ())
            levels[document] = min((of_labels[labels] for labels in versions), default=Level.NEVER)

    def _wanted(self, policy: Policy) -> str:
        told = self._documents.database.meta(LANGUAGES_TOLD, "0") if policy.redact.types else ""
        return f"{policy.memories_key}:{self._labels_changed()}{told and f'.{told}'}"

    def _labels_changed(self) -> str:
        return self._documents.database.meta(LABELS_CHANGED, "0")
