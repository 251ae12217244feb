"""What the product asks of its surroundings: a generator, an embedder, a tokenizer, an index, a clock; and the clock of the system."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


class SystemClock:
    """Implements ``shared.ports.Clock``."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a chat model.

    ``n`` samples share one prompt, in one request (DGRAG §III-C ④, batch inference). ``schema`` asks for JSON of that
    JSON schema. ``top_logprobs`` > 0 asks for the distribution of the first generated token. ``choices``: the words of which the reply is
    to be one; where the server lists no distribution, several replies stand for that of these words.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    n: int = 1
    temperature: float = 0.0
    schema: dict[str, Any] | None = None
    stop: tuple[str, ...] = ()
    top_logprobs: int = 0
    seed: int | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What a chat model answered: at least one text, at most ``n``, and what that cost. A sample that came without text is left out."""

    texts: tuple[str, ...]
    tokens_in: int
    tokens_out: int  # over all samples
    first_token: dict[str, float] | None = None  # token text -> log-probability, of the first sample
    truncated: tuple[bool, ...] = ()  # per sample: cut at max_tokens
    log_probability: float | None = None  # of the first sample's text as a whole, where ``top_logprobs`` asked for it and the server tells


class Generator(Protocol):
    """A chat model."""

    @property
    def name(self) -> str:
        """The model's name, as stored beside its results."""

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """Answer within ``deadline_s`` seconds in all. Raises ModelTimeout, ModelUnavailable, ModelReplyError."""

    def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """Yield the text of one sample piece by piece. Raises as ``generate``."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What a model's server lacks, and what that costs."""

    lacks: str
    costs: str


class Reachable(Protocol):
    """A server that can be asked whether it is there."""

    async def reach(self, *, deadline_s: float) -> None:
        """Return when it answers. Raises ModelTimeout, ModelUnavailable."""


@runtime_checkable
class Adaptable(Protocol):
    """A client that learns what its server can, and asks accordingly."""

    async def watch(self) -> None:
        """Learn what it can, now and whenever that may have changed, until cancelled."""

    def shortfalls(self) -> Sequence[Shortfall]:
        """What it lacks, as far as is known."""


class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def fingerprint(self) -> str:
        """Model name, dimension and a hash of a probe text's vector: equal fingerprints mean one vector space."""

    @property
    def dimensions(self) -> int:
        """D, the length of every vector."""

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, d) float32 rows of norm 1. An empty text gets the vector of a blank, never zeros or NaN."""


@runtime_checkable
class TellsQuestions(Protocol):
    """An embedder that embeds questions otherwise than passages, as E5 does with "query: " and "passage: "."""

    async def embed_questions(self, texts: Sequence[str]) -> FloatArray:
        """As ``Embedder.embed``, of what is searched with."""


async def embed_questions(embedder: Embedder, texts: Sequence[str]) -> FloatArray:
    """Vectors (n, d) of questions, which are compared with those of passages; most embedders make no difference. Raises as ``embed``."""
    return await (embedder.embed_questions(texts) if isinstance(embedder, TellsQuestions) else embedder.embed(texts))


class Tokenizer(Protocol):
    """Counts tokens and tells where they stand."""

    def count(self, text: str) -> int:
        """Number of tokens."""

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span [start, end) of each token, in order."""

    def sizes(self, words: Sequence[str]) -> Sequence[int]:
        """Number of tokens of each word, as it has between blanks."""


class VectorIndex(Protocol):
    """Exact search by cosine over keyed unit vectors. A cache of the store: never saved."""

    def __len__(self) -> int: ...

    def put(self, keys: Sequence[str], vectors: FloatArray) -> None:
        """Insert or replace. Raises ValueError unless vectors are (n, d) finite float32 unit rows."""

    def drop(self, keys: Iterable[str]) -> None:
        """Remove; unknown keys are ignored."""

    def top(self, vector: FloatArray, k: int, *, min_score: float = -1.0) -> list[tuple[str, float]]:
        """The k best (key, cosine), best first, ties by insertion order."""

    def scores(self, vector: FloatArray, keys: Sequence[str]) -> list[float | None]:
        """The cosine of each key's vector with ``vector`` (d,), None for an unknown key, without ranking the rest."""


class Clock(Protocol):
    """Time as an argument."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
