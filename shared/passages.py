"""How passages stand in a prompt: numbered, one a line."""

from __future__ import annotations

from collections.abc import Sequence

from shared.records import Evidence

MAX_NAME_CHARS = 80


def listed(passages: Sequence[Evidence]) -> str:
    """All passages, numbered from 1; "(none)" when there are none."""
    return "\n".join(numbered(n, passage) for n, passage in enumerate(passages, start=1)) or "(none)"


def numbered(n: int, passage: Evidence) -> str:
    r"""One passage as one line, so that no line of its text can pass for another passage or for the question.

    >>> from shared.records import ChunkId, DocumentId, EdgeId
    >>> numbered(2, Evidence(EdgeId("bank"), DocumentId("d"), "loans.md", ChunkId("d:0"), (0, 9), "A loan.\n[3] x", 0.5))
    '[2] (bank, loans.md) A loan. [3] x'
    """
    name = " ".join(passage.document.split())[:MAX_NAME_CHARS]
    return f"[{n}] ({passage.edge}, {name}) {' '.join(passage.text.split())}"
