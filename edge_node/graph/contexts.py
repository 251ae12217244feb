"""What a report is written from: a community's elements, or the reports of the communities within it, under a limit (GraphRAG §2.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from edge_node.graph.cover import Count
from edge_node.graph.elements import Line
from edge_node.graph.facts import lines_within


def leaf_context(elements: Sequence[Line], *, limit_tokens: int, count: Count) -> tuple[Line, ...]:
    """The first of ``elements_of`` a community, until the next one does not fit; tokens are those of the lines' texts, summed."""
    return tuple(elements[: len(lines_within([line.text for line in elements], limit_tokens, count))])


def upper_context(
    elements: Sequence[Line],
    children: Mapping[str, Iterable[str]],
    report: Callable[[str], Sequence[Line]],
    *,
    limit_tokens: int,
    count: Count,
) -> tuple[Line, ...]:
    """``elements_of`` a community whose children have reports: all of them if they fit, and else reports in the place of some.

    children: keys of entities by id. report: the lines of a child's report, by its id; only those are asked for that are looked at.
    Child by child, the one with most tokens of elements first (ties by id), the elements within it give way to its report, where that is
    shorter, until all fits. The reports stand first, in this order, then the elements that are left, in theirs; if that still is too
    long, up to the limit. What a report says is not said again. Raises KeyError for an entity of the elements that no child has.
    """
    homes = {entity: child for child, entities in children.items() for entity in entities}
    within = [_home(line, homes) for line in elements]
    tokens = Counter[str]()
    for home, line in zip(within, elements, strict=True):
        tokens[home] += count(line.text)
    over, told, reported = tokens.total() - limit_tokens, list[Line](), set[str]()
    for child in sorted(children, key=lambda child: (-tokens[child], child)):
        if over <= 0 or _tokens(_told_once(told), count) > limit_tokens:
            break  # it fits, or the reports alone never will: what comes behind them is not told
        saved = tokens[child] - _tokens(lines := report(child), count)
        if saved > 0:
            told += lines
            reported.add(child)
            over -= saved
    left = [line for home, line in zip(within, elements, strict=True) if home not in reported]
    return leaf_context(list(_told_once([*told, *left])), limit_tokens=limit_tokens, count=count)


def _tokens(lines: Iterable[Line], count: Count) -> int:
    return sum(count(line.text) for line in lines)


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
