"""Extraction of a whole document: packs read all of it, a model the share that it is given; one bad passage blocks nothing."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Protocol

from edge_node.extraction.descriptions import ModelDescriber
from edge_node.extraction.facts import Fact
from edge_node.extraction.model_extraction import ModelExtraction, ModelExtractor
from edge_node.extraction.names import Definition, acronym_definitions
from edge_node.extraction.naming import BY_MODEL, named_by_model
from edge_node.extraction.nlp import Extraction, ReadBy, SpacyExtractor
from edge_node.extraction.packs.table import INSTALL, MODEL_NAMES, PACKS
from edge_node.records import Cost, Progress, Shortfall
from shared.errors import ModelError, ModelReplyError
from shared.limits import RetryBudget
from shared.plural import counted
from shared.records import Chunk, ChunkId, DocumentId, EntityMention, RelationMention

REPEAT_TEMPERATURE = 0.3  # so that a second answer to the same question differs
LOW_YIELD = 0.5  # a larger share of passages without any entity is worth telling
MOST_FAILED = 0.5  # of a document's model calls; with more, the model is at fault, not the passages
MIN_FAILED = 4  # fewer may be a list or a table, of which no model makes relations
MISSING = f"its pack is missing ({INSTALL}, then retry the document)"
UNKNOWN = f"no pack knows it ({MODEL_NAMES})"
_NOTHING = Extraction((), ())


def choose_for_model(chunks: Sequence[Chunk], share: float, entity_counts: Mapping[ChunkId, int]) -> frozenset[ChunkId]:
    """Return as many chunks of a document as its share says, those with the most candidate entities, ties by ordinal, then by id.

    Raises ValueError unless 0 <= share <= 1.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}, expected 0 to 1")
    ranked = sorted(chunks, key=lambda chunk: (-entity_counts.get(chunk.chunk_id, 0), chunk.ordinal, chunk.chunk_id))
    wanted = count_for_model(chunks[0].document_id, len(chunks), share) if chunks else 0
    return frozenset(chunk.chunk_id for chunk in ranked[:wanted])


def count_for_model(document_id: DocumentId, chunks: int, share: float) -> int:
    """How many of a document's chunks a model reads: the share of them, and of many documents together too.

    0.3 of a chunk is one chunk in three documents of ten, and none in the others; a hash of the id decides which.

    >>> [count_for_model(DocumentId(name), 1, 0.3) for name in "abdef"], count_for_model(DocumentId("a"), 30, 0.1)
    ([1, 0, 0, 1, 1], 3)
    """
    whole, rest = divmod(round(share * chunks, 9), 1)  # 0.1 * 30 is 3.0000000000000004
    drawn = int.from_bytes(blake2b(document_id.encode(), digest_size=8).digest()) / 2**64
    return int(whole) + (drawn < rest)


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a document's chunks say, what it cost, and what could not be done as well as asked."""

    entities: tuple[EntityMention, ...]
    relations: tuple[RelationMention, ...]
    definitions: tuple[Definition, ...] = ()
    cost: Cost = Cost()  # noqa: RUF009 - frozen
    shortfalls: tuple[Shortfall, ...] = ()
    facts: tuple[Fact, ...] = ()  # by chunk; none where they are not wanted
    read_by: tuple[ReadBy, ...] = ()  # by chunk


class Extracts(Protocol):
    """Turns the chunks of one document into mentions."""

    async def extract(self, chunks: Sequence[Chunk], progress: Progress) -> Extracted:
        """The mentions of all chunks of a document, in their order. Raises ModelError with the chunk's id."""


class Extractor:
    """Implements Extracts. ``share`` of the chunks go to the model, ``parallel`` at once; ``retries`` bounds what is asked twice.

    ``describer``: has the model describe what it found; without it the entities keep the sentence that they were found in.
    """

    def __init__(
        self,
        spacy: SpacyExtractor,
        model: ModelExtractor,
        share: float,
        retries: RetryBudget,
        *,
        describer: ModelDescriber | None = None,
        parallel: int = 2,
    ) -> None:
        self._spacy = spacy
        self._model = model
        self._share = share
        self._retries = retries
        self._describer = describer
        self._parallel = parallel

    async def extract(self, chunks: Sequence[Chunk], progress: Progress) -> Extracted:
        """All chunks' mentions by spaCy, and by the model where it was asked; a shortfall says where it was of no use.

        Raises ModelTimeout and ModelUnavailable when the model is away, and ModelReplyError when more than MOST_FAILED of
        what it said, and at least MIN_FAILED of its replies, cannot be used; each with ``chunk_id``.
        """
        found = await asyncio.to_thread(self._spacy.extract, chunks, lambda done: progress("extract", done, len(chunks)))
        definitions = await asyncio.to_thread(definitions_of, chunks)
        by_chunk = per_chunk(found)
        chosen = choose_for_model(chunks, self._share, {key: len(said.entities) for key, said in by_chunk.items()})
        unread = {one.chunk_id for one in found.read_by if not one.pack}
        asked = [
            chunk for chunk in chunks if chunk.chunk_id in chosen and chunk.chunk_id in by_chunk.keys() | unread
        ]  # others have no names
        outcomes = await self._ask_all(asked, {key: said for key, said in by_chunk.items() if key not in unread}, progress)
        read_by = with_model(found.read_by, outcomes)
        found_too = {key: by_chunk[key] for key in unread & by_chunk.keys()}  # cells of tables, which need no pack
        said = [
            _together(found_too.get(key, _NOTHING), outcomes[key].extraction)
            if (key := chunk.chunk_id) in outcomes
            else by_chunk.get(key, _NOTHING)
            for chunk in chunks
        ]
        return Extracted(
            tuple(mention for extraction in said for mention in extraction.entities),
            tuple(mention for extraction in said for mention in extraction.relations),
            definitions,
            sum((Cost(outcome.calls, outcome.tokens_in, outcome.tokens_out) for outcome in outcomes.values()), Cost()),
            (*unusable_replies(outcomes), *unread_languages(read_by), *low_yield(chunks, said)),
            found.facts,
            read_by,
        )

    async def _ask_all(
        self, asked: Sequence[Chunk], by_chunk: Mapping[ChunkId, Extraction], progress: Progress
    ) -> dict[ChunkId, ModelExtraction]:
        outcomes: dict[ChunkId, ModelExtraction] = {}
        waiting = deque(asked)

        async def work() -> None:
            while waiting:
                chunk = waiting.popleft()
                try:
                    outcomes[chunk.chunk_id] = await self._ask(chunk, by_chunk.get(chunk.chunk_id))
                except ModelError as error:
                    error.chunk_id = chunk.chunk_id
                    waiting.clear()  # the model is away; what it has begun elsewhere may end, and is kept
                    raise
                progress("extract by model", len(outcomes), len(asked))
                if too_many(outcomes, of=len(asked)):
                    waiting.clear()

        ended = await asyncio.gather(*(work() for _ in range(self._parallel)), return_exceptions=True)
        errors = [error for error in ended if error is not None]
        for error in errors[:1]:
            for _ in (*errors[1:], *failures(outcomes)):
                self._retries.take()  # whoever tries the document again takes one repeat, and repeats all these calls
            raise error
        in_order = {chunk.chunk_id: outcomes[chunk.chunk_id] for chunk in asked if chunk.chunk_id in outcomes}
        if failed := too_many(in_order, of=len(asked)):
            raise _unfit(failed, of=len(asked))
        return in_order

    async def _ask(self, chunk: Chunk, base: Extraction | None) -> ModelExtraction:
        found = await self._read(chunk, base)
        return found if self._describer is None or found.failure else await self._describer.described(chunk, found)

    async def _read(self, chunk: Chunk, base: Extraction | None) -> ModelExtraction:
        """``base``: what a pack found; None: none read the chunk, and the model names by itself."""
        ask = partial(self._model.extract, chunk, base) if base else partial(named_by_model, self._model, chunk)
        first = await ask()
        if first.failure is None or not self._retries.take():
            return first
        second = await ask(temperature=REPEAT_TEMPERATURE)
        return replace(
            second,
            tokens_in=first.tokens_in + second.tokens_in,
            tokens_out=first.tokens_out + second.tokens_out,
            calls=first.calls + second.calls,
        )


def _together(cells: Extraction, by_model: Extraction) -> Extraction:
    """What a model says of a chunk, and the cells of its tables that it does not name."""
    named = {mention.key for mention in by_model.entities}
    unnamed = tuple(mention for mention in cells.entities if mention.key not in named)
    return Extraction((*by_model.entities, *unnamed), (*by_model.relations, *cells.relations))


def per_chunk(found: Extraction) -> dict[ChunkId, Extraction]:
    """A document's mentions by chunk; a chunk without any is left out."""
    entities, relations = defaultdict(list), defaultdict(list)
    for entity in found.entities:
        entities[entity.chunk_id].append(entity)
    for relation in found.relations:
        relations[relation.chunk_id].append(relation)
    return {key: Extraction(tuple(entities[key]), tuple(relations[key])) for key in entities}


def definitions_of(chunks: Sequence[Chunk]) -> tuple[Definition, ...]:
    """What the chunks say that acronyms stand for."""
    return tuple(Definition(chunk.chunk_id, long, short) for chunk in chunks for long, short in sorted(acronym_definitions(chunk.text)))


def too_many(outcomes: Mapping[ChunkId, ModelExtraction], *, of: int) -> dict[ChunkId, ModelReplyError]:
    """The failures, if they are more than a document of ``of`` model calls bears."""
    failed = failures(outcomes)
    return failed if len(failed) >= MIN_FAILED and len(failed) > MOST_FAILED * of else {}


def failures(outcomes: Mapping[ChunkId, ModelExtraction]) -> dict[ChunkId, ModelReplyError]:
    """Why the model was of no use, by chunk, where a pack read the chunk: what nobody reads stays unread, and is told as that."""
    return {key: outcome.failure for key, outcome in outcomes.items() if outcome.failure is not None and outcome.extraction.entities}


def with_model(read_by: Sequence[ReadBy], outcomes: Mapping[ChunkId, ModelExtraction]) -> tuple[ReadBy, ...]:
    """Who read each chunk: the model, where no pack did and its reply could be used."""
    by_model = {key for key, outcome in outcomes.items() if outcome.failure is None}
    return tuple(replace(one, pack=BY_MODEL) if not one.pack and one.chunk_id in by_model else one for one in read_by)


def unusable_replies(outcomes: Mapping[ChunkId, ModelExtraction]) -> list[Shortfall]:
    """One for each chunk that the model was of no use for."""
    return [Shortfall(error.code, f"only spaCy read this passage: {error.message}", key) for key, error in failures(outcomes).items()]


def unread_languages(read_by: Sequence[ReadBy]) -> list[Shortfall]:
    """One for each language that no installed pack reads, with what would.

    >>> [one.message.partition(" (")[0] for one in unread_languages([ReadBy(ChunkId("d:0"), "tr", "")])]
    ['1 passage in the language tr was read by nobody, as no pack knows it']
    """
    unread = Counter(one.language for one in read_by if not one.pack)
    return [
        Shortfall(
            "unread_language",
            f"{counted(number, 'passage')} in the language {language} {'was' if number == 1 else 'were'} read by nobody, as "
            f"{MISSING if language in PACKS else UNKNOWN}: only words and vectors find {'it' if number == 1 else 'them'}",
        )
        for language, number in sorted(unread.items())
    ]


def low_yield(chunks: Sequence[Chunk], said: Sequence[Extraction]) -> list[Shortfall]:
    """One if more than LOW_YIELD of the chunks have letters but gave no entity; ``said``: by chunk."""
    barren = sum(
        not extraction.entities and any(character.isalpha() for character in chunk.text)
        for chunk, extraction in zip(chunks, said, strict=True)
    )
    if barren <= LOW_YIELD * len(chunks):
        return []
    passages = counted(len(chunks), "passage")
    message = f"{barren} of {passages} gave no entity: the graph knows little of this document, only its passages are searched"
    return [Shortfall("low_yield", message)]


def _unfit(failed: Mapping[ChunkId, ModelReplyError], *, of: int) -> ModelReplyError:
    chunk_id, first = next(iter(failed.items()))
    error = ModelReplyError(
        f"the model gave nothing usable for {len(failed)} of {counted(of, 'passage')} (the first: {first.message})",
        next_step="use a model that follows the extraction prompt, or set extraction_share to 0, then try again",
    )
    error.chunk_id = chunk_id
    return error
