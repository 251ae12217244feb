"""Sections on memory before models (FD-RAG §5): what the fast path answers, and what every threshold of it would have done."""

from __future__ import annotations

from benchmarks.report import plots
from benchmarks.report.tables import Cell, Column, Figure, Row, Section, Table, estimate, sizes
from deploy.evaluation.intervals import Estimate
from deploy.lab.no_model import UNKNOWING

CURVES = {"guarded": "with all guards", "unguarded": "by score alone"}
EXTREMES = {"slow": "always the model", "memory": "always the memory", "oracle": "the memory where it is right"}
NEED_A_MODEL = ("slow", "oracle")
BESIDE = "Each question was answered by the model, and the nearest memory was looked at beside it: so every threshold is seen at once."
ALONE = "The nearest memory to each question was looked at; no model answered the rest, so right of all is what memories alone have right."
ALONG = "least score of a memory that answers"
DRAWN = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # thresholds that have room on an axis
FRONT = (0.7, 0.8, 0.88, 0.92, 0.96)  # thresholds that the front names
TITLE = "Memory before models (FD-RAG §5)"


def fast_path(result: Row) -> Section:
    """What memories answered of each system's questions."""
    rows = result.get("memory", ())
    if not rows:
        return Section(TITLE)
    columns = (
        Column("split"),
        Column("system"),
        Column("answered by memory", "%"),
        Column("right of these", "%"),
        Column("right of the rest", "%"),
        Column("F1 of these", "%"),
        Column("F1 of the rest", "%"),
        Column("model calls a question"),
        Column("memory, median", "s"),
        Column("model, median", "s"),
    )
    note = "Of questions that came back. Right: the words of an accepted answer stand in the answer."
    cells = tuple(_cells(row) for row in rows)
    why = tuple((row["split"], row["system"], reason, count) for row in rows for reason, count in row["why_not"].items())
    reasons = Table(
        "memory-why-not",
        "Why the nearest memory did not answer",
        (Column("split"), Column("system"), Column("why"), Column("questions")),
        why,
    )
    return Section(TITLE, "", (), (Table("memory", "Fast path", columns, cells, note), reasons))


def _cells(row: Row) -> tuple[Cell, ...]:
    fast, slow, routes = row["fast"], row["slow"], row["routes"]
    others = [one for route, one in routes.items() if route != "memory"]
    most = max(others, key=lambda one: one["n"])["p50_s"] if others else None
    quality = (estimate(part.get(name)) for name in ("accuracy", "f1") for part in (fast, slow))
    own = routes["memory"]["p50_s"] if "memory" in routes else None
    return row["split"], row["system"], estimate(row["coverage"]), *quality, estimate(row["calls"]), own, most


def thresholds(result: Row) -> Section:
    """Coverage, precision, quality and calls by threshold, and quality over calls."""
    rows, title = result.get("pareto", ()), "Thresholds of the fast path (FD-RAG §5.3)"
    if not rows:
        return Section(title)
    alone = result["run"].get("models", {}).get("generator") == UNKNOWING
    shown = [row for row in rows if not alone or row["name"] not in NEED_A_MODEL]
    places = list(dict.fromkeys((row["split"], row["system"]) for row in shown))
    groups = {place: [row for row in shown if (row["split"], row["system"]) == place] for place in places}
    drawn = (_curves,) if alone else (_curves, _front)
    figures = tuple(draw(split, system, group) for (split, system), group in groups.items() for draw in drawn)
    return Section(title, ALONE if alone else BESIDE, figures, (_table(shown), *_chosen(result)))


def _curves(split: str, system: str, rows: list[Row]) -> Figure:
    shown = {"coverage": "answered by memory", "fast_accuracy": "right of these", "accuracy": "right of all"}
    panels = []
    for field, title in shown.items():
        series: dict[str, dict[float, plots.Value]] = {}
        for row in rows:
            if row["name"] in CURVES and row["threshold"] in DRAWN and (value := estimate(row[field])):
                series.setdefault(CURVES[row["name"]], {})[row["threshold"]] = value
        marks = {EXTREMES[row["name"]]: row["accuracy"]["mean"] for row in rows if field == "accuracy" and row["name"] in EXTREMES}
        panels.append(plots.Panel(title, "share of questions", series, share=True, marks=marks))
    calls: dict[str, dict[float, plots.Value]] = {}
    for row in (row for row in rows if row["name"] in CURVES and row["threshold"] in DRAWN):
        calls.setdefault(CURVES[row["name"]], {})[row["threshold"]] = Estimate(**row["calls"])
    panels.append(plots.Panel("model calls", "a question", calls))
    caption = f"{system}, split {split}, with 95 % intervals ({sizes(estimate(row['accuracy']) for row in rows)}); dotted: {_named(rows)}."
    return Figure(f"thresholds-{split}-{system}", caption, plots.lines(panels, ALONG))


def _named(rows: list[Row]) -> str:
    return ", ".join(f"{EXTREMES[row['name']]} {row['accuracy']['mean'] * 100:.1f} %" for row in rows if row["name"] in EXTREMES)


def _front(split: str, system: str, rows: list[Row]) -> Figure:
    points = {}
    for row in rows:
        if row["name"] in EXTREMES:
            points[EXTREMES[row["name"]]] = (Estimate(**row["calls"]), Estimate(**row["accuracy"]))
        elif row["name"] == "guarded" and row["threshold"] in FRONT:
            points[f"τ = {row['threshold']:g}"] = (Estimate(**row["calls"]), Estimate(**row["accuracy"]))
    svg = plots.front(points, across="model calls a question", up="right answers")
    return Figure(f"pareto-{split}-{system}", f"Right answers over calls, {system}, split {split}; thresholds with all guards.", svg)


def _table(rows: list[Row]) -> Table:
    measured = ("coverage", "fast_accuracy", "accuracy", "calls", "seconds")
    titles = (
        Column("answered by memory", "%"),
        Column("right of these", "%"),
        Column("right of all", "%"),
        Column("calls"),
        Column("time", "s"),
    )
    columns = (Column("split"), Column("system"), Column("memory answers"), Column("τ"), *titles)
    cells = tuple(
        (row["split"], row["system"], (CURVES | EXTREMES)[row["name"]], row["threshold"], *(estimate(row.get(name)) for name in measured))
        for row in rows
    )
    return Table("pareto", "What each threshold would have done", columns, cells)


def _chosen(result: Row) -> tuple[Table, ...]:
    """The thresholds by kind, where any question was looked at."""
    rows = result.get("thresholds", ())
    columns = (
        Column("kind"),
        Column("least score"),
        Column("hits"),
        Column("precision", "%"),
        Column("hits, checked"),
        Column("checked", "%"),
    )
    cells = []
    for row in rows:
        halves = [row["chosen"], row["checked"] or {"hits": 0, "precision": None}]
        seen = (cell for half in halves for cell in (half["hits"], estimate(half["precision"])))
        cells.append((row["kind"], "never" if row["least"] is None else row["least"], *seen))
    note = "Chosen on the even questions: the lowest score with 20 hits whose precision is surely 80 % (Wilson); checked on the odd ones."
    return (Table("memory-thresholds", "Thresholds by kind of memory", columns, tuple(cells), note),) if rows else ()
