"""An embedder whose vectors are looked at before anybody uses or stores them."""

from __future__ import annotations

from collections.abc import Sequence

from shared.errors import ModelReplyError
from shared.ports import Embedder, FloatArray
from shared.vectors import checked


class CheckedEmbedder:
    """The port ``Embedder`` around another one: what is not finite, of norm 1 and of the agreed shape is an error."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        """The inner embedder's."""
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        """The inner embedder's."""
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (n, d) float32 unit rows. Raises ModelReplyError that says what is wrong with them."""
        try:
            return checked(await self._embedder.embed(texts), rows=len(texts), dimensions=self.dimensions)
        except ValueError as error:
            raise ModelReplyError(
                f"the embedding model gave unusable vectors: {error}", next_step="mend or replace the embedding model, then try again"
            ) from error
