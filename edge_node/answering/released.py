"""What another site's question is answered from where a policy masks something: the passages as they would leave, and nothing else.

A passage that is found by its whole words, and leaves with some of them masked, tells what the mask hides: whoever names the right person
gets it first. So the masked texts have an index of their own, by meaning and by words, and what is found, in which order, and what is left
out follows from them. The graph knows the names that are masked, and has no part in it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

from edge_node.database.vectors import text_hash
from edge_node.documents.lexical import LexicalIndex
from edge_node.egress.sharing import Sharing
from edge_node.graph.passages import EMBED_BATCH, top_allowed
from edge_node.graph.ranking import relevance
from edge_node.graph.tools import Tools
from edge_node.policy.redaction import Redactor
from edge_node.records import NOTHING_WITHHELD, Retrieval
from shared.errors import ModelError, StoreError
from shared.index import open_index
from shared.ports import FloatArray, embed_questions
from shared.records import ChunkId, EdgeId, Evidence, is_withheld

log = logging.getLogger("dgrag.edge.answer")
LOOKED_AT = 20  # passages that each of meaning and words proposes, at least
READ_AT_ONCE = 32  # passages: the event loop has other things to do in between
State = tuple[int, str]  # of a stored chunk: its checksum and the title of its document
NOT_KNOWN: tuple[State | None, str] = (None, "")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as it would leave; ``changed``: something of it is masked."""

    item: Evidence
    changed: bool

    @property
    def words(self) -> str:
        """What words find it by."""
        return f"{self.item.title}\n{self.item.text}"


class ReleasedPassages:
    """The masked passages of an edge; a cache of the store in memory.

    It follows policy, names and documents when it is asked: only what has changed since is masked anew, and only what the mask changes is
    embedded, as the others' vectors are known. What is embedded stays when the question's time is over: the next one goes on from there.
    """

    def __init__(self, tools: Tools, sharing: Sharing) -> None:
        self._tools = tools
        self._sharing = sharing
        self._index = open_index(tools.index, tools.embedder.dimensions)
        self._words = LexicalIndex()
        self._mask: Redactor | None = None  # by which it was made
        self._known: dict[str, tuple[State | None, str]] = {}  # by chunk: of what it was made, and the hash of the text that is embedded
        self._renewing = asyncio.Lock()

    async def retrieve(
        self, question: str, redactor: Redactor, *, budget_tokens: int, top_k: int, withheld: frozenset[str] = NOTHING_WITHHELD
    ) -> Retrieval:
        """The masked passages that may answer, best first, within the budget; as if the ``withheld`` documents and chunks were not there.

        ``score`` is the cosine of the masked text with the question. Raises ModelError.
        """
        await self.renew(redactor)
        vector = (await embed_questions(self._tools.embedder, [question]))[0]
        ranked = await asyncio.to_thread(self._ranked, question, vector, top_k, withheld)
        return Retrieval(await asyncio.to_thread(self._within, ranked, redactor, budget_tokens))

    async def warm(self) -> None:
        """Do beforehand what the next question from elsewhere would have to wait for; a failure is for that question to tell."""
        redactor = await asyncio.to_thread(self._sharing.redactor_now)
        if redactor.idle:
            return
        try:
            await self.renew(redactor)
        except (ModelError, StoreError) as error:
            log.warning("the masked passages are not all indexed: %s", error.code)

    def scores(self, vector: FloatArray, chunk_ids: Sequence[str]) -> dict[str, float]:
        """Cosine of given chunks, as they would leave, with a vector (d,); without those that are gone. After ``renew``."""
        found = self._index.scores(vector, chunk_ids)
        return {key: score for key, score in zip(chunk_ids, found, strict=True) if score is not None}

    async def renew(self, redactor: Redactor) -> None:
        """Bring the index up to date with the documents and with what is masked now. Raises ModelError, StoreError."""
        async with self._renewing:
            await self._follow(redactor)
            changed = await asyncio.to_thread(self._changed)
            for start in range(0, len(changed), READ_AT_ONCE):
                states = dict(changed[start : start + READ_AT_ONCE])
                await self._put(states, await asyncio.to_thread(self.masked, list(states), redactor))

    def masked(self, chunk_ids: Sequence[str], redactor: Redactor) -> dict[str, Passage]:
        """Some passages as they would leave; without those that are gone or damaged."""
        mask, found = self._sharing.masked, dict[str, Passage]()
        for key, item in self._stored(chunk_ids).items():
            text = mask(item, redactor)
            found[key] = Passage(replace(item, text=text, title=redactor.mask(item.title)), text != item.text)
        return found

    def _stored(self, chunk_ids: Sequence[str]) -> dict[str, Evidence]:
        return {
            key: Evidence(
                EdgeId(self._tools.edge), chunk.document_id, name, chunk.chunk_id, (chunk.start, chunk.end), chunk.text, 0.0, title=title
            )
            for key, (chunk, name, title) in self._tools.documents.chunks(chunk_ids).items()
        }

    async def _follow(self, redactor: Redactor) -> None:
        """Doubt what another mask may hide otherwise: of other names, the passages that say a word of theirs. All or nothing."""
        last, made = self._mask, [key for key, (state, _) in self._known.items() if state is not None]
        if last is not None and (last.redact, last.key) == (redactor.redact, redactor.key):
            return
        words = last.differing(redactor) if last is not None else None
        doubted = list[str]() if words is not None else made
        for start in range(0, len(made) if words else 0, READ_AT_ONCE):
            doubted += await asyncio.to_thread(self._saying, made[start : start + READ_AT_ONCE], words or frozenset())
        for key in doubted:
            self._known[key] = None, self._known[key][1]
        self._mask = redactor

    def _saying(self, chunk_ids: Sequence[str], words: frozenset[str]) -> list[str]:
        """Those that say one of the words, and those that cannot be read."""
        stored = self._stored(chunk_ids)
        return [key for key in chunk_ids if key not in stored or self._sharing.says(stored[key], words)]

    def _changed(self) -> list[tuple[str, State]]:
        """What the store has and the index has not, or not so; what the store has no more goes. In an order that tells nothing of texts."""
        stored, outside = self._tools.documents.chunk_states(), self._sharing.outside_ids.of_chunk
        gone = [key for key in self._known if key not in stored]
        self._index.drop(gone)
        self._words.drop(gone)
        for key in gone:
            del self._known[key]
        changed = [(key, state) for key, state in stored.items() if self._known.get(key, NOT_KNOWN)[0] != state]
        return sorted(changed, key=lambda one: outside(ChunkId(one[0])))

    async def _put(self, states: Mapping[str, State], passages: Mapping[str, Passage]) -> None:
        left = {key: text_hash(passage.item.text) for key, passage in passages.items()}

        def show(keys: Collection[str]) -> None:
            self._words.put([(key, passages[key].words) for key in keys])
            for key in keys:
                self._known[key] = states[key], left.pop(key)

        show([key for key, embedded in left.items() if self._known.get(key, NOT_KNOWN)[1] == embedded])
        bare = [key for key in left if not passages[key].changed]
        stored = await asyncio.to_thread(self._tools.graph.vectors.some, "chunk", bare, self._tools.embedder.dimensions)
        fit = [row for row, key in enumerate(stored.keys) if stored.text_hashes[row] == left[key]]
        self._index.put([stored.keys[row] for row in fit], stored.vectors[fit])
        show([stored.keys[row] for row in fit])
        while left:
            keys = list(left)[:EMBED_BATCH]
            self._index.put(keys, await self._tools.embedder.embed([passages[key].item.text for key in keys]))
            show(keys)

    def _ranked(self, question: str, vector: FloatArray, top_k: int, withheld: frozenset[str]) -> list[tuple[str, float]]:
        words = self._words.matches(question, withheld)
        most = max(top_k, LOOKED_AT)
        near = top_allowed(self._index, vector, most, lambda key: not is_withheld(key, withheld))
        cosines = self.scores(vector, list(dict.fromkeys(key for key, _ in (*near, *words.top(most)))))
        relevant = relevance(cosines, {key: words.of(key) for key in cosines})
        outside = self._sharing.outside_ids.of_chunk  # our own ids are made of texts: a tie would tell something of them
        best = nsmallest(top_k, relevant, key=lambda key: (-relevant[key], -cosines[key], outside(ChunkId(key))))
        return [(key, cosines[key]) for key in best]

    def _within(self, ranked: Sequence[tuple[str, float]], redactor: Redactor, budget_tokens: int) -> tuple[Evidence, ...]:
        passages, count = self.masked([key for key, _ in ranked], redactor), self._tools.tokenizer.count
        kept, used = list[Evidence](), 0
        for key, score in ranked:
            if key not in passages:
                continue
            tokens = count(passages[key].item.text)
            if not kept or used + tokens <= budget_tokens:  # the first is always in
                used += tokens
                kept.append(replace(passages[key].item, score=round(score, 4)))
        return tuple(kept)
