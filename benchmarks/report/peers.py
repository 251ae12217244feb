"""The section on other systems that did the same work in the same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.peers.scores import CHARS_A_TOKEN
from benchmarks.report import plots
from benchmarks.report.tables import Cell, Column, Figure, Row, Section, Table, names
from deploy.evaluation.intervals import Estimate
from shared.intervals import wilson_interval

MB = 1e6
INDEX = {
    "size": Column("corpus, about"),
    "tokens": Column("tokens"),
    "own_cpu_s": Column("own CPU", "s"),
    "later_own_cpu_s": Column("afterwards, own CPU", "s"),
    "calls": Column("model calls"),
    "prompt_tokens": Column("tokens in"),
    "completion_tokens": Column("tokens out"),
    "texts_embedded": Column("texts embedded"),
    "embed_cpu_s": Column("embedder, CPU", "s"),
    "disk_bytes": Column("disk", "MB"),
    "rss_mb": Column("peak memory", "MB"),
    "entities": Column("entities"),
    "relations": Column("relations"),
}
USE = {
    "size": Column("index, about"),
    "open_own_cpu_s": Column("open, own CPU", "s"),
    "ask_own_cpu_p50_ms": Column("retrieve, own CPU p50", "ms"),
    "ask_own_cpu_p95_ms": Column("retrieve, own CPU p95", "ms"),
    "ask_wall_p50_ms": Column("retrieve, wall p50", "ms"),
    "context_chars": Column("context, characters"),
    "new_tokens": Column("one more document, tokens"),
    "add_own_cpu_s": Column("own CPU", "s"),
    "add_later_own_cpu_s": Column("afterwards, own CPU", "s"),
    "add_calls": Column("model calls"),
    "add_prompt_tokens": Column("tokens in"),
    "add_embed_cpu_s": Column("embedder, CPU", "s"),
    "entities": Column("entities then"),
}
QUALITY = {
    "set": Column("set"),
    "budget": Column("context asked for, tokens"),
    "coverage": Column("coverage", "%"),
    "gold_recall": Column("needed documents", "%"),
    "context_chars": Column("of it, characters judged"),
}
EQUAL = (
    "Coverage: the answer stands in the context. Each system fills the budget by its own count of tokens;"
    f" of all contexts the same number of characters is judged, the first {CHARS_A_TOKEN} for each token of the budget."
    " What a peer's model would write (descriptions, reports) is stand-in text, and takes its part of that peer's budget as the real would."
    " Chunks alone: the peer's naive mode on the same index, which has no such text."
)
OWN_CPU = (
    "Own CPU: of the system’s process, without that of asking the model server. Wall: all of it, the model server’s reply included. "
    "The entities of “dgrag” come from the model server, and finding them is not in its own CPU; peers get theirs in replies of the model, "
    "and parsing these is in theirs. “dgrag-spacy” finds them itself, as the product does, and all of that is in its own CPU."
)


def peers(result: Row) -> Section:
    """Other systems on the same corpus, with the same model server and embedder. Goals stand with the run's others."""
    rows = [row for row in result["peers"] if "error" not in row]
    scores = [_scored(row, one) for row in rows if row["step"] == "quality" for one in row["quality"]]
    tables = [
        _table("index", "Indexing", [row for row in rows if row["step"] == "index"], INDEX, OWN_CPU),
        _table("use", "Opening, retrieving, one more document", [row for row in rows if row["step"] == "use"], USE, OWN_CPU),
        _table("quality", "What retrieval returns at an equal budget", scores, QUALITY, EQUAL),
    ]
    failed = tuple((row["system"], row["step"], row.get("size"), row["error"]) for row in result["peers"] if "error" in row)
    columns = (Column("system"), Column("step"), Column("size"), Column("why"))
    tables += [Table("peers-failed", "Peers: not measured", columns, failed)] if failed else []
    shown = tuple(table for table in tables if table.rows)
    text = "Ratios within this run hold; absolute times are this machine’s. The model server answers at once, so model time is not in it."
    return Section("Peers in the same run", text if shown else "", _growth([row for row in rows if row["step"] == "index"]), shown)


def _scored(row: Row, one: Row) -> Row:
    """What a system found for the questions of a set within one budget; the share of questions covered with Wilson's interval."""
    system = f"{row['system']}, chunks alone" if one.get("chunks_alone") else str(row["system"])
    n, coverage = int(row["questions"]), float(one["coverage"])
    return {**row, **one, "system": system, "coverage": Estimate(coverage, *wilson_interval(coverage, n), n)}


def _table(step: str, title: str, rows: Sequence[Row], columns: Mapping[str, Column], note: str) -> Table:
    shown = [name for name in columns if any(name in row for row in rows)]
    cells = tuple((row["system"], *(_cell(name, row.get(name)) for name in shown)) for row in rows)
    return Table(f"peers-{step}", f"Peers: {title.lower()}", (Column("system"), *(columns[name] for name in shown)), cells, note)


def _cell(name: str, value: Any) -> Cell:
    """A number; counts by kind of call are added up."""
    if isinstance(value, Mapping):
        return int(sum(value.values()))
    found: Cell = value / MB if name == "disk_bytes" and value is not None else value
    return found


def _growth(rows: Sequence[Row]) -> tuple[Figure, ...]:
    sizes = names(rows, "size")
    panels = [
        plots.Panel(
            f"indexing about {int(size):,} tokens",
            "",
            {"": {row["system"]: row["own_cpu_s"] + row.get("later_own_cpu_s", 0.0) for row in rows if str(row["size"]) == size}},
        )
        for size in sizes
    ]
    if not panels:
        return ()
    panels[-1] = plots.Panel(panels[-1].title, "own CPU seconds", panels[-1].series)
    return (Figure("peers", "CPU seconds to index, one run each; not a sample, so no interval.", plots.bars(panels)),)
