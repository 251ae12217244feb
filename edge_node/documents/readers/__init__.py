"""Documents' bytes to text, by the parsers that are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edge_node.documents.readers.text import MAX_TEXT_CHARS, ReadText, normalised

if TYPE_CHECKING:
    from edge_node.documents.parsers import PARSERS, SUFFIXES, read

__all__ = ["MAX_TEXT_CHARS", "PARSERS", "SUFFIXES", "ReadText", "normalised", "read"]


def __getattr__(name: str) -> Any:
    """What the registry has; it is loaded on use, as parsers import modules of this package."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from edge_node.documents import parsers

    return getattr(parsers, name)
