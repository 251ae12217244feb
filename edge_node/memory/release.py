"""Which memories the cloud may know for everybody's questions: with their answer, as a hint of where to ask, or not at all (goal P3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from edge_node.memory.records import Memory
from edge_node.policy.hints import Names, TextPart, could_name, exchanged, is_telling_nothing, shortened
from edge_node.policy.redaction import Redactor
from edge_node.policy.rules import Level, MemoryRules
from edge_node.policy.shadow import Shadow
from edge_node.policy.surrogates import Drawing, ReleasedName
from shared.records import DocumentId, document_of, is_withheld
from shared.wire import MAX_MEMORY_ANSWER_CHARS, MAX_MEMORY_QUESTION_CHARS

Why = Literal[
    "off",  # the policy shares none
    "learned",  # its question is its asker's
    "level",  # a document that it rests on may not be told of to everybody
    "support",  # too few documents tell of a name in it
    "epsilon",  # a name in it is not drawn yet, and may not be
    "name",  # something in it could be a name that nobody found
    "long",
    "copy",  # another one leaves with the same words
    "most",  # as many leave as may; not looked at further
]


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A memory as it leaves. A hint (not ``direct``) is a false sentence by design, with or without an answer; none may be shown.

    memory_id: its own, which outside would tell who guesses its texts; names: what stands in the place of its names.
    """

    memory_id: str
    question: str
    answer: str
    direct: bool
    names: tuple[ReleasedName, ...] = ()

    @property
    def epsilon(self) -> float:
        """What it tells of all its names together: the sum over them, each counted once."""
        return sum({name.name_key: name.epsilon for name in self.names}.values())


@dataclass(frozen=True, slots=True)
class Released:
    """The memories that leave, the names that must stand in the ledger before they do, and why how many others stay."""

    leaving: tuple[SharedMemory, ...]
    drawn: tuple[ReleasedName, ...]
    stayed: Mapping[Why, int]


@dataclass(frozen=True, slots=True)
class MemoryRelease:
    """What memories may tell. levels: of each document ``Policy.level_for_all``; of one that is missing: nothing may be told."""

    rules: MemoryRules
    minimum_support: int
    levels: Mapping[DocumentId, Level]
    names: Names
    redactor: Redactor
    drawing: Drawing
    unread: frozenset[str] = frozenset()  # documents and chunks in a language in which nobody finds the names that are to be masked

    def level(self, memory: Memory) -> Level:
        """The least of the documents that it rests on."""
        if any(is_withheld(support.chunk_id, self.unread) for support in memory.supports):
            return Level.NEVER
        return min(self.levels.get(document_of(support.chunk_id), Level.NEVER) for support in memory.supports)

    def released(self, memories: Iterable[Memory]) -> Released:
        """The memories as the cloud may know them, whatever their order: those that may be quoted first, then by id, as many as may leave.

        Barred and doubtful ones are not to be among them.
        """
        leaving, stayed, told = list[SharedMemory](), Counter[Why](), set[tuple[str, str]]()
        for memory in sorted(memories, key=lambda memory: (self.level(memory) < Level.FULL, memory.memory_id)):
            shared = self._shared(memory) if len(leaving) < self.rules.most else "most"
            if not isinstance(shared, SharedMemory):
                stayed[shared] += 1
            elif (shared.question, shared.answer) in told:
                stayed["copy"] += 1
            else:
                leaving.append(shared)
                told.add((shared.question, shared.answer))
        names = {name.name_key: name for shared in leaving for name in shared.names}
        new = (names[key] for key in sorted(names.keys() - self.drawing.released.keys()))
        return Released(tuple(leaving), tuple(new), dict(stayed))

    def _shared(self, memory: Memory) -> SharedMemory | Why:
        if self.rules.share == "off":
            return "off"
        if memory.kind == "learned":
            return "learned"
        level = self.level(memory)
        if level < Level.SUMMARY:
            return "level"
        if not (self._has_support(memory.question) and self._has_support(memory.answer)):
            return "support"
        question, answer = self.redactor.mask_question(memory.question), self.redactor.mask(memory.answer)
        fits = len(question) <= MAX_MEMORY_QUESTION_CHARS and len(answer) <= MAX_MEMORY_ANSWER_CHARS
        is_bare = (question, answer) == (memory.question, memory.answer)
        if level >= Level.FULL and self.rules.share == "answers" and fits and is_bare:
            return SharedMemory(memory.memory_id, question, answer, direct=True)
        return self._hint(memory.memory_id, question, answer)

    def _has_support(self, text: str) -> bool:
        """Whether enough documents tell of each name in a text, also of those that nobody knows."""
        if self.minimum_support <= 1:
            return True
        pieces = self.names.pieces(Shadow.of(text).text)
        few = any(piece.key and self.names.known[piece.key].support < self.minimum_support for piece in pieces)
        return not few and not could_name(pieces)

    def _hint(self, memory_id: str, question: str, answer: str) -> SharedMemory | Why:
        """From masked texts: what is masked is not exchanged, as it might be kept."""
        asked, said = self._exchanged(question), self._exchanged(answer)
        if asked is None or said is None:
            return "epsilon"
        if could_name(asked[0]):
            return "name"
        question, answer = ("".join(piece.text for piece in pieces) for pieces in (asked[0], said[0]))
        if len(question) > MAX_MEMORY_QUESTION_CHARS:
            return "long"
        is_told = is_telling_nothing(said[0]) and len(answer) <= MAX_MEMORY_ANSWER_CHARS
        names = (*asked[1], *(said[1] if is_told else ()))
        return SharedMemory(memory_id, question, answer if is_told else "", direct=False, names=names)

    def _exchanged(self, masked: str) -> tuple[list[TextPart], list[ReleasedName]] | None:
        pieces = self.names.pieces(Shadow.of(shortened(masked)).text)
        return exchanged(pieces, self.names, self.rules.names, self.drawing.of)
