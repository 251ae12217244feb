"""The goals of a run, each met or missed by the means that were measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.metrics.bootstrap import ENOUGH
from benchmarks.report.retrieval import asker
from benchmarks.report.tables import Cell, Column, Row, Section, Table, interval, number, set_of
from deploy.evaluation.intervals import Estimate

GATED = "dgrag"
FEDERATED = ("federated", "federated-operator")
# Of global answers: metric -> what it is called, and its goal.
OF_OVERVIEWS = {
    "bytes_of_corpus": ("bytes moved of the corpus’s", "bytes_of_corpus_at_most"),
    "referenced": ("sentences with a reference", "referenced_at_least"),
    "opened": ("references that open at their edge", "opened_at_least"),
}
SHARE = "federated_share_of_centralised_recall_at_least"


@dataclass(frozen=True, slots=True)
class Goal:
    """What was wanted and what came. ``at_most``: less is better."""

    what: str
    ours: Estimate | float
    wanted: float
    at_most: bool
    unit: str = ""
    is_small: bool = False  # measured at a smaller scale than the goal's: it can be missed there, and not met

    @property
    def measured(self) -> tuple[str, str]:
        """The mean and, where there is a sample, its interval, as words: goals have different units."""
        if isinstance(self.ours, Estimate):
            return number(self.ours.mean, self.unit), interval(self.ours, self.unit)
        return number(self.ours, self.unit), "one count"

    @property
    def verdict(self) -> str:
        """Say whether the mean meets the goal, and whether the interval, or a sample of few questions, leaves that open.

        >>> Goal("hit", Estimate(0.96, 0.94, 0.98, 241), 0.95, at_most=False).verdict
        'met, not clearly'
        """
        sample = self.ours if isinstance(self.ours, Estimate) else None
        mean = self.ours.mean if isinstance(self.ours, Estimate) else self.ours
        met = mean <= self.wanted if self.at_most else mean >= self.wanted
        if met and self.is_small:
            return "below the goal's scale"
        open_ = sample is not None and (sample.low < self.wanted < sample.high or sample.n < ENOUGH)
        return ("met" if met else "missed") + (", not clearly" if open_ else "")


def section(result: Row, reference: Row) -> Section:
    """All goals that the run allows."""
    found = sorted(goals(result, reference["goals"]), key=lambda goal: not goal.verdict.startswith("missed"))
    cells: list[tuple[Cell, ...]] = [
        (goal.what, *goal.measured, f"{'≤' if goal.at_most else '≥'} {number(goal.wanted, goal.unit)}", goal.verdict) for goal in found
    ]
    columns = (Column("goal"), Column("measured"), Column("95 % interval, sample"), Column("wanted"), Column("verdict"))
    note = "“Not clearly”: the 95 % interval holds the goal itself, or n is below ten, so a larger sample may say otherwise. "
    return Section("Goals", "", (), (Table("goals", "Goals", columns, tuple(cells), note),) if cells else ())


def goals(result: Row, wanted: Row) -> Iterator[Goal]:
    """Yield the goals in the order of the paper's evaluation."""
    yield from _escalated(result, wanted)
    yield from _routing(result, wanted)
    yield from _cloud(result, wanted)
    yield from _retrieval(result, wanted)
    yield from _overviews(result, wanted)
    for row in result["peers"]:
        if row["step"] == "goal":  # with its own wanted value
            small = bool(row.get("below_scale"))
            what = str(row["what"]) + (f", {row['entities']:,} entities" if small else "")
            yield Goal(what, row["measured"], row["most"], at_most=True, is_small=small)


def _escalated(result: Row, wanted: Row) -> Iterator[Goal]:
    for row in result["systems"]:
        if row["system"] == GATED and "escalated" in row["metrics"] and row["scenario"] in {"within", "out"}:
            at_most = row["scenario"] == "within"
            goal = wanted["escalated_within_at_most"] if at_most else wanted["escalated_out_at_least"]
            what = f"sent to the cloud, {'asked at home' if at_most else 'asked elsewhere'}, split {row['split']}"
            yield Goal(what, Estimate(**row["metrics"]["escalated"]), goal, at_most=at_most, unit="%")


def _routing(result: Row, wanted: Row) -> Iterator[Goal]:
    for row in result["routing"]:
        if row["m"] in {1, 5} and not row.get("plain"):  # the paper's m: one edge in the domain split, five in the mixed one
            what = f"hit rate at m = {row['m']}, {row['subgraph_entities']} entities a subgraph, split {row['split']}"
            yield Goal(what, Estimate(**row["hit"]), wanted["hit_at_least"], at_most=False, unit="%")


def _cloud(result: Row, wanted: Row) -> Iterator[Goal]:
    for row in result["storage"]:
        yield Goal(
            f"cloud storage below centralised, {row['subgraph_entities']} entities a subgraph, split {row['split']}",
            row["ratio"],
            wanted["storage_ratio_at_least"],
            at_most=False,
            unit="×",
        )
    for row in result["tokens"]:
        if row["system"] == GATED and row["scenario"] in {"all", "mixed"}:
            share = Estimate(**row["cloud_tokens_share_of_centralised"])
            yield Goal(
                f"cloud tokens of centralised’s, split {row['split']}", share, wanted["cloud_tokens_share_at_most"], at_most=True, unit="%"
            )


def _retrieval(result: Row, wanted: Row) -> Iterator[Goal]:
    found = {(row["split"], row["system"]): row for row in result["retrieval"]}
    for (split, system), row in found.items():
        floor = wanted["centralised_recall_at_5_at_least"].get(set_of(result, split))
        if system == "centralized" and floor and "recall@5" in row:
            yield Goal(f"recall@5, centralised, {split}", Estimate(**row["recall@5"]), floor, at_most=False, unit="%")
    for row in result.get("retrieval_ratios", ()):
        if row["system"] in FEDERATED and row["measure"] == "recall@10":
            asks = asker(row["system"])
            who = "a site" if asks == "home" else f"an {asks}"
            what, goal = f"recall@10 of one index’s, {who} asks, {row['split']}", wanted[SHARE][asks]
            yield Goal(what, Estimate(**row["share"]), goal, at_most=False, unit="%")


def _overviews(result: Row, wanted: Row) -> Iterator[Goal]:
    for row in result["systems"]:
        for metric, (what, goal) in OF_OVERVIEWS.items():
            if metric in row["metrics"]:
                ours = Estimate(**row["metrics"][metric])
                at_most = goal.endswith("at_most")
                yield Goal(f"{what}, {row['system']}, split {row['split']}", ours, wanted[goal], at_most=at_most, unit="%")
