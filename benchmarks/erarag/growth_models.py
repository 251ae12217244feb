"""The models of ``growth``: one that repeats what it reads and counts, an embedder that remembers, an extractor that finds nothing."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence

import numpy as np

from edge_node.extraction.extractor import Extracted
from edge_node.records import Progress
from shared.ports import Embedder, FloatArray, Prompt, Reply, Tokenizer
from shared.records import Chunk
from shared.text.sentences import sentences

SENTENCES = 4  # of a summary, as the prompt asks for


class Counting:
    """A Generator: the first sentences of every passage of its prompt, as long as a summary; tokens by the edge's count."""

    name = "counting"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.calls = self.tokens_in = self.tokens_out = 0
        self.seconds = 0.0

    async def generate(self, prompt: Prompt, *, deadline_s: float) -> Reply:
        """As the port says."""
        del deadline_s
        began = time.perf_counter()
        asked = "\n".join(message.content for message in prompt.messages)
        passages = [line[2:] for line in prompt.messages[-1].content.splitlines() if line.startswith("- ")]
        firsts = [text[slice(*sentences(text)[0])].strip() for text in passages if text.strip()]
        said = " ".join(firsts[:: max(1, len(firsts) // SENTENCES)][:SENTENCES])
        reply = Reply((said,), self._tokenizer.count(asked), self._tokenizer.count(said))
        self.calls += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.seconds += time.perf_counter() - began
        return reply

    def stream(self, prompt: Prompt, *, deadline_s: float) -> AsyncIterator[str]:
        """Nobody asks a question here."""
        raise NotImplementedError


class Remembering:
    """An Embedder that makes each vector once; ``embedded`` counts the texts that it was given all the same."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, FloatArray] = {}
        self.embedded = 0
        self.seconds = 0.0

    @property
    def fingerprint(self) -> str:
        """The real one's."""
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        """The real one's."""
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """As the port says."""
        began = time.perf_counter()
        self.embedded += len(texts)
        unknown = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if unknown:
            self._vectors |= zip(unknown, await self._embedder.embed(unknown), strict=True)
        self.seconds += time.perf_counter() - began
        return np.stack([self._vectors[text] for text in texts]) if texts else np.zeros((0, self.dimensions), dtype=np.float32)


class Nothing:
    """An Extracts that reads nothing: the tree rests on passages alone."""

    async def extract(self, chunks: Sequence[Chunk], progress: Progress) -> Extracted:
        """As the port says."""
        del chunks, progress
        return Extracted((), ())
