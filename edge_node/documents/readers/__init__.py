"""Documents' bytes to text, by the parsers that are installed."""

from __future__ import annotations

from edge_node.documents.parsers import PARSERS, SUFFIXES, read
from edge_node.documents.text import MAX_TEXT_CHARS, ReadText, normalised

__all__ = ["MAX_TEXT_CHARS", "PARSERS", "SUFFIXES", "ReadText", "normalised", "read"]
