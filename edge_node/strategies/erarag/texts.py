"""What a model is asked for the text of a node of the tree (EraRAG §III-C, Alg. 1 l. 13)."""

from __future__ import annotations

from collections.abc import Sequence

from shared.fence import Fence, one_line
from shared.ports import Prompt
from shared.prompts import load_prompt


def segment_prompt(children: Sequence[str], fence: Fence, *, max_tokens: int, max_chars: int) -> Prompt:
    """Ask a model for a summary of at most ``max_tokens``; every child may take an equal part of ``max_chars`` (Alg. 1 l. 13).

    The children are foreign text, of several authors: they stand in the frame, each on one line.
    """
    room = max_chars // max(1, len(children))
    passages = fence.around("\n".join(f"- {one_line(child)[:room]}" for child in children))
    return Prompt(load_prompt("edge_node.strategies.erarag", "summarise_segment").render(passages=passages), max_tokens=max_tokens)
