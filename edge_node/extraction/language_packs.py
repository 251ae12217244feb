"""All packs behind one port: a passage goes to the reader of its language; each is loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol

from edge_node.extraction.packs.table import PACKS
from edge_node.extraction.packs.tagged import TaggedReader
from edge_node.extraction.parsing import Parser, Passage, Reading
from shared.text.language import READ


class ReadsPassages(Protocol):
    """A pack at work."""

    def read(self, passages: Sequence[Passage], *, with_facts: bool) -> list[Reading]:
        """One reading for each passage, in their order."""

    def phrases(self, question: str) -> list[str]:
        """The names and noun phrases of a question, in its order."""


class LanguagePacks:
    """The packs of this process. Raises OSError where the English model, and ImportError where another pack is not there."""

    def __init__(self, model_name: str) -> None:
        self._model_name = model_name
        self._loaded: dict[str, ReadsPassages] = {}

    def read(self, passages: Sequence[Passage], *, with_facts: bool, language: str = READ) -> list[Reading]:
        """One reading for each passage, in their order; all are in one language."""
        return self._of(language).read(passages, with_facts=with_facts)

    def read_all(self, batches: Sequence[Sequence[Passage]], *, with_facts: bool, language: str = READ) -> Iterator[list[Reading]]:
        """``read`` of each batch, in their order."""
        return (self.read(batch, with_facts=with_facts, language=language) for batch in batches)

    def phrases(self, question: str, *, language: str = READ) -> list[str]:
        """The names and noun phrases of a question, in its order."""
        return self._of(language).phrases(question)

    def _of(self, language: str) -> ReadsPassages:
        if language not in self._loaded:
            self._loaded[language] = Parser(self._model_name) if language == READ else _made(PACKS[language].reader)
        return self._loaded[language]


def _made(reader: str) -> TaggedReader:
    module, _, name = reader.partition(":")
    return TaggedReader(getattr(import_module(module), name)())
