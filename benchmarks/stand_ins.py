"""Instant, deterministic models for an edge: they say nothing about quality, so what remains is the edge's own cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from zlib import crc32

import numpy as np
import orjson

from benchmarks.meters import Stopwatch
from edge_node.extraction.extractor import Extracted
from edge_node.extraction.model_extraction import names_for_prompt, relation_prompt
from edge_node.extraction.names import normalise
from edge_node.records import Progress
from edge_node.strategies.dgrag.search import Keywords
from shared.ports import FloatArray, Prompt, Reply, Tokenizer
from shared.records import Chunk, EntityMention, RelationMention
from shared.vectors import unit

DIMENSIONS = 384
MAX_ENTITIES, MAX_RELATIONS = 10, 8  # of a chunk
PHRASE = re.compile(r"\b[A-Z][a-zA-Z]+(?:[ \-][A-Z][a-zA-Z]+){0,3}\b")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
WORD = re.compile(r"\b[a-z]{3,}")
LONG_WORD = re.compile(r"\b[a-z]{6,}")
SHARED = 0.55  # weight of the direction that all texts have in common: unrelated ones then have a cosine of 0.3, as of real models
_directions = np.random.default_rng(0).standard_normal((4096, DIMENSIONS)).astype(np.float32)
_common = _directions[0] / np.linalg.norm(_directions[0])


@dataclass(frozen=True, slots=True)
class Said:
    """What a text says: (name, type, description) and (source, target, keywords by commas, description, strength)."""

    entities: Sequence[tuple[str, str, str]]
    relations: Sequence[tuple[str, str, str, str, float]]


Say = Callable[[str], Said]
Embed = Callable[[Sequence[str]], FloatArray]


def phrases(sentence: str) -> list[str]:
    """Capitalised phrases of several words."""
    return [phrase for phrase in PHRASE.findall(sentence) if " " in phrase]


def say(text: str, names: Callable[[str], list[str]] = phrases) -> Said:
    """The most frequent names, pairs of them that follow each other in a sentence, and first sentences as descriptions.

    >>> said = say("Osric Vale leads Harrow Mill. The mill is old.")
    >>> [name for name, _, _ in said.entities], [(source, target) for source, target, *_ in said.relations]
    (['Harrow Mill', 'Osric Vale'], [('Osric Vale', 'Harrow Mill')])
    """
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    sentences: list[tuple[str, list[str]]] = []
    for sentence in SENTENCE.split(text):
        found = names(sentence)
        counts.update(found)
        for phrase in found:
            first.setdefault(phrase, sentence)
        sentences.append((sentence, found))
    top = sorted(counts, key=lambda phrase: (-counts[phrase], phrase))[:MAX_ENTITIES]
    pairs: dict[tuple[str, str], str] = {}
    for sentence, found in sentences:
        inside = [phrase for phrase in dict.fromkeys(found) if phrase in top]
        for source, target in pairwise(inside):
            pairs.setdefault((source, target), sentence)
    entities = [(name, "concept", first[name]) for name in top]
    chosen = list(pairs.items())[:MAX_RELATIONS]
    return Said(entities, [(a, b, ", ".join(WORD.findall(sentence)[:2]), sentence, 1.0) for (a, b), sentence in chosen])


def embed(texts: Sequence[str]) -> FloatArray:
    """Hashed words and a common direction; (n, 384) unit rows."""
    rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
    for place, text in enumerate(texts):
        words = [crc32(word.encode()) & 4095 for word in set(WORD.findall(text.lower()))]
        own = _directions[words].sum(axis=0)
        rows[place] = (1 - SHARED**2) ** 0.5 * own / (np.linalg.norm(own) or 1.0) + SHARED * _common
    return unit(rows)


@dataclass(slots=True)
class Models:
    """All models of an edge, and what they were asked. ``tokenizer`` given: extraction prompts are counted with it."""

    watch: Stopwatch = field(default_factory=Stopwatch)
    say: Say = say
    embed: Embed = embed
    tokenizer: Tokenizer | None = None
    texts_embedded: int = 0
    prompts: int = 0
    prompt_tokens: int = 0
    extraction_tokens: int = 0

    def count(self, prompt: Prompt) -> int:
        """Tokens of a prompt, by the tokenizer; 0 without one."""
        return sum(self.tokenizer.count(message.content) for message in prompt.messages) if self.tokenizer else 0


class InstantEmbedder:
    """Implements the port ``Embedder``."""

    def __init__(self, models: Models) -> None:
        self._models = models

    @property
    def fingerprint(self) -> str:
        """There is only this one."""
        return "instant"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, 384) unit rows."""
        self._models.texts_embedded += len(texts)
        with self._models.watch:
            return self._models.embed(texts)


class InstantExtractor:
    """Implements Extracts: what ``Models.say`` says of each chunk. The names' normal forms are the edge's work, not the model's."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def extract(self, chunks: Sequence[Chunk], progress: Progress) -> Extracted:
        """The mentions of all chunks of a document."""
        entities: list[EntityMention] = []
        relations: list[RelationMention] = []
        for chunk in chunks:
            with self._models.watch:
                said = self._models.say(chunk.text)
            named = chunk_entities(said, chunk)
            entities += named.values()
            relations += chunk_relations(said, chunk, named)
            self._count(chunk, list(named.values()))
        progress("extract", len(chunks), len(chunks))
        return Extracted(tuple(entities), tuple(relations))

    def _count(self, chunk: Chunk, entities: Sequence[EntityMention]) -> None:
        if self._models.tokenizer is not None:
            with self._models.watch:
                self._models.extraction_tokens += self._models.count(relation_prompt(chunk, names_for_prompt(entities), form="lines"))


def chunk_entities(said: Said, chunk: Chunk) -> dict[str, EntityMention]:
    """The entities that a chunk names, by normal form."""
    named: dict[str, EntityMention] = {}
    for name, kind, description in said.entities:
        if key := normalise(name):
            named.setdefault(key, EntityMention(key, name, kind, description, chunk.chunk_id))
    return named


def chunk_relations(said: Said, chunk: Chunk, named: dict[str, EntityMention]) -> list[RelationMention]:
    """One relation a pair of a chunk's entities."""
    found: dict[tuple[str, str], RelationMention] = {}
    for source_name, target_name, words, description, strength in said.relations:
        source, target = normalise(source_name), normalise(target_name)
        if source in named and target in named and source != target:
            keywords = tuple(words.split(", "))
            found.setdefault((source, target), RelationMention(source, target, description, keywords, float(strength), chunk.chunk_id))
    return list(found.values())


class InstantKeywords:
    """Implements KeywordFinder: capitalised phrases, and long words."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def find(self, question: str) -> Keywords:
        """Never empty."""
        with self._models.watch:
            low, high = tuple(PHRASE.findall(question)), tuple(LONG_WORD.findall(question)[:5])
        return Keywords(low or (question,), high or (question,))


class InstantGenerator:
    """Implements the port ``Generator``: a sentence that suits a summary, after the prompt was counted."""

    name = "instant"

    def __init__(self, models: Models) -> None:
        self._models = models

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """One sentence a sample; ``deadline_s`` is never reached."""
        del deadline_s
        with self._models.watch:
            tokens = self._models.count(prompt)
            digest = crc32(orjson.dumps([message.content for message in prompt.messages]))
        self._models.prompts += 1
        self._models.prompt_tokens += tokens
        text = f"This part tells how its {digest} things belong together and what each of them is for."
        return Reply((text,) * prompt.n, tokens, 15 * prompt.n, truncated=(False,) * prompt.n)

    async def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """The same sentence, in one piece."""
        yield (await self.generate(prompt, deadline_s=deadline_s)).texts[0]
