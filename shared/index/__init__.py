"""Exact vector indexes behind ``ports.VectorIndex``; chosen by name."""

from __future__ import annotations

from importlib import import_module

from shared.errors import SettingsError
from shared.ports import VectorIndex

INDEXES = {
    "nano": "shared.index.exact:NanoIndex",
    "numpy": "shared.index.exact:NumpyIndex",
    "faiss": "shared.index.faiss:FaissIndex",
}


def open_index(name: str, dimensions: int) -> VectorIndex:
    """Return an empty index for unit vectors of ``dimensions``. Raises SettingsError for a name that is not in the table.

    >>> len(open_index("numpy", 384))
    0
    """
    if name not in INDEXES:
        raise SettingsError(f"there is no vector index {name!r}", next_step=f"use one of: {', '.join(INDEXES)}")
    module, _, attribute = INDEXES[name].partition(":")
    index: VectorIndex = getattr(import_module(module), attribute)(dimensions)
    return index
