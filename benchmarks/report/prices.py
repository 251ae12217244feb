"""Sections on what answers cost: who is sent to the cloud (DGRAG Fig. 6), time (Fig. 8 and 9), tokens, storage, and quality over price."""

from __future__ import annotations

from benchmarks.costs import LINK_MBIT
from benchmarks.report import plots
from benchmarks.report.tables import SCENARIOS, Column, Figure, Row, Section, Table, estimate, kind_of, names, sizes
from shared.telemetry.trace import COMPONENTS, TRANSFERS

COSTS = {
    "seconds": Column("seconds a question", "s"),
    "cloud_tokens_in": Column("cloud tokens in"),
    "edge_tokens_in": Column("edge tokens in"),
    "tokens_out": Column("tokens out"),
    "calls": Column("model calls"),
    "bytes_up": Column("bytes to the cloud"),
    "bytes_down": Column("bytes back"),
}
WITHIN_RETRIEVAL = ("request send", "knowledge send")  # transfers that the time of global retrieval has in it where there was a link
MB = 1e6
GATED = "dgrag"


def escalation(result: Row, reference: Row) -> Section:
    """Who was sent on to the cloud."""
    rows = [row for row in result["systems"] if is_gated(row) and row["scenario"] != "all"]
    columns = (Column("split"), Column("asked"), Column("system"), Column("sent to the cloud", "%"), Column("paper", "%"))
    cells = tuple(
        (
            row["split"],
            SCENARIOS[row["scenario"]],
            row["system"],
            estimate(row["metrics"]["escalated"]),
            paper_escalated(row, reference["paper"]),
        )
        for row in rows
    )
    tables = (
        (Table("escalation", "Sent to the cloud", columns, cells, "The gate's decision, on all questions that the system was asked."),)
        if rows
        else ()
    )
    figures = tuple(_escalated([row for row in rows if row["split"] == split], split, reference["paper"]) for split in names(rows, "split"))
    return Section("Sent to the cloud, or answered at home (DGRAG Fig. 6)", "", figures, tables)


def paper_escalated(row: Row, paper: Row) -> float | None:
    """The paper's share of escalated questions; None where it gives none."""
    found: float | None = paper["escalated"].get(row["scenario"]) if row["system"] == GATED else None
    return found


def is_gated(row: Row) -> bool:
    """Whether a row of "systems" is of a system with a gate, one that answered at all."""
    return str(row["system"]).startswith(GATED) and "escalated" in row["metrics"]


def _escalated(rows: list[Row], split: str, paper: Row) -> Figure:
    sent: dict[str, plots.Value] = {}
    for row in rows:
        share = row["metrics"]["escalated"]
        sent[f"{row['system']}, {SCENARIOS[row['scenario']]} (n = {share['n']})"] = share["mean"]
        if (theirs := paper_escalated(row, paper)) is not None:
            sent[f"paper, {SCENARIOS[row['scenario']]}"] = theirs
    home: dict[str, plots.Value] = {label: 1 - plots.mean(share) for label, share in sent.items()}
    panel = plots.Panel("", "share of questions", {"answered at the edge": home, "sent to the cloud": sent}, share=True)
    return Figure(f"escalation-{split}", f"Where questions were answered, split {split}.", plots.stacked(panel))


def costs(result: Row, reference: Row) -> Section:
    """Time, tokens, calls and bytes of a question."""
    rows = [row for row in result["systems"] if row["scenario"] != "all" and COSTS.keys() & row["metrics"].keys()]
    tables = [_costs([row for row in rows if row["split"] == split], split) for split in names(rows, "split")]
    tables += [_tokens(result, reference["paper"])] if result["tokens"] else []
    timed = [row for row in rows if "seconds" in row["metrics"]]
    figures = tuple(_seconds([row for row in timed if row["split"] == split], split) for split in names(timed, "split"))
    return Section("Time and tokens of a question (DGRAG Fig. 8, §IV-D)", "", figures, tuple(tables))


def _costs(rows: list[Row], split: str) -> Table:
    known = [name for name in COSTS if any(name in row["metrics"] for row in rows)]
    cells = [(SCENARIOS[row["scenario"]], row["system"], *(estimate(row["metrics"].get(name)) for name in known)) for row in rows]
    note = (
        "Means for one question, of those that all systems were asked at the same edge. "
        "All that the centralised system's model reads counts as the cloud's."
    )
    columns = (Column("asked"), Column("system"), *(COSTS[name] for name in known))
    return Table(f"costs-{split}", f"Cost of a question, split {split}", columns, tuple(cells), note)


def _seconds(rows: list[Row], split: str) -> Figure:
    panels = []
    for scenario in names(rows, "scenario"):
        values = {row["system"]: found for row in rows if row["scenario"] == scenario and (found := estimate(row["metrics"]["seconds"]))}
        panels.append(plots.Panel(f"asked {SCENARIOS[scenario]}", "", {"": values}))
    panels[-1] = plots.Panel(panels[-1].title, "seconds a question", panels[-1].series)
    known = sizes(estimate(row["metrics"]["seconds"]) for row in rows)
    caption = f"Wall time of a question, split {split}, with 95 % bootstrap intervals ({known})."
    return Figure(f"seconds-{split}", caption, plots.bars(panels))


def _tokens(result: Row, paper: Row) -> Table:
    said = paper["cloud_tokens_share_of_centralised"]
    cells = []
    for row in result["tokens"]:
        compared = row["system"] == GATED and row["scenario"] in {"all", "mixed"}
        theirs = said.get(kind_of(result, row["split"])) if compared else None
        share = estimate(row["cloud_tokens_share_of_centralised"])
        cells.append((row["split"], SCENARIOS[row["scenario"]], row["system"], share, theirs))
    columns = (Column("split"), Column("asked"), Column("system"), Column("share of centralised", "%"), Column("paper", "%"))
    return Table("tokens", "Input tokens of the cloud's model, against centralised", columns, tuple(cells), "Sums over the same questions.")


def components(result: Row) -> Section:
    """Where the gated system's time goes, for answers of the edge and of the cloud."""
    rows = [row for row in result["components"] if row["system"] == GATED]
    columns = (Column("split"), Column("answered by"), Column("component"), Column("time", "ms"), Column("tokens in"), Column("bytes"))
    cells = tuple(
        (row["split"], row["route"], row["step"], *(estimate(row[name]) for name in ("ms", "tokens_in", "bytes"))) for row in rows
    )
    text = f"{_transfers(result['run'].get('link'))} The paper's figure carries no numbers."
    tables = (Table("components", "Components of dgrag", columns, cells, "Means over the answers that had the component."),) if rows else ()
    timed = WITHIN_RETRIEVAL if result["run"].get("link") else ()
    drawn = [row for row in rows if row["step"] not in timed]
    figures = tuple(_components([row for row in drawn if row["split"] == split], split) for split in names(drawn, "split"))
    return Section("Time by component (DGRAG Fig. 9)", text if rows else "", figures, tables)


def _transfers(link: Row | None) -> str:
    """Say what a transfer's time is.

    >>> _transfers(None)
    "A transfer's time is its bytes at 50 Mbit/s, the paper's link: computed, not measured."
    """
    if link is None:
        return f"A transfer's time is its bytes at {LINK_MBIT:g} Mbit/s, the paper's link: computed, not measured."
    return (
        f"Edges and cloud spoke over links of {link['mbit']:g} Mbit/s with {link['delay_ms']:g} ms each way: the time of global retrieval "
        "is measured with its transfers (request and knowledge, not drawn on top). The rows of transfers are bytes at that rate, computed."
    )


def links(result: Row) -> Section:
    """What passed between each edge and the cloud, all of it: answers, summaries, signs of life."""
    rows, link = result.get("link", ()), result["run"].get("link") or {}
    cells = tuple((row["state"], row["edge"], row["up"], row["down"]) for row in rows)
    columns = (Column("state"), Column("edge"), Column("bytes to the cloud"), Column("bytes back"))
    counted = "packets, with all headers of IP" if "loss" in link else "the streams: payload of TCP, without the headers of packets"
    note = f"One row an edge and start of the services, counted on {counted}."
    table = Table("links", "Carried over the links", columns, cells, note)
    loss = f" and a loss of {link['loss']:.1%}" if link.get("loss") else ""
    text = f"Links of {link['mbit']:g} Mbit/s with {link['delay_ms']:g} ms each way{loss}." if link else ""
    return Section("Links between edges and cloud", text, (), (table,) if cells else ())


def _components(rows: list[Row], split: str) -> Figure:
    most: dict[str, int] = {}
    for row in rows:
        most[row["route"]] = max(most.get(row["route"], 0), _answers(row))
    series: dict[str, dict[str, plots.Value]] = {}
    for step in COMPONENTS:
        series[step] = {_route(row, most): _seconds_an_answer(row, most) for row in rows if row["step"] == step}
    series["transfers"] = {}
    for row in (row for row in rows if row["step"] in TRANSFERS):
        series["transfers"][_route(row, most)] = plots.mean(series["transfers"].get(_route(row, most), 0.0)) + _seconds_an_answer(row, most)
    panel = plots.Panel("", "seconds an answer", {step: parts for step, parts in series.items() if parts})
    return Figure(f"components-{split}", f"Mean seconds of dgrag's components, split {split}.", plots.stacked(panel))


def _route(row: Row, most: dict[str, int]) -> str:
    return f"{row['route']} (n = {most[row['route']]})"


def _answers(row: Row) -> int:
    """How many answers had a component; a result of before counts them as its sample."""
    return int(row.get("answers", row["ms"]["n"]))


def _seconds_an_answer(row: Row, most: dict[str, int]) -> float:
    share: float = _answers(row) / most[row["route"]]  # not every answer has every component
    return float(row["ms"]["mean"]) / 1000 * share


def storage(result: Row, reference: Row) -> Section:
    """What the cloud keeps, against what one central index would."""
    rows, said = result["storage"], reference["paper"]["storage_ratio"]
    cells = tuple(
        (
            row["split"],
            row.get("subgraph_entities"),
            row["cloud_bytes"] / MB,
            row["centralised_bytes"] / MB,
            row["ratio"],
            said.get(kind_of(result, row["split"])),
        )
        for row in rows
    )
    measured = (Column("cloud", "MB"), Column("centralised", "MB"), Column("smaller by", "×"), Column("paper", "×"))
    columns = (Column("split"), Column("entities a subgraph"), *measured)
    note = " ".join(["Bytes on disk; one count, no sample.", *names(rows, "what")])
    return Section(
        "Cloud storage (DGRAG §IV-D2)",
        "",
        (),
        (Table("storage", "Cloud storage against centralised", columns, cells, note),) if cells else (),
    )


def quality_over_price(result: Row) -> Section:
    """Recall over cloud tokens: what the gate buys, against always staying and always asking."""
    figures = []
    for split in names(result["systems"], "split"):
        rows = [row for row in result["systems"] if row["split"] == split]
        scenario = "all" if any(row["scenario"] == "all" for row in rows) else str(rows[0]["scenario"])
        points = {}
        for row in (row for row in rows if row["scenario"] == scenario):
            price, recall = estimate(row["metrics"].get("cloud_tokens_in")), estimate(row["metrics"].get("rouge_l_recall"))
            if price and recall:
                points[str(row["system"])] = (price, recall)
        if len(points) > 1:
            svg = plots.front(points, across="cloud tokens in, a question", up="ROUGE-L recall")
            known = sizes(recall for _, recall in points.values())
            caption = f"Split {split}, asked: {SCENARIOS[scenario]}, {known}. The dashed line joins those that no other beats on both."
            figures.append(Figure(f"front-{split}", caption, svg))
    return Section("Quality against cloud tokens: what the gate buys", "", tuple(figures))
