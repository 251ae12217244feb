"""One question over both graphs, for one who may see what is shown (KET-RAG §5.2, Alg. 4), and the variants of §6.1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from edge_node.documents.lexical import Matches
from edge_node.graph.local_search import SEEDS, Context, SearchedGraph, fitting, local_search, part_of, relations_of
from edge_node.graph.passages import Passages, top_allowed
from edge_node.graph.ranking import relevance
from edge_node.graph.tools import Tools
from edge_node.graph.view import View
from edge_node.records import Retrieval
from edge_node.settings import KETRAGSettings
from edge_node.strategies.ketrag.index import Graphs
from edge_node.strategies.ketrag.pieces import pieces_naming
from edge_node.strategies.method import MethodQuery
from shared.records import ChunkId, Entity, Evidence, Relation, whole_of

Variant = Literal["text", "knng", "keyword", "skeleton", "ket-u", "ket-p"]
THETA: Mapping[Variant, float] = {"keyword": 0.0, "skeleton": 1.0}  # others: the setting

NEIGHBOURHOOD = 2  # tokens of the seeds' pieces for each token that the keyword channel may show (Alg. 4 l. 2)


def limits(limit_tokens: int, theta: float) -> tuple[int, int]:
    """Tokens of the skeleton's and of the keywords' channel; never more than the limit in all (Alg. 4 l. 1, 4).

    >>> limits(1_000, 0.4)
    (400, 600)
    """
    return part_of(limit_tokens, theta), part_of(limit_tokens, 1 - theta)


def neighbourhood(
    terms: Iterable[str], pieces_with: Callable[[str], Iterable[str]], tokens_of: Callable[[str], int], *, limit_tokens: int
) -> list[str]:
    """The pieces of the first terms, each with all of its, until they hold twice the channel's limit; sorted (Alg. 4 l. 2).

    terms: seeds, best first; read no further than needed. pieces_with: those that the asker may see.
    """
    found: set[str] = set()
    missing = NEIGHBOURHOOD * limit_tokens
    for term in terms if missing > 0 else ():
        newer = set(pieces_with(term)) - found
        found |= newer
        missing -= sum(map(tokens_of, newer))
        if missing <= 0:
            break
    return sorted(found)


def by_score(keys: Iterable[str], scores: Mapping[str, float]) -> list[str]:
    """Best first, ties by id; without those that have no score.

    >>> by_score(["b", "a", "gone"], {"a": 0.5, "b": 0.5})
    ['a', 'b']
    """
    return sorted((key for key in keys if key in scores), key=lambda key: (-scores[key], key))


def extended(context: Context, ranked: Iterable[str], tokens_of: Callable[[str], int], *, limit_tokens: int) -> Context:
    """A context and the best further pieces in at most ``limit_tokens`` of their own; those that are in it already are skipped.

    What ``local_search`` found, extended by the ranked ``neighbourhood`` in the second of ``limits``, is Alg. 4 l. 3-5.

    >>> extended(Context(("Ann: a miller",), ("c1",), 14), ["c1", "c2", "c3"], lambda piece: 10, limit_tokens=15)
    Context(lines=('Ann: a miller',), pieces=('c1', 'c2'), tokens=24)
    """
    there = set(context.pieces)
    added = fitting((key for key in ranked if key not in there), tokens_of, limit_tokens)
    return Context(context.lines, (*context.pieces, *added), context.tokens + sum(added.values()))


def seeds_and_neighbours(seeds: Iterable[str], neighbours_of: Callable[[str], Sequence[str]]) -> Iterator[str]:
    """KNNG-RAG's order: the piece nearest the question, its neighbours in the KNN graph, the next nearest …; each once (§6.1).

    >>> list(seeds_and_neighbours(["a", "b", "c"], {"a": ["c"], "b": ["a"], "c": []}.__getitem__))
    ['a', 'c', 'b']
    """
    seen: set[str] = set()
    for seed in seeds:
        for key in (seed, *neighbours_of(seed)):
            if key not in seen:
                seen.add(key)
                yield key


EMPTY = Context((), (), 0)
SHORT = 16  # tokens of a short piece
FEWEST = 64  # pieces that are looked at


@dataclass(frozen=True)
class KetSearch:
    """A search in one view. Pieces come and go meanwhile: those that the bipartite graph has when they are met count (``_there``).

    Who may not see all documents is answered as by Text-RAG: keywords' vectors, their rarity, descriptions and neighbours are made of
    many documents at once, and choosing by them would tell of those that are withheld.
    """

    view: View
    passages: Passages
    graphs: Graphs
    tools: Tools
    settings: KETRAGSettings
    asked: MethodQuery
    _sizes: dict[str, int] = field(default_factory=dict, init=False)  # tokens of the pieces that were met

    def run(self) -> Retrieval:
        """The pieces and lines of the variant, pieces best first."""
        limit = self.asked.budget_tokens
        variant: Variant = "text" if self.asked.shown.withheld else self.settings.ket_variant
        if variant in {"text", "knng"}:
            order = self._dense(EMPTY) if variant == "text" else seeds_and_neighbours(self._dense(EMPTY), self._near)
            found = extended(EMPTY, order, self._tokens_of, limit_tokens=limit)
            return Retrieval(self._read(found.pieces))
        found = self._two_channels(limit)
        if self.settings.ket_fill:
            found = extended(found, self._dense(found), self._tokens_of, limit_tokens=limit - found.tokens)
        return Retrieval(self._read(by_score(found.pieces, self._scores(found.pieces))), found.lines)

    def _two_channels(self, limit: int) -> Context:
        """Alg. 4: local search on the skeleton, then the pieces around the keywords."""
        skeleton_limit, keyword_limit = limits(limit, THETA.get(self.settings.ket_variant, self.settings.ket_entity_share))
        found = self._skeleton(skeleton_limit) if skeleton_limit else EMPTY
        if keyword_limit:
            with self.graphs.lock:
                tokens_of = self.graphs.bipartite.tokens_of
                around = neighbourhood(self._seed_terms(), self.graphs.bipartite.pieces_with, tokens_of, limit_tokens=keyword_limit)
            around = self._there(around)
            found = extended(found, by_score(around, self._scores(around)), self._tokens_of, limit_tokens=keyword_limit)
        return found

    # ------------------------------------------------------------ the skeleton

    def _skeleton(self, limit: int) -> Context:
        """Alg. 2 on the elements that a core chunk tells of.

        The paper's skeleton is made of core chunks alone (Alg. 3 l. 8-9). Here an element's name, description, keywords, weight and
        vector are merged from all chunks that tell of it: beta chooses which elements there are, and not what they say.
        """
        entities = self.view.graph.entities
        near = top_allowed(self.view.entities, self.asked.vector, SEEDS, lambda key: key in entities and bool(self._chunks(entities[key])))
        seeds = [entities[key] for key, _ in near]
        relations = [one for one in relations_of(seeds, self.view.graph, self.view.adjacency) if self._chunks(one)]
        skeleton = SearchedGraph(
            linked_pieces=self._linked,
            tells=self._tells,
            name_of=lambda key: entities[key].name,
            tokens_of=self._tokens_of,
            cosines_of=self._cosines,
            count=self.tools.tokenizer.count,
        )
        return local_search(seeds, relations, skeleton, limit_tokens=limit)

    def _tells(self, element: Entity | Relation) -> bool:
        """Whether its line may be shown: until the next settle it may be of a document that is gone."""
        return self.graphs.seen_all(element.chunk_ids)

    def _chunks(self, element: Entity | Relation) -> list[ChunkId]:
        """The core chunks that tell of it."""
        return [chunk_id for chunk_id in element.chunk_ids if chunk_id in self.graphs.core]

    def _linked(self, element: Entity | Relation) -> list[str]:
        """The pieces that stand in the place of those chunks (§5.1, last lines)."""
        ends = [element.key] if isinstance(element, Entity) else [element.source, element.target]
        names = [self.view.graph.entities[key].name for key in ends]
        spans = {chunk_id: self.graphs.spans.get(chunk_id) for chunk_id in self._chunks(element)}
        linked: list[str] = [chunk_id for chunk_id, cut in spans.items() if cut is None]
        texts = self.tools.documents.texts_of([chunk_id for chunk_id, cut in spans.items() if cut is not None])
        for chunk_id, text in texts.items():
            linked += pieces_naming(names, {piece: text[start:end] for piece, (start, end) in (spans[ChunkId(chunk_id)] or {}).items()})
        return self._there(linked)

    # ------------------------------------------------------------ keywords

    def _seed_terms(self) -> Iterable[str]:
        return (term for term, _ in self.graphs.bipartite.nearest(self.asked.vector, weights=self.settings.ket_weights))

    def _near(self, piece: str) -> Sequence[str]:
        """Neighbours of a piece: those of its chunk."""
        near = self.graphs.neighbours.get(whole_of(piece), ())
        return self._there(self._pieces_of(near))

    # ------------------------------------------------------------ pieces

    def _there(self, pieces: Iterable[str]) -> list[str]:
        """Those that the bipartite graph has: a chunk may be gone since it was linked, or not have been cut yet."""
        bipartite = self.graphs.bipartite
        with self.graphs.lock:
            there = {piece: bipartite.tokens_of(piece) for piece in pieces if piece in bipartite}
        self._sizes.update(there)
        return list(there)

    def _tokens_of(self, piece: str) -> int:
        return self._sizes[piece]

    def _dense(self, found: Context) -> list[str]:
        """The best pieces, best first: those found, and more than may fit beside them."""
        left, shown = self.asked.budget_tokens - found.tokens, self.asked.shown
        k = max(FEWEST, min(4 * self._most, len(found.pieces) + left // SHORT))
        whole = self.passages.top(self.asked.vector, k, shown.withheld)
        cut = top_allowed(self.graphs.pieces, self.asked.vector, k, lambda key: bool(shown.visible([ChunkId(key)])))
        said = self._pieces_of(key for key, _ in self._words.top(k)) if self.settings.ket_order == "fused" else ()
        there = self._there(dict.fromkeys([*(key for key, _ in (*whole, *cut)), *said]))
        return by_score(there, self._scores(there))

    def _pieces_of(self, chunk_ids: Iterable[str]) -> list[str]:
        return [piece for chunk_id in chunk_ids for piece in self.graphs.spans.get(chunk_id, (chunk_id,))]

    @property
    def _most(self) -> int:
        """Pieces that are found, as many as ``top_k`` chunks may have."""
        return self.asked.top_k << self.graphs.settings.ket_splits

    def _cosines(self, pieces: Sequence[str]) -> dict[str, float]:
        if not self.graphs.spans:
            return self.passages.scores(self.asked.vector, pieces)
        whole = [piece for piece in pieces if piece == whole_of(piece)]
        cut = [piece for piece in pieces if piece != whole_of(piece)]
        near = self.graphs.pieces.scores(self.asked.vector, cut) if cut else []
        return self.passages.scores(self.asked.vector, whole) | {
            key: score for key, score in zip(cut, near, strict=True) if score is not None
        }

    def _scores(self, pieces: Sequence[str]) -> Mapping[str, float]:
        """What orders pieces: their cosine (Alg. 4 l. 3); beyond the paper, with their chunks' words."""
        cosines = self._cosines(pieces)
        if self.settings.ket_order == "cosine":
            return cosines
        chunk_of = whole_of if self.graphs.spans else ChunkId
        return relevance(cosines, {key: self._words.of(chunk_of(key)) for key in cosines})

    @cached_property
    def _words(self) -> Matches:
        return self.passages.matches(self.asked.question, self.asked.shown.withheld)

    def _read(self, pieces: Sequence[str]) -> tuple[Evidence, ...]:
        """Passages of pieces, best first; a piece is its part of the chunk's text."""
        chosen = pieces[: self._most]
        cosines = self._cosines(chosen)
        whole = {one.chunk_id: one for one in self.passages.all_of([(key, 0.0) for key in dict.fromkeys(map(whole_of, chosen))])}
        parts = (self._part(whole[whole_of(piece)], piece, cosines.get(piece, 0.0)) for piece in chosen if whole_of(piece) in whole)
        return tuple(part for part in parts if part.text)

    def _part(self, chunk: Evidence, piece: str, cosine: float) -> Evidence:
        """A piece as a passage; an empty one where its chunk has gone since it was chosen."""
        spans = self.graphs.spans.get(chunk.chunk_id, {})
        start, end = (0, len(chunk.text)) if piece == chunk.chunk_id else spans.get(piece, (0, 0))
        span = (chunk.span[0] + start, chunk.span[0] + end)
        return replace(chunk, chunk_id=ChunkId(piece), text=chunk.text[start:end], span=span, score=round(cosine, 4))
