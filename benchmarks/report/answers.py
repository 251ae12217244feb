"""Sections on what was answered: references (DGRAG Fig. 5 and 7), the judge's wins (DGRAG Tables I–III, GraphRAG Fig. 4)."""

from __future__ import annotations

from benchmarks.metrics.bootstrap import ENOUGH
from benchmarks.metrics.wins import FLIPS_AT_MOST, is_undecided
from benchmarks.report import plots
from benchmarks.report.tables import (
    FAILURES,
    SCENARIOS,
    Column,
    Figure,
    Row,
    Section,
    Table,
    estimate,
    failures,
    kind_of,
    names,
    set_of,
    sizes,
)
from deploy.evaluation.intervals import Estimate

QUALITY = {"rouge_l_recall": "ROUGE-L recall", "bertscore_recall": "BERTScore recall", "em": "EM", "f1": "F1", "accuracy": "accuracy"}
REFERENCE_BASED = ("rouge_l_recall", "bertscore_recall")
PAPER = " (paper)"
GATED = "dgrag"
UNDECIDED = "undecided"
OF_THE_JUDGE = (Column("position bias", "%"), Column("flips", "%"), Column("equal"))


def against_references(result: Row) -> Section:
    """How near the answers are to their references, by system and by where the question was asked."""
    splits = names(result["systems"], "split")
    tables = [table for split in splits for table in (quality(result, split), differences(result, split)) if table.rows]
    text = "The paper shows its recalls as bars without numbers, so none stand beside ours." if splits else ""
    return Section(
        "Answers against references (DGRAG Fig. 5 and 7)",
        text,
        tuple(figure for split in splits if (figure := _bars(result, split))),
        tuple(tables),
    )


def quality(result: Row, split: str) -> Table:
    """Answers against references. EM and its kin are shown only where an answer ever matched."""
    rows = [row for row in result["systems"] if row["split"] == split]
    exact = any((row["metrics"].get("em") or {"mean": 0})["mean"] > 0 for row in rows)
    present = [name for name in QUALITY if any(name in row["metrics"] for row in rows)]
    shown = [name for name in present if exact or name in REFERENCE_BASED]
    columns = (
        Column("asked"),
        Column("system"),
        Column("answered", "%"),
        *(Column(QUALITY[name], "%") for name in shown),
        *FAILURES,
    )
    cells = [
        (
            SCENARIOS[row["scenario"]] + (f", {row['compared']} askings" if row["scenario"] == "all" and "compared" in row else ""),
            row["system"],
            *(estimate(row["metrics"].get(name)) for name in ("answered", *shown)),
            *failures(row),
        )
        for row in rows
    ]
    note = (
        "On the questions that all systems were asked at the same edge. Against the first reference; a failed question counts as an empty "
        "answer. “Answered”: the system did not say that it cannot. “Asked again”: the first try failed."
    )
    return Table(f"quality-{split}", f"Answers against references, split {split}", columns, tuple(cells), note)


def _bars(result: Row, split: str) -> Figure | None:
    rows = [row for row in result["systems"] if row["split"] == split and row["scenario"] != "all"]
    panels, known = [], list[Estimate]()
    for scenario in names(rows, "scenario"):
        for metric in REFERENCE_BASED:
            found = {row["system"]: estimate(row["metrics"].get(metric)) for row in rows if row["scenario"] == scenario}
            if values := {system: value for system, value in found.items() if value}:
                panels.append(plots.Panel(f"{QUALITY[metric]}, asked {SCENARIOS[scenario]}", "", {"": values}, share=True, scale=metric))
                known += values.values()
    if not panels:
        return None  # no question has a reference
    caption = f"Recall of the reference answers, split {split}; bars are 95 % bootstrap intervals ({sizes(known)})."
    return Figure(f"quality-{split}", caption, plots.bars(panels))


def differences(result: Row, split: str) -> Table:
    """The gated system less each other one, on the same questions."""
    rows = [row for row in result["differences"] if row["split"] == split and row["metric"] in REFERENCE_BASED]
    columns = (Column("asked"), Column("metric"), Column("dgrag less …"), Column("difference", "%"), Column("dgrag is"))
    cells = [
        (SCENARIOS[row["scenario"]], QUALITY[row["metric"]], row["against"], estimate(row["difference"]), sign(row["difference"]))
        for row in rows
    ]
    note = "Points of a paired bootstrap over the same questions; “better” and “worse” only where it excludes 0 and n ≥ 10."
    return Table(f"differences-{split}", f"dgrag against each system, split {split}", columns, tuple(cells), note)


def sign(difference: Row) -> str:
    """Say whether an interval of enough questions excludes 0.

    >>> [sign({"low": low, "high": low + 0.1, "n": n}) for low, n in ((0.1, 10), (-0.05, 10), (-0.2, 10), (0.1, 9))]
    ['better', 'not clear', 'worse', 'not clear']
    """
    if difference["n"] < ENOUGH:
        return "not clear"
    return "better" if difference["low"] > 0 else "worse" if difference["high"] < 0 else "not clear"


def judged(result: Row, reference: Row) -> Section:
    """How often a language model prefers one system's answer."""
    rows = result["wins"]
    asked = [(split, scenario) for split in names(rows, "split") for scenario in names(rows, "scenario")]
    parts = [found for one in asked if (found := [row for row in rows if (row["split"], row["scenario"]) == one])]
    text = (
        "Each pair was judged in both orders. Position bias: how much more than one half the judge gave to the answer shown first. "
        "Flips: pairs whose verdict changed with the order. Equal: pairs with one answer, about which the judge was not asked. "
        "Margin: how much more of its probability the first system's answers have than the other's, over both orders. "
        f"Undecided: more than {FLIPS_AT_MOST:.0%} of the verdicts changed with the order, so a win would tell of the place and of noise. "
        "The papers' judges are Qwen-Max (DGRAG) and GPT-4 (GraphRAG), ours the run's own model: read the order, not the height. "
        "Directness is GraphRAG's control: what wins by telling more should lose there."
    )
    drawn = [[row for row in part if not is_undecided(row["flips"])] for part in parts]
    figures = tuple(_win_dots(part, result, reference["paper"]) for part in drawn if part)
    return Section(
        "Pairs judged by a language model (DGRAG Tables I–III, GraphRAG Fig. 4)",
        text if rows else "",
        figures,
        tuple(_wins(part, result, reference["paper"]) for part in parts),
    )


def paper_wins(row: Row, result: Row, paper: Row) -> float | None:
    """The paper's win rate for a row of "wins"; None where it gives none, or where ours is of another kind of split."""
    fits = (kind_of(result, row["split"]) or "domain") == ("mixed" if row["scenario"] == "mixed" else "domain")
    found = paper["wins"].get(row["scenario"], {}).get(row["against"], {}) if fits and row["system"] == GATED else {}
    return found.get(row["criterion"], head_to_head(row, set_of(result, row["split"]), paper["conditions"]))


def head_to_head(row: Row, data_set: str, conditions: Row) -> float | None:
    """GraphRAG's win rate of one condition over another on the same set (Fig. 4); None where it gives none."""
    order, matrix = conditions["order"], conditions.get(data_set, {}).get(row["criterion"])
    if matrix is None or not {row["system"], row["against"]}.issubset(order):
        return None
    return float(matrix[order.index(row["system"])][order.index(row["against"])]) / 100


def _wins(rows: list[Row], result: Row, paper: Row) -> Table:
    split, scenario = rows[0]["split"], rows[0]["scenario"]
    cells = [
        (
            f"{row['system']} vs. {row['against']}",
            row["criterion"],
            UNDECIDED if is_undecided(row["flips"]) else estimate(row["win"]),
            estimate(row.get("margin")),  # a result of before has none
            paper_wins(row, result, paper),
            estimate(row["position_bias"]),
            estimate(row["flips"]),
            row["equal"],
        )
        for row in rows
    ]
    columns = (Column("pair"), Column("criterion"), Column("wins", "%"), Column("margin", "%"), Column("paper", "%"), *OF_THE_JUDGE)
    return Table(
        f"wins-{split}-{scenario}",
        f"Wins, split {split}, asked {SCENARIOS[scenario]}",
        columns,
        tuple(cells),
        "Share of pairs; equal answers are a tie.",
    )


def _win_dots(rows: list[Row], result: Row, paper: Row) -> Figure:
    split, scenario = rows[0]["split"], rows[0]["scenario"]
    series: dict[str, dict[str, plots.Value]] = {}
    ours_alone = len(systems := names(rows, "system")) == 1
    for criterion in names(rows, "criterion"):
        for row in (row for row in rows if row["criterion"] == criterion):
            place = f"vs. {row['against']}" if ours_alone else f"{row['system']} vs. {row['against']}"
            if ours := estimate(row["win"]):
                series.setdefault(criterion, {})[place] = ours
            if (theirs := paper_wins(row, result, paper)) is not None:
                series.setdefault(criterion + PAPER, {})[place] = theirs
    panel = plots.Panel(
        f"Wins of {systems[0] if ours_alone else 'the first'}, asked {SCENARIOS[scenario]}",
        "share of pairs won",
        series,
        share=True,
        marks={"even": 0.5},
    )
    caption = (
        f"Split {split}: filled, ours with 95 % bootstrap intervals ({sizes(estimate(row['win']) for row in rows)}); hollow, the paper's. "
        "Without the undecided ones."
    )
    return Figure(f"wins-{split}-{scenario}", caption, plots.dots([panel], hollow=PAPER))
