"""④ What is found for a question in one moment of the graph: chunks in their order, and the relations worth a line (ADR 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, Protocol

import orjson

from edge_node.extraction.nlp import SpacyExtractor
from edge_node.extraction.titles import has_names, named_in
from edge_node.graph.knowledge_graph import Adjacency, Graph, Pair
from edge_node.graph.passages import Passages, top_allowed
from edge_node.graph.ranking import blended, relevance, walk
from edge_node.graph.view import View, Visibility, pair_of
from edge_node.settings import Channel
from shared.ports import FloatArray, Generator, Prompt
from shared.telemetry.trace import count_call
from shared.text.prompts import load_prompt

START_CHUNKS = 20  # the most relevant ones, where the walk starts too …
START_SHARE = 0.05  # … with this much beside the entities that the question names
COMMON = 0.03  # what a word that is an entity but not written as a name counts beside a name: "film", "director"
LOOKED_AT = 64  # chunks of a named entity, to see whether it is what the question is about

NEIGHBOURS = 5  # one-hop relations per hit entity, strongest first

PROMPT = load_prompt("edge_node", "keywords")
LIST = {"type": "array", "maxItems": 6, "items": {"type": "string", "maxLength": 60}}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"low": LIST, "high": LIST}, "required": ["low", "high"]}
MAX_TOKENS = 120
DEADLINE_S = 30.0


@dataclass(frozen=True, slots=True)
class Keywords:
    """Low level: things named in the question. High level: its themes (LightRAG §3.2)."""

    low: tuple[str, ...]
    high: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hits:
    """Keys of entities and relations, best first, with cosine."""

    entities: tuple[tuple[str, float], ...]
    relations: tuple[tuple[tuple[str, str], float], ...]


def pair(source: str, target: str) -> tuple[str, str]:
    """The key of an undirected relation."""
    return (source, target) if source < target else (target, source)


def neighbours(hits: Hits, adjacency: Adjacency, *, per_entity: int = NEIGHBOURS) -> list[tuple[tuple[str, str], float]]:
    """One-hop relations of the hit entities: those joining two hits first, then by weight; score = the entity's cosine.

    Relations that are hits themselves are left out.
    """
    seeds = {key for key, _ in hits.entities}
    known = {key for key, _ in hits.relations}
    found: dict[tuple[str, str], float] = {}
    for key, score in hits.entities:
        if key not in adjacency:
            continue
        edges = sorted(adjacency[key].items(), key=lambda item: (item[0] not in seeds, -item[1], item[0]))
        for other, _ in edges[:per_entity]:
            edge = pair(key, other)
            if edge not in known:
                found[edge] = max(score, found.get(edge, -1.0))
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def chunk_support(hits: Hits, near: Iterable[tuple[tuple[str, str], float]], graph: Graph) -> dict[str, float]:
    """How strongly each chunk is carried: the sum of the cosines of the hit entities and relations found in it.

    An entity's vote is shared among its chunks' square root, so that a name that is everywhere does not decide.
    """
    support: dict[str, float] = {}

    def vote(chunk_ids: Sequence[str], score: float) -> None:
        for chunk_id in chunk_ids:
            support[chunk_id] = support.get(chunk_id, 0.0) + score / len(chunk_ids) ** 0.5

    for key, score in hits.entities:
        if key in graph.entities:
            vote(graph.entities[key].chunk_ids, score)
    for edge, score in [*hits.relations, *near]:
        if edge in graph.relations:
            vote(graph.relations[edge].chunk_ids, score)
    return support


def rank_by(scores: Mapping[str, float], k: int) -> list[str]:
    """The k keys of highest score, ties by name."""
    return nsmallest(k, scores, key=lambda key: (-scores[key], key))


class KeywordFinder(Protocol):
    """Question to keywords."""

    async def find(self, question: str) -> Keywords:
        """Never empty: a question without keywords is its own keyword."""


class NlpKeywords:
    """Names and noun phrases are low level; the question itself, which holds the theme, is high level. No model call."""

    def __init__(self, extractor: SpacyExtractor) -> None:
        self._extractor = extractor

    async def find(self, question: str) -> Keywords:
        """As the class says."""
        phrases = await asyncio.to_thread(self._extractor.phrases, question)
        return Keywords(low=tuple(phrases) or (question,), high=(question,))


class ModelKeywords:
    """Asks the model; what it cannot say falls back to the question."""

    def __init__(self, generator: Generator) -> None:
        self._generator = generator

    async def find(self, question: str) -> Keywords:
        """As the class says. Raises ModelError."""
        prompt = Prompt(PROMPT.render(question=question), max_tokens=MAX_TOKENS, schema=SCHEMA)
        reply = count_call(await self._generator.generate(prompt, deadline_s=DEADLINE_S))
        return parse_keywords(reply.texts[0], question)


def parse_keywords(reply: str, question: str) -> Keywords:
    """The two lists of a reply; whatever is missing or unreadable is the question itself.

    >>> parse_keywords('{"low": ["Orrin Mill"]}', "Who built it?")
    Keywords(low=('Orrin Mill',), high=('Who built it?',))
    """
    try:
        parsed = orjson.loads(reply)
    except orjson.JSONDecodeError:
        parsed = {}

    def texts(level: str) -> tuple[str, ...]:
        found = parsed.get(level) if isinstance(parsed, dict) else None
        return tuple(text for text in found if isinstance(text, str) and text.strip()) if isinstance(found, list) else ()

    return Keywords(texts("low") or (question,), texts("high") or (question,))


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """A question with its vector (d,), and those of its low-level and high-level keywords, for the channels that need them."""

    question: str
    whole: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class RankedChunks:
    """Chunks, best first, with their cosine; entities, relations, and those one hop from an entity, each best first."""

    chunks: tuple[tuple[str, float], ...]
    entities: tuple[str, ...]
    hits: tuple[Pair, ...]
    near: tuple[Pair, ...]

    @property
    def relations(self) -> tuple[Pair, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys([*self.hits, *self.near]))


@dataclass(frozen=True, slots=True)
class GraphSearch:
    """One question, in one view, for one who may see what is ``shown``."""

    view: View
    passages: Passages
    sought: QueryVectors
    shown: Visibility
    channels: Collection[Channel]
    top_k: int

    def run(self) -> RankedChunks:
        """The ``top_k`` best chunks by nearness, words and graph, what the question names or hits, and the relations of that."""
        words = self.passages.matches(self.sought.question, self.shown.withheld) if "lexical" in self.channels else None
        near = [key for key, _ in self.passages.top(self.sought.whole, max(self.top_k, START_CHUNKS), self.shown.withheld)]
        shared = [key for key, _ in words.top(max(self.top_k, START_CHUNKS))] if words else []
        pool = dict.fromkeys([*near, *shared])

        def judged(more: Iterable[str]) -> tuple[dict[str, float], dict[str, float]]:
            cosines = self.passages.scores(self.sought.whole, list(pool | dict.fromkeys(more)))
            return cosines, relevance(cosines, {key: words.of(key) for key in cosines} if words else {})

        hits = self._hits()
        entities = dict.fromkeys(key for key, _ in hits.entities)
        joined = [(pair, score) for pair, score in neighbours(hits, self.view.adjacency) if self._is_shown(pair)]
        support = self.shown.chunks(chunk_support(hits, joined, self.view.graph))
        if "pagerank" in self.channels:
            named = self._named()
            entities = dict.fromkeys([*named, *entities])
            relevant = judged(key for entity in named for key in self._chunks_of(entity)[:LOOKED_AT])[1]
            support = self._walked(named, relevant, support)
            linked = Hits(tuple((key, 1.0) for key in named), hits.relations)
            joined += [(pair, score) for pair, score in neighbours(linked, self.view.adjacency) if self._is_shown(pair)]
        cosines, relevant = judged(rank_by(support, self.top_k))
        order = rank_by(blended(relevant, support), self.top_k)
        told, near_by = (tuple(pair for pair, _ in pairs) for pairs in (hits.relations, joined))
        return RankedChunks(tuple((key, cosines[key]) for key in order), tuple(entities), told, near_by)

    def _hits(self) -> Hits:
        """Dual level: entities nearest the low-level keywords, relations nearest the high-level ones."""
        entities, relations = self.view.graph.entities, self.view.graph.relations
        low, high = self.sought.low, self.sought.high
        near = top_allowed(self.view.entities, low, self.top_k, lambda key: self.shown.some(entities.get(key))) if low is not None else []
        told = (
            top_allowed(self.view.relations, high, self.top_k, lambda key: self.shown.some(relations.get(pair_of(key))))
            if high is not None
            else []
        )
        return Hits(tuple(near), tuple((pair_of(key), score) for key, score in told))

    def _named(self) -> dict[str, float]:
        """The entities that the question names; 1 for a name, less for a common word. In a question without capitals, the graph knows."""
        written = has_names(self.sought.question)
        named = named_in(self.sought.question, self._find)
        entities = self.view.graph.entities
        return {key: 1.0 if (is_name if written else not entities[key].name.islower()) else COMMON for key, is_name in named.items()}

    def _find(self, key: str) -> str | None:
        entity = self.view.graph.entities.get(self.view.canonical.get(key, key))
        return entity.key if entity is not None and self.shown.some(entity) else None

    def _walked(self, named: Mapping[str, float], relevant: Mapping[str, float], support: Mapping[str, float]) -> dict[str, float]:
        """Time that a walk spends at each chunk: it starts at what is named, at the most relevant chunks, and at what hits support.

        An entity counts the more the fewer chunks tell of it (HippoRAG's node specificity), and the nearer one of them is.
        """
        starts = dict[str, float]()
        for key, weight in named.items():
            chunks = self._chunks_of(key)
            nearest = max((relevant.get(chunk, 0.0) for chunk in chunks[:LOOKED_AT]), default=0.0)
            starts[key] = weight * nearest**2 / max(len(chunks), 1)
        best = rank_by(relevant, START_CHUNKS)
        return walk(
            shares(starts, max(named.values(), default=0.0)),
            added(shares({key: relevant[key] for key in best}, START_SHARE), shares(support, START_SHARE)),
            self._chunks_of,
            lambda chunk_id: self.view.told.get(chunk_id, ()),
        )

    def _chunks_of(self, key: str) -> Sequence[str]:
        entity = self.view.graph.entities.get(key)
        return self.shown.visible(entity.chunk_ids) if entity is not None else ()

    def _is_shown(self, pair: Pair) -> bool:
        return self.shown.some(self.view.graph.relations.get(pair))


def shares(weights: Mapping[str, float], total: float) -> dict[str, float]:
    """The weights, scaled to a sum.

    >>> shares({"a": 3.0, "b": 1.0}, 1.0)
    {'a': 0.75, 'b': 0.25}
    """
    present = sum(weights.values())
    return {key: total * weight / present for key, weight in weights.items()} if present > 0 else {}


def added(left: Mapping[str, float], right: Mapping[str, float]) -> dict[str, float]:
    """Both, by key.

    >>> added({"a": 1.0}, {"a": 2.0, "b": 3.0})
    {'a': 3.0, 'b': 3.0}
    """
    return {key: left.get(key, 0.0) + right.get(key, 0.0) for key in [*left, *(key for key in right if key not in left)]}
