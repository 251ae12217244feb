"""What a report is written from: a community's elements, or the reports of the communities within it, under a limit (GraphRAG §2.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from edge_node.graph.cover import Count
from edge_node.graph.elements import Line
from edge_node.graph.facts import lines_within


@dataclass(frozen=True, slots=True)
class Child:
    """A community within another, with the lines of its report."""

    community_id: str
    entities: tuple[str, ...]  # keys
    report: tuple[Line, ...]


def leaf_context(elements: Sequence[Line], *, limit_tokens: int, count: Count) -> tuple[Line, ...]:
    """The first of ``elements_of`` a community, until the next one does not fit; tokens are those of the lines' texts, summed."""
    return tuple(elements[: len(lines_within([line.text for line in elements], limit_tokens, count))])


def upper_context(elements: Sequence[Line], children: Sequence[Child], *, limit_tokens: int, count: Count) -> tuple[Line, ...]:
    """``elements_of`` a community whose children have reports: all of them if they fit, and else reports in the place of some.

    Child by child, the one with most tokens of elements first (ties by id), the elements within it give way to its report, where that is
    shorter, until all fits. The reports stand first, in this order, then the elements that are left, in theirs; if that still is too
    long, up to the limit. What a report says is not said again. Raises KeyError for an entity of the elements that no child has.
    """
    homes = {entity: child.community_id for child in children for entity in child.entities}
    within = [_home(line, homes) for line in elements]
    tokens = Counter[str]()
    for home, line in zip(within, elements, strict=True):
        tokens[home] += count(line.text)
    over = tokens.total() - limit_tokens
    reported: dict[str, tuple[Line, ...]] = {}
    for child in sorted(children, key=lambda child: (-tokens[child.community_id], child.community_id)):
        saved = tokens[child.community_id] - sum(count(line.text) for line in child.report)
        if over > 0 and saved > 0:
            reported[child.community_id] = child.report
            over -= saved
    told = [line for report in reported.values() for line in report]
    left = [line for home, line in zip(within, elements, strict=True) if home not in reported]
    return leaf_context(list(_told_once([*told, *left])), limit_tokens=limit_tokens, count=count)


def _home(element: Line, homes: Mapping[str, str]) -> str:
    """The child that an entity, or both ends of a relation, are in; "" where a relation joins two."""
    found = {homes[key] for key in element.elements[0].split("\t")}
    return found.pop() if len(found) == 1 else ""


def _told_once(lines: Iterable[Line]) -> Iterator[Line]:
    said = set[str]()
    for line in lines:
        new = tuple(finding for finding in line.findings if finding.text not in said)
        said.update(finding.text for finding in new)
        if line.name or new:
            yield replace(line, findings=new)
