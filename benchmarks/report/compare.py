"""Two results side by side. A difference is called clear only where a paired bootstrap over ten questions or more excludes 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.comparing import Groups, Pairs, common, grouped_answers, pairs
from benchmarks.metrics.bootstrap import ENOUGH, bootstrap
from benchmarks.report.tables import SCENARIOS, Cell, Column, Row, Table, estimate, interval, number
from benchmarks.summary import ON_ALL, scored

SHARES = frozenset({"rouge_l_recall", "bertscore_recall", "em", "f1", "accuracy", "answered", "escalated"})
METRICS = (*sorted(SHARES), "seconds", "cloud_tokens_in", "edge_tokens_in", "calls")
FOUND = ("recall@2", "recall@5", "recall@10", "all@8", "coverage", "edges_asked")
ROUTED = ("hit", "any_mismatch")


def side_by_side(first: Row, second: Row, first_answers: Sequence[Row] = (), second_answers: Sequence[Row] = ()) -> Table:
    """Return what both results have, with the difference (second less first) and whether it is clear.

    Differences of answers carry an interval where both runs' ``*_answers`` are given; others are those of the means alone.
    """
    names = [result["run"]["name"] for result in (first, second)]
    columns = (*(Column(title) for title in ("of", "measure", *names, "difference", "95 % interval, pairs", "clear")),)
    cells = (*_answers(first, second, first_answers, second_answers), *_means(first, second))
    return Table("compare", f"{names[0]} and {names[1]}", columns, cells, note(first, second))


def note(first: Row, second: Row) -> str:
    """Say in what the two runs differ, as far as that can change figures."""
    unlike = [
        f"{what}: {one} and {other}"
        for what, one, other in ((name, _of(first, name), _of(second, name)) for name in ("commit", "seed", "limit", "models", "machine"))
        if one != other
    ]
    splits = [
        [(split.get("name"), split.get("kind")) for split in result["run"].get("config", {}).get("split", ())] for result in (first, second)
    ]
    unlike += ["the splits of the configs: only what both have is shown"] if splits[0] != splits[1] else []
    return "The runs differ in " + "; ".join(unlike) + "." if unlike else "One commit, seed, machine and models."


def _of(result: Row, name: str) -> str:
    found = result["run"].get(name)
    return ", ".join(map(str, found.values())) if isinstance(found, Mapping) else str(found)


def _answers(first: Row, second: Row, first_answers: Sequence[Row], second_answers: Sequence[Row]) -> Iterator[tuple[Cell, ...]]:
    known = {_place(row): row["metrics"] for row in second["systems"]}
    asked: list[Groups] = [grouped_answers(scored(answers)) for answers in (first_answers, second_answers)]
    compared: list[Groups] = [common(groups) for groups in asked]
    for row in first["systems"]:
        for metric in METRICS:
            one, other = estimate(row["metrics"].get(metric)), estimate(known.get(_place(row), {}).get(metric))
            if one and other:
                theirs, ours = (groups.get(_place(row), ()) for groups in (asked if metric in ON_ALL else compared))
                yield _line(_title(row), metric, one.mean, other.mean, pairs(ours, theirs, metric))


def _means(first: Row, second: Row) -> Iterator[tuple[Cell, ...]]:
    for part, place, measures in (("retrieval", ("split", "system"), FOUND), ("routing", ("split", "subgraph_entities", "m"), ROUTED)):
        known = {tuple(row[name] for name in place): row for row in second[part] if not row.get("plain")}
        for row in (row for row in first[part] if not row.get("plain")):
            other = known.get(tuple(row[name] for name in place), {})
            for measure in measures:
                if measure in row and measure in other:
                    title = f"{part}, " + ", ".join(str(row[name]) for name in place)
                    yield _line(title, measure, row[measure]["mean"], other[measure]["mean"], Pairs((), (), ()))


def _line(title: str, measure: str, one: float, other: float, both: Pairs) -> tuple[Cell, ...]:
    """One measure of both results; of ``both`` (ours: the second's) where questions can be paired, as the means then are of these alone."""
    unit = "" if measure in {"edges_asked", "calls", "seconds"} or measure.endswith("tokens_in") else "%"
    if not both.of:
        return title, measure, number(one, unit), number(other, unit), number(other - one, unit), "no answers beside both", "not known"
    other, one = (sum(values) / len(values) for values in (both.ours, both.theirs))
    difference = bootstrap(both.differences, seed=0, of=both.of)
    clear = "yes" if difference.n >= ENOUGH and (difference.low > 0 or difference.high < 0) else "no"
    return title, measure, number(one, unit), number(other, unit), number(difference.mean, unit), interval(difference, unit), clear


def _place(row: Row) -> tuple[str, ...]:
    return row["split"], row["scenario"], row["system"]


def _title(row: Row) -> str:
    return f"{row['split']}, {SCENARIOS[row['scenario']]}, {row['system']}"
