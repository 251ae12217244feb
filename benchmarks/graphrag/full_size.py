"""What reports of the size of GraphRAG's paper would take to write and to read, computed from the tokens of the graph's elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edge_node.communities.hierarchy import Community

CONTEXT_TOKENS, REPORT_TOKENS = 8_000, 2_000  # of what a report is written from, and of what it says


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of one community: of all its elements, of what its report is written from, and the most that this report can hold."""

    elements: int
    context: int
    report: int


def sizes(communities: Sequence[Community], elements: Mapping[str, int]) -> dict[str, Size]:
    """The size of each community by id, those within it first (§2.5). ``elements``: tokens of each community's elements, by its id.

    Where the elements exceed the context, reports stand in the place of those of the largest sub-communities, until all fits or none is
    left. A report is as long as it may be, and never longer than what it tells of. Raises KeyError for a child that is not there.

    >>> kids = [Community(name, 1, "top", (), ()) for name in ("large", "small")]
    >>> found = sizes([Community("top", 0, "", ("large", "small"), ()), *kids], {"top": 9_500, "large": 5_000, "small": 4_500})
    >>> found["large"], found["top"]
    (Size(elements=5000, context=5000, report=2000), Size(elements=9500, context=6500, report=2000))
    """
    found: dict[str, Size] = {}
    for community in sorted(communities, key=lambda one: -one.level):
        own = context = elements[community.community_id]
        for child in sorted(community.children, key=lambda key: (-elements[key], key)):
            if context > CONTEXT_TOKENS:
                context -= found[child].elements - found[child].report
        context = min(context, CONTEXT_TOKENS)
        found[community.community_id] = Size(own, context, min(context, REPORT_TOKENS))
    return found
