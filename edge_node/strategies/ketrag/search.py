"""One question over both graphs, for one who may see what is shown (KET-RAG §5.2, Alg. 4), and the variants of §6.1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from edge_node.graph.knowledge_graph import Pair
from edge_node.graph.ranking import relevance
from edge_node.graph.terms import terms_of
from edge_node.knowledge.view import View
from edge_node.store.passages import Passages, top_allowed
from edge_node.strategies.base import Retrieval, Tools
from edge_node.strategies.ketrag.bipartite import Weights
from edge_node.strategies.ketrag.channels import asked_first, by_score, extended, limits, neighbourhood, seeds_and_neighbours
from edge_node.strategies.ketrag.context import Context
from edge_node.strategies.ketrag.index import Graphs
from edge_node.strategies.ketrag.local_search import LINE_SHARE, SEEDS, Skeleton, local_search
from edge_node.strategies.ketrag.pieces import pieces_naming
from edge_node.strategies.method import Asked
from shared.records import ChunkId, Entity, Evidence, Relation

Variant = Literal["text", "knng", "keyword", "skeleton", "ket-u", "ket-p"]
THETA: Mapping[Variant, float] = {"keyword": 0.0, "skeleton": 1.0}  # others: the setting


@dataclass(frozen=True, slots=True)
class Options:
    """The knobs of the search; see EdgeSettings."""

    variant: Variant
    theta: float
    seeds: Literal["nearest", "question"]
    weights: Weights
    order: Literal["cosine", "fused"]
    fill: bool


EMPTY = Context((), (), 0)


@dataclass(frozen=True)
class Search:
    """A search in one view; ``run`` holds the graphs' lock, so nothing comes or goes meanwhile."""

    view: View
    passages: Passages
    graphs: Graphs
    tools: Tools
    options: Options
    asked: Asked

    def run(self) -> Retrieval:
        """The pieces and lines of the variant, pieces best first."""
        with self.graphs.lock:
            limit = self.asked.budget_tokens
            if self.options.variant in {"text", "knng"}:
                order = self._dense() if self.options.variant == "text" else seeds_and_neighbours(self._dense(), self._near)
                found = extended(EMPTY, order, self._tokens_of, limit_tokens=limit)
                return Retrieval(self._read(found.pieces))
            found = self._two_channels(limit)
            if self.options.fill:
                found = extended(found, self._dense(), self._tokens_of, limit_tokens=limit - found.tokens)
            return Retrieval(self._read(by_score(found.pieces, self._scores(found.pieces))), found.lines)

    def _two_channels(self, limit: int) -> Context:
        """Alg. 4: local search on the skeleton, then the pieces around the keywords."""
        skeleton_limit, keyword_limit = limits(limit, THETA.get(self.options.variant, self.options.theta))
        found = self._skeleton(skeleton_limit) if skeleton_limit else EMPTY
        if keyword_limit:
            around = neighbourhood(self._seed_terms(), self._pieces_of, self._tokens_of, limit_tokens=keyword_limit)
            found = extended(found, by_score(around, self._scores(around)), self._tokens_of, limit_tokens=keyword_limit)
        return found

    # ------------------------------------------------------------ the skeleton

    def _skeleton(self, limit: int) -> Context:
        entities = self.view.graph.entities
        near = top_allowed(self.view.entities, self.asked.vector, SEEDS, lambda key: key in entities and bool(self._chunks(entities[key])))
        seeds = [entities[key] for key, _ in near]
        pairs = {(min(one.key, other), max(one.key, other)) for one in seeds for other in self.view.adjacency.get(one.key, ())}
        relations = [relation for pair in sorted(pairs) if (relation := self._relation(pair)) is not None]
        skeleton = Skeleton(
            pieces_of=self._linked,
            name_of=lambda key: entities[key].name,
            tokens_of=self._tokens_of,
            cosines_of=self._cosines,
            count=self.tools.tokenizer.count,
        )
        share = 0.0 if self.asked.shown.withheld else LINE_SHARE  # a line may be of a withheld document
        return local_search(seeds, relations, skeleton, limit_tokens=limit, line_share=share)

    def _relation(self, pair: Pair) -> Relation | None:
        relation = self.view.graph.relations.get(pair)
        return relation if relation is not None and self._chunks(relation) else None

    def _chunks(self, element: Entity | Relation) -> list[ChunkId]:
        """The core chunks that tell of it and may be shown."""
        return [chunk_id for chunk_id in self.asked.shown.visible(element.chunk_ids) if chunk_id in self.graphs.core]

    def _linked(self, element: Entity | Relation) -> Iterator[str]:
        """The pieces that stand in the place of those chunks (§5.1, last lines)."""
        ends = [element.key] if isinstance(element, Entity) else [element.source, element.target]
        names = [self.view.graph.entities[key].name for key in ends]
        whole = [chunk_id for chunk_id in self._chunks(element) if chunk_id not in self.graphs.spans]
        yield from whole
        cut = [chunk_id for chunk_id in self._chunks(element) if chunk_id in self.graphs.spans]
        texts = self.tools.documents.texts_of(cut)
        for chunk_id in cut:
            if chunk_id in texts:
                spans = self.graphs.spans[chunk_id]
                yield from pieces_naming(names, {piece: texts[chunk_id][start:end] for piece, (start, end) in spans.items()})

    # ------------------------------------------------------------ keywords

    def _seed_terms(self) -> Iterable[str]:
        nearest = (term for term, _ in self.graphs.bipartite.nearest(self.asked.vector, weights=self.options.weights))
        if self.options.seeds == "question" or self.asked.shown.withheld:  # a term's vector may be of withheld sentences
            return asked_first(terms_of(self.asked.question), self.graphs.bipartite.frequency, nearest)
        return nearest

    def _pieces_of(self, term: str) -> Iterable[str]:
        withheld = self.asked.shown.withheld
        pieces = self.graphs.bipartite.pieces_of(term)
        return [piece for piece in pieces if self.asked.shown.visible([ChunkId(piece)])] if withheld else pieces

    def _near(self, piece: str) -> Sequence[str]:
        """Neighbours of a piece: those of its chunk."""
        near = self.graphs.neighbours.get(chunk_of(piece), ())
        return [other for chunk_id in self.asked.shown.visible([ChunkId(key) for key in near]) for other in self._whole(chunk_id)]

    def _whole(self, chunk_id: str) -> Sequence[str]:
        return tuple(self.graphs.spans.get(chunk_id, ())) or (chunk_id,)

    # ------------------------------------------------------------ pieces

    def _tokens_of(self, piece: str) -> int:
        return self.graphs.bipartite.tokens_of(piece)

    def _dense(self) -> list[str]:
        """All pieces that may fit, nearest first."""
        k, shown = self._most, self.asked.shown
        whole = [key for key, _ in self.passages.top(self.asked.vector, k, shown.withheld) if key not in self.graphs.spans]
        there = [key for key in whole if key in self.graphs.bipartite]
        cut = top_allowed(self.graphs.pieces, self.asked.vector, k, lambda key: bool(shown.visible([ChunkId(key)])))
        return by_score([*there, *(key for key, _ in cut)], self._cosines([*there, *(key for key, _ in cut)]))

    @cached_property
    def _most(self) -> int:
        """Pieces that are looked at: more than fit."""
        return max(4 * self.asked.top_k, 64)

    def _cosines(self, pieces: Sequence[str]) -> dict[str, float]:
        whole = [piece for piece in pieces if chunk_of(piece) not in self.graphs.spans]
        cut = [piece for piece in pieces if chunk_of(piece) in self.graphs.spans]
        near = self.graphs.pieces.scores(self.asked.vector, cut) if cut else []
        return self.passages.scores(self.asked.vector, whole) | {
            key: score for key, score in zip(cut, near, strict=True) if score is not None
        }

    def _scores(self, pieces: Sequence[str]) -> Mapping[str, float]:
        """What orders pieces: their cosine (Alg. 4 l. 3); beyond the paper, with their chunks' words."""
        cosines = self._cosines(pieces)
        if self.options.order == "cosine":
            return cosines
        words = self.passages.matches(self.asked.question, self.asked.shown.withheld)
        return relevance(cosines, {key: words.of(chunk_of(key)) for key in cosines})

    def _read(self, pieces: Sequence[str]) -> tuple[Evidence, ...]:
        """Passages of pieces, best first; a piece is its part of the chunk's text."""
        chosen = list(pieces)[: self.asked.top_k]
        cosines = self._cosines(chosen)
        chunks = list(dict.fromkeys(map(chunk_of, chosen)))
        whole = {one.chunk_id: one for one in self.passages.all_of([(key, 0.0) for key in chunks])}
        return tuple(
            self._part(whole[ChunkId(chunk_of(piece))], piece, cosines.get(piece, 0.0)) for piece in chosen if chunk_of(piece) in whole
        )

    def _part(self, chunk: Evidence, piece: str, cosine: float) -> Evidence:
        start, end = self.graphs.spans.get(chunk.chunk_id, {}).get(piece, (0, len(chunk.text)))
        span = (chunk.span[0] + start, chunk.span[0] + end)
        return replace(chunk, chunk_id=ChunkId(piece), text=chunk.text[start:end], span=span, score=round(cosine, 4))


def chunk_of(piece: str) -> str:
    """The chunk of a piece; a chunk that is one piece is its own.

    >>> chunk_of("d:3.1"), chunk_of("d:3")
    ('d:3', 'd:3')
    """
    document, colon, place = piece.rpartition(":")
    return f"{document}{colon}{place.partition('.')[0]}"
