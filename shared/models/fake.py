"""Deterministic stand-ins for models: they test logic, never quality."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable, Sequence

import numpy as np

from shared.errors import ModelReplyError
from shared.models.embedders import fingerprint
from shared.ports import FloatArray, Prompt, Reply
from shared.text.sentences import spaced
from shared.vectors import unit

WORD = re.compile(r"\w+|[^\w\s]")


class HashEmbedder:
    """A text is the sum of its words' random directions: texts that share words or pairs of Han letters are near, others are not."""

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions
        self._directions: dict[str, FloatArray] = {}

    @property
    def fingerprint(self) -> str:
        """As of a real embedder."""
        return fingerprint("hash", unit(self._direction("probe")))

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, d) float32 unit rows."""
        rows = [np.sum([self._direction(word) for word in WORD.findall(spaced(text.lower())) or [""]], axis=0) for text in texts]
        return unit(np.array(rows, dtype=np.float32)) if rows else np.zeros((0, self._dimensions), dtype=np.float32)

    def _direction(self, word: str) -> FloatArray:
        if word not in self._directions:
            seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
            self._directions[word] = np.random.default_rng(seed).standard_normal(self._dimensions).astype(np.float32)
        return self._directions[word]


class WordTokenizer:
    """Words and single other characters.

    >>> WordTokenizer().count("Ward 7, please.")
    5
    """

    def count(self, text: str) -> int:
        """Number of tokens."""
        return len(self.spans(text))

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Character span [start, end) of each token, in order."""
        return [match.span() for match in WORD.finditer(text)]

    def sizes(self, words: Sequence[str]) -> Sequence[int]:
        """Number of tokens of each word."""
        return [self.count(word) for word in words]


class ScriptedGenerator:
    """Answers as ``reply`` says: one text for all samples, or one for each. ``prompts`` keeps what was asked, in order.

    ``reply`` may raise what a real generator would. ``first_token`` and ``log_probability`` answer prompts that ask for log-probabilities.
    """

    def __init__(
        self,
        reply: Callable[[Prompt], Sequence[str] | str],
        first_token: Callable[[Prompt], dict[str, float]] | None = None,
        *,
        name: str = "scripted",
        log_probability: float | None = None,
    ) -> None:
        self._reply = reply
        self._first_token = first_token
        self._log_probability = log_probability
        self._name = name
        self.prompts: list[Prompt] = []

    @property
    def name(self) -> str:
        """As stored beside results."""
        return self._name

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """The scripted reply; tokens are words. Raises ModelReplyError when the script has not ``prompt.n`` texts."""
        del deadline_s  # a script is never late
        self.prompts.append(prompt)
        answer = self._reply(prompt)
        texts = (answer,) * prompt.n if isinstance(answer, str) else tuple(answer)
        if len(texts) != prompt.n:
            raise ModelReplyError(f"the script has {len(texts)} texts, {prompt.n} were asked for")
        return Reply(
            texts=texts,
            tokens_in=sum(len(WORD.findall(message.content)) for message in prompt.messages),
            tokens_out=sum(len(WORD.findall(text)) for text in texts),
            first_token=self._first_token(prompt) if self._first_token and prompt.top_logprobs else None,
            truncated=(False,) * prompt.n,
            log_probability=self._log_probability if prompt.top_logprobs else None,
        )

    async def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """The first text, word by word."""
        reply = await self.generate(prompt, deadline_s=deadline_s)
        for piece in re.findall(r"\S+\s*|\s+", reply.texts[0]):
            yield piece
