"""Which rows can be set beside each other: those of the same question, asked at the same place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]
Groups: TypeAlias = Mapping[tuple[Any, ...], Sequence[Row]]
EVERY = "all"  # a split's scenarios together


def by(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by some of their fields, in the order of first appearance.

    >>> list(by([{"a": 1, "b": 2}, {"a": 1, "b": 3}], "a"))
    [(1,)]
    """
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return dict(groups)


def grouped_answers(answers: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """Answers by split, scenario and system; where a system has several scenarios also all of them together, as ``EVERY``."""
    return by(answers, "split", "scenario", "system") | {
        (split, EVERY, system): group
        for (split, system), group in by(answers, "split", "system").items()
        if len({row["scenario"] for row in group}) > 1
    }


def common(groups: Groups) -> dict[tuple[Any, ...], list[Row]]:
    """Leave in each group the askings that all systems of its split and scenario have: others would be another sample.

    >>> row = {"split": "s", "scenario": "out", "edge": "a"}
    >>> first, second = row | {"question_id": 1}, row | {"question_id": 2}
    >>> [len(group) for group in common({("s", "out", "dgrag"): [first, second], ("s", "out", "local"): [second]}).values()]
    [1, 1]
    """
    shared: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
    for (split, scenario, _), group in groups.items():
        asked = {asking(row) for row in group}
        shared[split, scenario] = shared.get((split, scenario), asked) & asked
    return {place: [row for row in group if asking(row) in shared[place[:2]]] for place, group in groups.items()}


@dataclass(frozen=True, slots=True)
class Pairs:
    """A metric's values of two systems for the same askings, each with its question."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    of: tuple[str, ...]

    @property
    def differences(self) -> list[float]:
        """Ours less theirs."""
        return [our - their for our, their in zip(self.ours, self.theirs, strict=True)]


def pairs(ours: Iterable[Row], theirs: Iterable[Row], metric: str) -> Pairs:
    """The askings that both systems had and for which both have the metric."""
    known = {asking(row): row["values"][metric] for row in theirs if metric in row["values"]}
    both = [row for row in ours if metric in row["values"] and asking(row) in known]
    return Pairs(
        tuple(row["values"][metric] for row in both),
        tuple(known[asking(row)] for row in both),
        tuple(row["question_id"] for row in both),
    )


def asking(row: Row) -> tuple[Any, ...]:
    """What was asked where; a retrieval has no scenario, and its place is that of its system."""
    place = (row["scenario"], row["edge"]) if "scenario" in row else ()
    return row["split"], row["question_id"], *place
