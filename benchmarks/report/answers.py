"""Sections on what was answered: references (DGRAG Fig. 5 and 7), wins by claims (DGRAG Tables I–III)."""

from __future__ import annotations

from benchmarks.metrics.bootstrap import ENOUGH
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
    sizes,
)
from deploy.evaluation.intervals import Estimate

QUALITY = {
    "rouge_l_recall": "ROUGE-L recall",
    "claims": "claims told",
    "bertscore_recall": "BERTScore recall",
    "em": "EM",
    "f1": "F1",
    "accuracy": "accuracy",
}
REFERENCE_BASED = ("rouge_l_recall", "claims", "bertscore_recall")
PAPER = " (paper)"
GATED = "dgrag"


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


def label(metric: str, result: Row) -> str:
    """A metric's name, of BERTScore with the model's: another model gives other numbers.

    >>> label("bertscore_recall", {"run": {"bertscore": "models/roberta-large"}}), label("f1", {"run": {}})
    ('BERTScore recall (roberta-large)', 'F1')
    """
    model = result["run"].get("bertscore", "") if metric == "bertscore_recall" else ""
    return QUALITY[metric] + (f" ({model.rpartition('/')[2]})" if model else "")


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
        *(Column(label(name, result), "%") for name in shown),
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
                panels.append(
                    plots.Panel(f"{label(metric, result)}, asked {SCENARIOS[scenario]}", "", {"": values}, share=True, scale=metric)
                )
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
        (SCENARIOS[row["scenario"]], label(row["metric"], result), row["against"], estimate(row["difference"]), sign(row["difference"]))
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


def by_claims(result: Row, reference: Row) -> Section:
    """How often one system's answers tell more claims of the reference than another's."""
    rows = [row for row in result["wins"] if "flips" not in row]  # a result of before has a judge's, who went by the order
    asked = [(split, scenario) for split in names(rows, "split") for scenario in names(rows, "scenario")]
    parts = [found for one in asked if (found := [row for row in rows if (row["split"], row["scenario"]) == one])]
    text = (
        "The reference is split into claims by rule; who tells more of them, by words, wins the asking, equal ones tie, and no model "
        "judges. Of the papers' criteria this is comprehensiveness, which their judge (Qwen-Max) saw in whole answers: read the order, "
        "not the height."
    )
    return Section(
        "Pairs by the claims that they tell (DGRAG Tables I–III)",
        text if rows else "",
        tuple(_win_dots(part, result, reference["paper"]) for part in parts),
        tuple(_wins(part, result, reference["paper"]) for part in parts),
    )


def paper_wins(row: Row, result: Row, paper: Row) -> float | None:
    """The paper's win rate for a row of "wins"; None where it gives none, or where ours is of another kind of split."""
    fits = (kind_of(result, row["split"]) or "domain") == ("mixed" if row["scenario"] == "mixed" else "domain")
    found = paper["wins"].get(row["scenario"], {}).get(row["against"], {}) if fits and row["system"] == GATED else {}
    return float(found[row["criterion"]]) if row["criterion"] in found else None


def _wins(rows: list[Row], result: Row, paper: Row) -> Table:
    split, scenario = rows[0]["split"], rows[0]["scenario"]
    cells = [(f"{row['system']} vs. {row['against']}", estimate(row["win"]), row["equal"], paper_wins(row, result, paper)) for row in rows]
    return Table(
        f"wins-{split}-{scenario}",
        f"Wins by claims, split {split}, asked {SCENARIOS[scenario]}",
        (Column("pair"), Column("wins", "%"), Column("equal"), Column("paper, comprehensiveness", "%")),
        tuple(cells),
        "Share of askings; equal ones are a tie.",
    )


def _win_dots(rows: list[Row], result: Row, paper: Row) -> Figure:
    split, scenario = rows[0]["split"], rows[0]["scenario"]
    ours, theirs = dict[str, plots.Value](), dict[str, plots.Value]()
    for row in rows:
        place = f"{row['system']} vs. {row['against']}"
        if found := estimate(row["win"]):
            ours[place] = found
        if (known := paper_wins(row, result, paper)) is not None:
            theirs[place] = known
    series = {"claims told": ours} | ({"claims told" + PAPER: theirs} if theirs else {})
    panel = plots.Panel(f"Wins of the first, asked {SCENARIOS[scenario]}", "share of askings won", series, share=True, marks={"even": 0.5})
    caption = (
        f"Split {split}: filled, ours with 95 % bootstrap intervals ({sizes(estimate(row['win']) for row in rows)}); "
        "hollow, the paper's comprehensiveness."
    )
    return Figure(f"wins-{split}-{scenario}", caption, plots.dots([panel], hollow=PAPER))
