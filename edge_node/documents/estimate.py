"""What indexing will cost, before anything is spent: from the chunks, and from what earlier documents took here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

import orjson

from edge_node.documents.chunking import Cutter
from edge_node.extraction.extractor import count_for_model
from edge_node.records import Offered
from shared.errors import InputError, UnreadableDocument
from shared.records import DocumentId

Check: TypeAlias = Callable[[Offered], None]
KnownOf: TypeAlias = Callable[[Sequence[DocumentId]], Awaitable[Collection[DocumentId]]]
MEMORY = 500.0  # earlier chunks (or calls) that a mean goes back to at most, so that a new model shows


@dataclass(frozen=True, slots=True)
class Rates:
    """Running means. The defaults are those of two CPU cores with the default models."""

    chunk_s: float = 0.05  # seconds a chunk, without the model
    call_s: float = 8.0  # seconds a call of the model
    call_tokens_in: float = 400.0
    call_tokens_out: float = 120.0
    chunks: float = 0.0  # that were measured; 0: defaults
    calls: float = 0.0

    def with_chunks(self, chunks: int, seconds: float) -> Rates:
        """After so many more chunks in so many seconds.

        >>> Rates().with_chunks(10, 1.0).with_chunks(30, 6.0).chunk_s
        0.175
        """
        return replace(self, chunk_s=_mean(self.chunk_s, self.chunks, seconds, chunks), chunks=min(MEMORY, self.chunks + chunks))

    def with_calls(self, calls: int, seconds: float, *, tokens_in: int, tokens_out: int) -> Rates:
        """After so many more calls."""
        return replace(
            self,
            call_s=_mean(self.call_s, self.calls, seconds, calls),
            call_tokens_in=_mean(self.call_tokens_in, self.calls, tokens_in, calls),
            call_tokens_out=_mean(self.call_tokens_out, self.calls, tokens_out, calls),
            calls=min(MEMORY, self.calls + calls),
        )

    def seconds(self, *, chunks: int, calls: int) -> float:
        """How long so much work takes."""
        return chunks * self.chunk_s + calls * self.call_s

    def to_json(self) -> str:
        """As it is stored."""
        return orjson.dumps(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Rates:
        """As it was stored; the defaults where that cannot be read.

        >>> Rates.from_json(Rates(calls=2.0).to_json()) == Rates(calls=2.0), Rates.from_json("") == Rates()
        (True, True)
        """
        try:
            found = orjson.loads(text)
            return cls(**{field.name: float(found[field.name]) for field in fields(cls)})
        except (ValueError, TypeError, KeyError):
            return cls()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A document that would be parked, or refused."""

    name: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """What indexing some documents will cost. Model calls and tokens are an upper bound: extraction only, nothing cached."""

    documents: int
    chunks: int
    tokens: int  # of the chunks
    model_calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    duplicates: int
    unreadable: tuple[Unreadable, ...]
    basis: str  # "measured here" or "defaults"


def model_calls(document_id: DocumentId, chunks: int, *, share: float, each: int) -> int:
    """Calls for one document of so many chunks, at most; ``each``: for one that the model reads.

    >>> model_calls(DocumentId("a"), 10, share=0.2, each=2), model_calls(DocumentId("a"), 10, share=0.0, each=2)
    (4, 0)
    """
    return count_for_model(document_id, chunks, share) * each


async def estimate(
    offered: Iterable[Offered], cutter: Cutter, rates: Rates, *, known: Collection[DocumentId], share: float, each: int
) -> Estimate:
    """Read and cut the documents, and add up; those that are ``known``, or come twice, cost nothing."""
    seen, unreadable = set(known), list[Unreadable]()
    documents = chunks = tokens = calls = duplicates = 0
    for document in offered:
        if document.document_id in seen:
            duplicates += 1
            continue
        seen.add(document.document_id)
        try:
            made = (await cutter.cut(document)).chunks
        except InputError as error:
            code = error.reason if isinstance(error, UnreadableDocument) else error.code
            unreadable.append(Unreadable(document.name, code, error.message))
            continue
        documents, chunks, tokens = documents + 1, chunks + len(made), tokens + sum(chunk.tokens for chunk in made)
        calls += model_calls(document.document_id, len(made), share=share, each=each)
    measured = rates.chunks and (rates.calls or not calls)
    return Estimate(
        documents,
        chunks,
        tokens,
        calls,
        round(calls * rates.call_tokens_in),
        round(calls * rates.call_tokens_out),
        round(rates.seconds(chunks=chunks, calls=calls), 1),
        duplicates,
        tuple(unreadable),
        "measured here" if measured else "defaults",
    )


class Estimator:
    """What documents would cost at an edge: one list at a time, as two take as long, and questions six times as long beside them."""

    def __init__(self, cutter: Cutter, check: Check, known_of: KnownOf, *, share: float, each: int) -> None:
        """``check`` raises InputError for a document that an edge refuses; ``known_of``: which of some are there already."""
        self._cutter = cutter
        self._check = check
        self._known_of = known_of
        self._share = share
        self._each = each
        self._turn = asyncio.Lock()

    async def of(self, offered: Sequence[Offered], rates: Rates) -> Estimate:
        """As ``estimate``, with what the edge refuses among the unreadable."""
        async with self._turn:
            refused, taken = list[Unreadable](), list[Offered]()
            for document in offered:
                try:
                    self._check(document)
                    taken.append(document)
                except InputError as error:
                    refused.append(Unreadable(document.name, error.code, error.message))
            known = await self._known_of([document.document_id for document in taken])
            found = await estimate(taken, self._cutter, rates, known=known, share=self._share, each=self._each)
            return replace(found, unreadable=(*refused, *found.unreadable))


def _mean(mean: float, weight: float, total: float, count: int) -> float:
    """A mean over ``weight`` values, with ``count`` further ones of that ``total``."""
    return (mean * weight + total) / (weight + count) if count else mean
