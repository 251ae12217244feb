"""Sections on the rest: indexing, calibration of the gate, what was left out."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.report import plots
from benchmarks.report.tables import Column, Figure, Row, Section, Table

CALIBRATION = "The gate’s scores: ROC"
INDEX = {
    "split": Column("split"),
    "layout": Column("layout"),
    "edge": Column("edge"),
    "documents": Column("documents"),
    "chunks": Column("chunks"),
    "tokens": Column("tokens"),
    "entities": Column("entities"),
    "relations": Column("relations"),
    "subgraphs": Column("subgraphs"),
    "summaries": Column("summaries"),
    "seconds": Column("busy seconds", "s"),
    "wall_seconds": Column("wall seconds of all", "s"),
    "model_calls": Column("model calls"),
    "model_tokens": Column("model tokens"),
    "writing_seconds": Column("writing of reports", "s"),
    "writing_calls": Column("its calls"),
    "writing_tokens_in": Column("its tokens in"),
    "writing_tokens_out": Column("its tokens out"),
    "disk_bytes": Column("bytes on disk"),
    "made": Column("made"),
}


def index(result: Row) -> Section:
    """What each edge indexed, and what that took."""
    rows = [{**row, "made": _made(row)} for row in result["index"]]
    shown = [name for name in INDEX if any(row.get(name) is not None for row in rows)]
    cells = tuple(tuple(row.get(name) for name in shown) for row in rows)
    note = (
        "Busy: seconds in which the edge worked on documents; edges of a layout share the machine's cores. "
        "Wall: until all edges of the layout were indexed, and the model had written all reports, where it does. "
        "Where several starts made an index, seconds and the writing are those of the last one."
    )
    table = Table("index", "Indexing", tuple(INDEX[name] for name in shown), cells, note)
    return Section("Indexing", "", (), (table,) if rows else ())


def _made(row: Row) -> str | None:
    """Return by whom and in how many starts; None where a result of before does not say.

    >>> _made({"reused": True, "resumed": True}), _made({"reused": False}), _made({})
    ('by an earlier run, in several starts', 'by this run', None)
    """
    if "reused" not in row:
        return None
    return ("by an earlier run" if row["reused"] else "by this run") + (", in several starts" if row.get("resumed") else "")


def calibration(result: Row) -> Section:
    """How well each score of the gate tells a site's own questions from others, and what other thresholds would have done, by split."""
    found = result.get("calibration") or []
    parts = [_calibrated(one) for one in ([found] if isinstance(found, Mapping) else found)]  # a result of before has one, of all splits
    return Section(CALIBRATION, "", tuple(figure for figure, _ in parts if figure), tuple(table for _, table in parts))


def _calibrated(found: Row) -> tuple[Figure | None, Table]:
    split, suffix = (f", split {found['split']}", f"-{found['split']}") if "split" in found else ("", "")
    curves = {curve["signal"]: curve["roc"] for curve in found["curves"] if curve["roc"]["points"]}
    points = {
        f"{name}, AUC {roc['auc']:.3f},\nn = {roc['within']} + {roc['out']}": [
            (0.0, 0.0),
            *((at["within"], at["out"]) for at in roc["points"]),
        ]
        for name, roc in curves.items()
    }
    halves = [("chosen on", found["chosen"], found["chosen_on"]), ("checked on the other half", found["checked"], found["checked_on"])]
    rows = tuple((half, n, *seen["thresholds"].values(), seen["within"], seen["out"]) for half, seen, n in halves if seen)
    titles = [Column(name.replace("_", " ")) for name in found["chosen"]["thresholds"]]
    columns = (Column("half"), Column("questions"), *titles, Column("sent, within", "%"), Column("sent, out of", "%"))
    note = (
        f"The thresholds that send most out-of-domain questions and at most {found['wanted_within']:.0%} of the others; not the run's own."
    )
    table = Table(f"calibration{suffix}", f"Chosen thresholds{split}", columns, rows, note)
    if not curves:
        return None, table
    caption = (
        f"Each score alone, at every threshold{split}; n: questions within + out of domain that have the score, "
        "for a later step of the gate only those that the earlier ones have let pass."
    )
    svg = plots.curve(points, across="sent to the cloud, within domain", up="sent to the cloud, out of domain")
    return Figure(f"calibration{suffix}", caption, svg), table


def skipped(result: Row) -> Section:
    """What the run left out, and why."""
    rows = [(str(row["what"]), str(row["why"])) for row in result.get("skipped", ())]
    table = Table("skipped", "Left out", (Column("what"), Column("why")), tuple(rows))
    return Section("Left out of this run", "", (), (table,) if rows else ())
