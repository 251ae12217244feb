"""One flat search over passages and nodes of all levels, under a token budget (EraRAG §III-D, Alg. 2 l. 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from shared.ports import Prompt
from shared.text.fence import Fence, one_line
from shared.text.prompts import load_prompt


def segment_prompt(children: Sequence[str], fence: Fence, *, max_tokens: int, max_chars: int) -> Prompt:
    """Ask a model for a summary of at most ``max_tokens``; every child may take an equal part of ``max_chars`` (Alg. 1 l. 13).

    The children are foreign text, of several authors: they stand in the frame, each on one line.
    """
    room = max_chars // max(1, len(children))
    passages = fence.around("\n".join(f"- {one_line(child)[:room]}" for child in children))
    return Prompt(load_prompt("edge_node.strategies.erarag", "summarise_segment").render(passages=passages), max_tokens=max_tokens)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage, or a node with the passage that is cited for it, as near to the question as ``score`` (cosine) says."""

    score: float
    passage: str  # key of a passage; of a node's, the one nearest the question
    passage_tokens: int
    node: str = ""  # key; empty where the hit is a passage
    node_tokens: int = 0


@dataclass(frozen=True, slots=True)
class SelectedContext:
    """What goes into the context: keys of passages and of nodes, each once, in the order in which they were chosen."""

    passages: tuple[str, ...]
    nodes: tuple[str, ...]


def collapsed(leaves: Iterable[Hit], nodes: Iterable[Hit], *, k: int, budget_tokens: int) -> SelectedContext:
    """The k nearest of all levels together, as far as they fit (Alg. 2 l. 2).

    Nothing is cut: what does not fit is passed over, but the first passage is always in. A passage is paid for once, whatever cites it.

    >>> leaf, node = Hit(0.5, "d:0", 100), Hit(0.9, "d:0", 100, "n", 60)
    >>> collapsed([leaf], [node], k=5, budget_tokens=200)
    SelectedContext(passages=('d:0',), nodes=('n',))
    """
    return _chosen([([*leaves, *nodes], k)], k=k, budget_tokens=budget_tokens)


def detailed(leaves: Sequence[Hit], nodes: Sequence[Hit], *, k: int, budget_tokens: int, share: float) -> SelectedContext:
    """First the ⌈share·k⌉ nearest passages, then nodes up to k in all; what either leaves is the other's (§III-D, "detailed search")."""
    return _shared_out(leaves, nodes, k=k, budget_tokens=budget_tokens, share=share)


def summarised(leaves: Sequence[Hit], nodes: Sequence[Hit], *, k: int, budget_tokens: int, share: float) -> SelectedContext:
    """First the ⌈share·k⌉ nearest nodes, then passages up to k in all; what either leaves is the other's (§III-D, "summarized search")."""
    return _shared_out(nodes, leaves, k=k, budget_tokens=budget_tokens, share=share)


def _shared_out(first: Sequence[Hit], second: Sequence[Hit], *, k: int, budget_tokens: int, share: float) -> SelectedContext:
    quota = ceil(round(share * k, 9))  # rounded: 0.7 * 10 is a little more than 7
    return _chosen([(first, quota), (second, k - quota), ([*first, *second], k)], k=k, budget_tokens=budget_tokens)


def _chosen(turns: Iterable[tuple[Iterable[Hit], int]], *, k: int, budget_tokens: int) -> SelectedContext:
    """Each turn adds its nearest hits, at most so many; all turns together at most k."""
    passages: dict[str, None] = {}
    nodes: dict[str, None] = {}
    used = taken = 0
    for hits, most in turns:
        end = min(k, taken + most)
        for hit in sorted(hits, key=_nearest):
            if taken == end:
                break
            if not taken and hit.passage_tokens + hit.node_tokens > budget_tokens:
                hit = replace(hit, node="", node_tokens=0)
            cost = hit.passage_tokens * (hit.passage not in passages) + hit.node_tokens * (hit.node not in nodes)
            known = hit.passage in passages and (not hit.node or hit.node in nodes)
            if known or (taken and used + cost > budget_tokens):
                continue
            passages[hit.passage] = None
            if hit.node:
                nodes[hit.node] = None
            used += cost
            taken += 1
    return SelectedContext(tuple(passages), tuple(nodes))


def _nearest(hit: Hit) -> tuple[float, str, str]:
    return -hit.score, hit.node, hit.passage
