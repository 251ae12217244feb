"""The summaries of all edges, searchable: the store holds the truth, and the index follows it (``routing.renewal``)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from cloud_server.registry.edges import EdgeRegistry
from cloud_server.routing.delta_embedding import DeltaEmbedding, part_turns
from cloud_server.routing.lexical import LexicalIndex
from cloud_server.routing.matching import Descent, SummaryMatch, Untold, WordMatches, by_words, led_by_words, match, second_opinion
from cloud_server.routing.renewal import News
from cloud_server.routing.replica import Shelf
from cloud_server.routing.screening import Samples, judged
from cloud_server.routing.summaries import SummaryStore
from shared.admission import Admission
from shared.ports import Embedder, FloatArray, VectorIndex
from shared.records import EdgeId, SummaryDelta
from shared.text.asking import is_foreign
from shared.text.marks import names_among

JUDGED_ANEW = 1000  # of what is held back, with each delta: what it copied may be gone

log = logging.getLogger("dgrag.cloud.summaries")


class SummaryIndex:
    """Takes deltas in, finds summaries, forgets edges."""

    def __init__(
        self,
        registry: EdgeRegistry,
        store: SummaryStore,
        index: VectorIndex,
        embedder: Embedder,
        *,
        english_only: bool = False,
        turns: Admission | None = None,
    ) -> None:
        """``turns``: of the embedder, where others use it too."""
        self._registry = registry
        self._store = store
        self._news = News(store)
        self._index = index
        self._embedder = embedder
        self._english_only = english_only  # the embedder
        self._lexicon = LexicalIndex()  # of the same summaries as the index
        self._samples = Samples()  # what other edges' summaries are measured by
        self._writing = asyncio.Lock()  # one renewal at a time
        self._embedding = DeltaEmbedding(embedder.embed, turns or part_turns(), dimensions=embedder.dimensions)

    def __len__(self) -> int:
        return len(self._index)

    async def open(self) -> None:
        """Fill the index from the store. Texts are embedded again when the embedder is another one than the stored vectors'."""
        await self._store.embed_by(self._embedder)
        await self.renew()

    async def renew(self) -> None:
        """Follow the store, which other clouds may have written too."""
        async with self._writing:
            await asyncio.to_thread(self._renew)

    def _renew(self) -> None:
        self._lexicon.renew(self._texts())

    def _texts(self) -> Iterator[tuple[Sequence[str], Mapping[str, tuple[str, bytes]]]]:
        """Edge by edge the keys that are gone or told anew, and those to be put with text and marks; vectors are renewed on the way."""
        for renewed in self._news.read():
            self._index.drop(renewed.gone)
            keys, rows = list(renewed.fresh), renewed.fresh.values()
            if keys:
                self._index.put(keys, np.stack([row.vector for row in rows]))
            self._samples.keep(renewed.edge, renewed.vectors)
            yield (*renewed.gone, *renewed.again), {key: (row.body.text, row.body.titles) for key, row in renewed.fresh.items()}

    async def accept(self, edge: EdgeId, delta: SummaryDelta) -> None:
        """Apply a delta once; a repeated or older one changes nothing. Copies and hubs are stored, but not matched.

        What is written is written to its end, also where the caller is cancelled. Raises Overloaded, and as ``SummaryStore.fits``.
        """
        async with self._embedding.one_delta(edge):
            if not await asyncio.to_thread(self._store.fits, edge, delta):  # before the embedder works for nothing
                return
            vectors = await self._embedding.vectors(edge, [summary.text for summary in delta.upserts])
            await asyncio.shield(asyncio.ensure_future(self._write(edge, delta, vectors)))

    async def _write(self, edge: EdgeId, delta: SummaryDelta, vectors: FloatArray) -> None:
        async with self._writing:
            await asyncio.to_thread(self._apply, edge, delta, vectors)

    def _apply(self, edge: EdgeId, delta: SummaryDelta, vectors: FloatArray) -> None:
        self._renew()  # what others tell is what a delta is measured by
        shelf = Shelf((), (), vectors[:0]) if delta.base_version == 0 else self._staying(edge, delta)
        again = [row for row, why in enumerate(shelf.held_back) if why][:JUDGED_ANEW]
        kept = [row for row, why in enumerate(shelf.held_back) if not why]
        ids = [*(shelf.ids[row] for row in again), *(summary.summary_id for summary in delta.upserts)]
        stored = shelf.vectors.reshape(-1, vectors.shape[1])
        rows = np.concatenate([stored[again], vectors])
        feedback: dict[str, str] = dict(zip(ids, judged(rows, stored[kept], self._samples.without(edge)), strict=True))
        self._store.apply(edge, delta, vectors, feedback)
        self._renew()
        if held := sum(why != "" for why in feedback.values()):
            log.info("%d summaries of %s are held back: copies of others, or near to everything", held, edge)

    def _staying(self, edge: EdgeId, delta: SummaryDelta) -> Shelf:
        """What is stored of an edge and neither removed nor replaced by a delta."""
        shelf = self._store.shelf(edge)
        leaving: set[str] = {*delta.removals, *(summary.summary_id for summary in delta.upserts)}
        rows = [row for row, summary_id in enumerate(shelf.ids) if summary_id not in leaving]
        return Shelf(tuple(shelf.ids[row] for row in rows), tuple(shelf.held_back[row] for row in rows), shelf.vectors[rows])

    async def expel(self, edge: EdgeId, *, by: str = "") -> int:
        """Shut an edge out, as ``by`` decided, and forget all its summaries; returns how many. Raises NotFound, Expelled."""
        async with self._writing:
            purged = await asyncio.to_thread(self._registry.expel, edge, by=by)
            await asyncio.to_thread(self._renew)
            self._embedding.forget(edge)
            return purged

    async def match(
        self,
        question: str,
        questions: FloatArray,
        *,
        m: int,
        min_cosine: float,
        slots: int,
        lead: float,
        reaches: Callable[[EdgeId], bool] = lambda _: True,
    ) -> list[SummaryMatch]:
        """As ``matching.match``, off the event loop; summaries of an edge that is quarantined or expelled match nothing.

        Of a question that is not in English those that share its words come first where the embedder reads English alone, and they alone
        where it reads more and finds none near enough: one name is far from a summary of forty.
        """

        def found() -> list[SummaryMatch]:
            barred = self._registry.barred()
            words = dict(self._lexicon.top(question, barred))
            sizes = self._samples.sizes()  # exact where small, which is what counts
            near = match(
                questions,
                self._index,
                m=m,
                min_cosine=min_cosine,
                slots=slots,
                barred=barred,
                words=words,
                lead=lead,
                reaches=reaches,
                sizes=sizes,
            )
            if not is_foreign(question) or (near and not self._english_only):
                return near
            return led_by_words(near, words, m=m, slots=slots, min_cosine=min_cosine, reaches=reaches)

        return await asyncio.to_thread(found)

    async def set_aside(self, questions: FloatArray, *, min_cosine: float) -> list[EdgeId]:
        """The quarantined edges with a summary above the threshold, by name: who asks is told that they were passed over."""

        def found() -> list[EdgeId]:
            aside = self._registry.quarantined()
            others = self._samples.sizes().keys() - aside
            nearest = (Descent(question, self._index, min_cosine, others).until(bool) for question in questions) if aside else ()
            return sorted({one.edge for matches in nearest for one in matches})

        return await asyncio.to_thread(found)

    async def second_opinion(
        self, questions: FloatArray, *, known: Collection[EdgeId], min_cosine: float, reaches: Callable[[EdgeId], bool]
    ) -> list[EdgeId]:
        """As ``matching.second_opinion``, off the event loop: of an edge that ``reaches`` holds for, and that is not barred."""

        def found() -> list[EdgeId]:
            barred = {*self._registry.barred(), *(edge for edge in self._samples.sizes() if not reaches(edge))}
            return second_opinion(questions, self._index, known=known, min_cosine=min_cosine, barred=barred)

        return await asyncio.to_thread(found)

    async def titled(self, texts: Sequence[str]) -> list[dict[str, frozenset[EdgeId]]]:
        """For each text the names in it that are titles of documents, and the edges that have these; without barred edges."""

        def found() -> list[dict[str, frozenset[EdgeId]]]:
            barred, owners = self._registry.barred(), dict[str, frozenset[EdgeId]]()

            def known(name: str) -> bool:
                if name not in owners:
                    owners[name] = self._lexicon.titled(name, barred)
                return bool(owners[name])

            return [{name: owners[name] for name in names_among(text, known)} for text in texts]

        return await asyncio.to_thread(found)

    async def nearest_edges(
        self, texts: Sequence[str], vectors: FloatArray, *, min_cosine: float, untold: Sequence[Untold] = ()
    ) -> list[EdgeId]:
        """As ``matching.by_words`` for ``texts`` and their ``vectors`` (n, d), off the event loop; without barred edges."""

        def found() -> list[EdgeId]:
            barred = self._registry.barred()
            shared = [WordMatches(self._lexicon.top(text, barred), self._lexicon.top_named(text, barred)) for text in texts]
            return by_words(shared, vectors, self._index, min_cosine=min_cosine, barred=barred, untold=untold)

        return await asyncio.to_thread(found)
