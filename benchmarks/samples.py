"""Which questions a model answers: those of a run, and those that calibrate it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from benchmarks.datasets.splits import ALL, stride
from benchmarks.errors import BenchmarkError
from benchmarks.records import Asking, Scenario
from benchmarks.stages import Work


def sampled(work: Work, *, more: int = 0) -> list[Asking]:
    """The askings that get model answers: so many of each domain and scenario, evenly over its questions, at most the limit.

    The same numbers within and out of domain are the same questions. ``more`` of them are asked beyond that sample, never instead.
    """
    seed, chosen = work.config.seed, list[Asking]()
    for scenario, amount in _amounts(work).items():
        found, beyond = list[Asking](), list[Asking]()
        for group in _domains(work, scenario):
            first, others = _chosen(group, amount, more, seed)
            found += first
            beyond += others
        chosen += [*stride(found, work.config.limit or ALL, seed=seed), *stride(beyond, work.config.limit or ALL, seed=seed)]
    return chosen


def apart(work: Work) -> list[Asking]:
    """As many askings as the run has for the system with the most, of questions that the run asks nowhere, whatever its limit.

    Raises BenchmarkError where the run asks all of them.
    """
    more, seed = max(work.measured.more.values(), default=0), work.config.seed
    taken = {
        asking.question.question_id
        for scenario, amount in _amounts(work).items()
        for group in _domains(work, scenario)
        for part in _chosen(group, amount, more, seed)
        for asking in part
    }
    chosen = list[Asking]()
    for scenario, amount in _amounts(work).items():
        left = [[one for one in group if one.question.question_id not in taken] for group in _domains(work, scenario)]
        found = [asking for group in left for asking in stride(group, ALL if amount == ALL else amount + more, seed=seed)]
        chosen += stride(found, work.config.limit or ALL, seed=seed)
    if not chosen:
        raise BenchmarkError(
            f"the run asks all questions of split {work.split.name!r}, so none are left to calibrate on",
            next_step="lower `within`, `out` and `more` of the configuration",
        )
    return chosen


def _amounts(work: Work) -> dict[Scenario, int]:
    return {"within": work.measured.within, "mixed": work.measured.within, "out": work.measured.out}


def _domains(work: Work, scenario: Scenario) -> list[list[Asking]]:
    groups = defaultdict[str, list[Asking]](list)
    for asking in work.split.asked:
        if asking.scenario == scenario:
            groups[asking.question.domain].append(asking)
    return list(groups.values())


def _chosen(group: Sequence[Asking], amount: int, more: int, seed: int) -> tuple[list[Asking], list[Asking]]:
    """So many of one domain's askings, and ``more`` of its others."""
    first = stride(group, amount, seed=seed)
    return list(first), list(stride([asking for asking in group if asking not in first], more, seed=seed))
