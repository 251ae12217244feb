"""Any sentence-transformers model, by name or path (extra ``torch``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from shared.errors import SettingsError
from shared.models.local_embedder import LocalEmbedder
from shared.ports import FloatArray

BATCH = 16


class SentenceTransformersEmbedder(LocalEmbedder):
    """The model's own pooling and truncation."""

    @classmethod
    def load(cls, name: str, *, threads: int = 2) -> Self:
        """Load the model ``name`` (a hub name or a folder). Raises SettingsError when the extra or the model is not there."""
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise SettingsError(
                f"the embedder {name!r} needs sentence-transformers", next_step="run `pip install 'dgrag[torch]'`"
            ) from error
        torch.set_num_threads(threads)
        try:
            model = SentenceTransformer(name)
        except (OSError, ValueError) as error:
            raise SettingsError(f"the embedder {name!r} cannot be loaded: {error}", next_step="check its name or path") from error

        def encode(texts: Sequence[str]) -> FloatArray:
            rows: FloatArray = model.encode(list(texts), batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False)
            return rows

        return cls(name, encode)
