"""The words for how much a site shares, and what they mean. Nothing heavy is imported: commands say them, too."""

from __future__ import annotations

from typing import Literal

from edge_node.records import Share

MEANING: dict[Share, str] = {
    "never": "nothing leaves",
    "summary": "facts in summaries, no passages",
    "evidence": "summaries; passages are read by the cloud, not quoted",
    "full": "summaries; passages are read and quoted",
}
QUESTIONS: dict[Literal["yes", "ask", "no"], str] = {
    "yes": "they may leave",
    "ask": "they leave once who asks has said yes",
    "no": "they stay here",
}
FIRST_QUESTIONS: dict[Share, Literal["yes", "ask"]] = {  # of a new site: where no passage leaves, a question waits for a yes
    "never": "ask",
    "summary": "ask",
    "evidence": "yes",
    "full": "yes",
}
