"""Passages as frameworks take them: a text, and what is known of it."""

from __future__ import annotations

from typing import Any

from shared.client.replies import RetrieveReply
from shared.records import Evidence


def readable(found: RetrieveReply) -> list[Evidence]:
    """Those that have a text: one of another site that is not to be quoted comes without."""
    return [passage for passage in found.evidence if passage.text]


def metadata_of(passage: Evidence) -> dict[str, Any]:
    """Where a passage stands, and how near to the question it is (a cosine)."""
    start, end = passage.span
    place = {"document": passage.document, "title": passage.title, "document_id": passage.document_id, "chunk_id": passage.chunk_id}
    return {**place, "site": passage.edge, "place": passage.place, "start": start, "end": end, "score": passage.score}
