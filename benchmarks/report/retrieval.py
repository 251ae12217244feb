"""Sections on what is found: summary matching (DGRAG Fig. 10), thresholds (Fig. 11), multi-hop retrieval against its floors."""

from __future__ import annotations

import re

from benchmarks.report import plots
from benchmarks.report.tables import (
    FAILURES,
    SCENARIOS,
    Cell,
    Column,
    Figure,
    Row,
    Section,
    Table,
    estimate,
    failures,
    names,
    set_of,
    sizes,
    splits_of,
)
from deploy.evaluation.intervals import Estimate

RATES = {"hit": "hit", "any_mismatch": "any mismatch", "right_share": "matches of the right edge"}
WAYS = {False: "as the cloud does it", True: "by cosine alone"}  # by whether it is plain
RANKED = ("recall@2", "recall@5", "recall@10", "all@8", "coverage")
THRESHOLD = re.compile(r"(?P<system>.+):(?P<what>match|evidence)=(?P<value>[\d.]+)")
THRESHOLDS = {"match": "summary matching", "evidence": "global retrieval"}
FOUND_AT = {  # what it costs, and whom it was asked of
    "owners_asked": Column("needed, of an edge that was asked", "%"),
    "edges_asked": Column("edges asked"),
    "context_tokens": Column("context tokens"),
    "ms": Column("time", "ms"),
}
LIMIT_OF_DOTS = 8  # systems that one plot can tell apart


def routing(result: Row) -> Section:
    """How often summary matching leads to the right edge, by m and by the size of subgraphs."""
    rows = result["routing"]
    timed = any("ms" in row for row in rows)
    columns = (
        Column("split"),
        Column("entities a subgraph"),
        Column("m"),
        Column("matched"),
        *(Column(title, "%") for title in RATES.values()),
        *((Column("time", "ms"),) if timed else ()),
    )
    shown = (*RATES, "ms") if timed else tuple(RATES)
    cells = tuple(
        (row["split"], row["subgraph_entities"], row["m"], WAYS[bool(row.get("plain"))], *(estimate(row[name]) for name in shown))
        for row in rows
    )
    note = (
        "Hit: one of the m best summaries is of the right edge. Any mismatch: one of them is not, so it grows with m by its definition. "
        "Neither way has a threshold. As the cloud does it, only edges that lead by cosine and words match (at m = 1 the first of them), "
        "and one edge has at most so many of the m; by cosine alone, as the paper's, there is neither. "
    ) + ("Time is that of one call over loopback, with the question's embedding." if timed else "")
    tables = (Table("routing", "Summary matching", columns, cells, note),) if rows else ()
    figures = tuple(_routing(result, split) for split in names(rows, "split"))
    text = "The paper draws its curves without numbers; it chose 40 entities a subgraph." if rows else ""
    return Section("Which edge has the answer: summary matching (DGRAG Fig. 10)", text, figures, tables)


def _routing(result: Row, split: str) -> Figure:
    rows = [row for row in result["routing"] if row["split"] == split and not row.get("plain")]
    by_size = len({row["subgraph_entities"] for row in rows}) > 1
    along, series = ("subgraph_entities", "m") if by_size else ("m", "subgraph_entities")
    panels = []
    for name in ("hit", "any_mismatch"):
        found: dict[str, dict[float, plots.Value]] = {}
        for row in rows:
            label = f"m = {row['m']}" if by_size else f"{row[series]} entities a subgraph"
            found.setdefault(label, {})[row[along]] = Estimate(**row[name])
        panels.append(plots.Panel(RATES[name], "share of questions", found, share=True))
    ratios: dict[float, plots.Value] = {
        row["subgraph_entities"]: row["ratio"] for row in result["storage"] if row["split"] == split and "subgraph_entities" in row
    }
    if by_size:
        times: dict[float, plots.Value] = {row[along]: Estimate(**row["ms"]) for row in rows if "ms" in row}
        panels += [plots.Panel("time of one matching, whatever m", "ms", {"time": times})] if times else []
    if by_size and ratios:
        panels.append(plots.Panel("cloud storage", "times below centralised", {"ratio": ratios}))
    caption = f"Summary matching, split {split}, with 95 % intervals ({sizes(estimate(row['hit']) for row in rows)})."
    return Figure(f"routing-{split}", caption, plots.lines(panels, "entities a subgraph" if by_size else "m"))


def thresholds(result: Row) -> Section:
    """Recall of answers by the thresholds of summary matching and of global retrieval: systems named ``NAME:match=0.4``."""
    panels: dict[str, dict[str, dict[float, plots.Value]]] = {}
    cells = []
    for row in result["systems"]:
        value = estimate(row["metrics"].get("rouge_l_recall"))
        if (parts := THRESHOLD.fullmatch(row["system"])) and value:
            label = f"{parts['system']}, {row['split']}, {SCENARIOS[row['scenario']]}"
            panels.setdefault(parts["what"], {}).setdefault(label, {})[float(parts["value"])] = value
            read = estimate(row["metrics"].get("cloud_tokens_in"))
            cells.append((THRESHOLDS[parts["what"]], float(parts["value"]), label, value, read))
    if not cells:
        return Section("Thresholds (DGRAG Fig. 11)")
    drawn = [plots.Panel(THRESHOLDS[what], "ROUGE-L recall", series, share=True) for what, series in panels.items()]
    columns = (Column("threshold of"), Column("cosine"), Column("asked"), Column("ROUGE-L recall", "%"), Column("cloud tokens in"))
    caption = f"Recall by threshold, 95 % bootstrap intervals ({sizes(value for *_, value, _ in cells)}). The paper chose 0.4 for both."
    figure = Figure("thresholds", caption, plots.lines(drawn, "cosine"))
    table = Table("thresholds", "Recall by threshold", columns, tuple(cells), "Above its threshold a summary, or a passage, is considered.")
    return Section("Thresholds (DGRAG Fig. 11)", "", (figure,), (table,))


def multi_hop(result: Row, reference: Row) -> Section:
    """What retrieval finds without any model, against plain retrieval on the same files."""
    rows, floors = result["retrieval"], reference["floors"]
    tables = tuple(_found(result, split, floors) for split in names(rows, "split"))
    text = f"No language model. Floors: {floors['source']}." if rows else ""
    figures = tuple(figure for split in names(rows, "split") if (figure := _found_dots(result, split, floors)))
    return Section("Retrieval for multi-hop questions", text, figures, tables)


def _floors_of(result: Row, split: str, floors: Row) -> Row:
    """The floors of a split's set, which are of the whole set and nothing else: none for a part of it, or for it among others."""
    one = next((one for one in splits_of(result) if one.get("name") == split), {})
    is_whole = one.get("documents", -1) == one.get("asked", -1) == -1 and not one.get("among") and not result["run"].get("limit")
    found: Row = floors.get(set_of(result, split), {}) if is_whole else {}
    return found


def _found(result: Row, split: str, floors: Row) -> Table:
    rows = [row for row in result["retrieval"] if row["split"] == split]
    shown = [name for name in RANKED if any(name in row for row in rows)]
    costs = [name for name in FOUND_AT if any(name in row for row in rows)]
    shares = {
        row["system"]: estimate(row["share"])
        for row in result.get("retrieval_ratios", ())
        if (row["split"], row["measure"]) == (split, "recall@10")
    }
    cells: list[tuple[Cell, ...]] = [
        (
            row["system"],
            asker(row["system"]),
            *(estimate(row.get(name)) for name in shown),
            shares.get(row["system"]),
            *(estimate(row.get(name)) for name in costs),
            *failures(row),
        )
        for row in rows
    ]
    for name, floor in _floors_of(result, split, floors).items():
        cells.append((name + plots.FLOOR, "", *(floor.get(measure) for measure in shown), *(None for _ in (0, *costs, *FAILURES))))
    share = Column("recall@10 of centralised’s", "%")
    columns = (
        Column("system"),
        Column("who asks"),
        *(Column(name, "%") for name in shown),
        share,
        *(FOUND_AT[name] for name in costs),
        *FAILURES,
    )
    note = (
        "Recall@k: share of a question's needed documents among the first k. Coverage: an accepted answer stands in the context. "
        "The share of centralised’s is over the same questions, its interval a paired bootstrap. The home of a question is the client "
        "that has its first needed document, which helps (of a set that names none, one in turn); an operator has no documents."
    )
    return Table(f"retrieval-{split}", f"Retrieval, split {split}", columns, tuple(cells), note)


def asker(system: str) -> str:
    """Return who asks, by a retrieval's name.

    >>> asker("federated"), asker("federated-operator"), asker("centralized:dense")
    ('home', 'operator', 'the one index')
    """
    place = system.partition(":")[0]
    return {"centralized": "the one index", "federated-operator": "operator"}.get(place, "home")


def _found_dots(result: Row, split: str, floors: Row) -> Figure | None:
    rows = [row for row in result["retrieval"] if row["split"] == split][:LIMIT_OF_DOTS]
    series: dict[str, dict[str, plots.Value]] = {}
    for row in rows:
        series[row["system"]] = {name: found for name in RANKED if (found := estimate(row.get(name)))}
    for name, floor in _floors_of(result, split, floors).items():
        series[name + plots.FLOOR] = {measure: floor[measure] for measure in RANKED if measure in floor}
    series = {label: points for label, points in series.items() if points}
    if not series:
        return None
    counts = sizes(found for row in rows for name in RANKED if (found := estimate(row.get(name))))
    caption = f"Split {split}: 95 % intervals ({counts}); floors are plain retrieval in one index."
    return Figure(f"retrieval-{split}", caption, plots.dots([plots.Panel(f"Retrieval, {split}", "", series, share=True)]))
