"""④ The prompt of a question over the passages, summaries and facts that were retrieved (DGRAG §III-C ④)."""

from __future__ import annotations

from functools import partial

from edge_node.records import Retrieval
from shared.drafts import Messages, draft_messages
from shared.text.fence import Fence, one_line
from shared.text.prompts import listed


def answer_messages(question: str, found: Retrieval, fence: Fence) -> Messages:
    """The messages for a question, by the task at their end: a server keeps the common prefix from call to call.

    The numbers of the summaries go on from those of the passages, and those of the descriptions from theirs.
    """
    texts = [f"[{n}] {one_line(text.line)}" for n, text in enumerate(found.written, start=len(found.evidence) + 1)]
    summaries, descriptions = texts[: len(found.summaries)], texts[len(found.summaries) :]
    parts = [
        listed(found.evidence),
        *(["Summaries of several passages:", *summaries] if summaries else []),
        *(["Descriptions from the same documents:", *descriptions] if descriptions else []),
        *(["Known relations:", *map(one_line, found.facts)] if found.facts else []),
    ]
    return partial(draft_messages, question, "\n".join(parts), fence)
