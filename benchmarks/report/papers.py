"""What each paper's headline figure shows, drawn of our results: the plots of docs/results.md.

Each takes the results that its mark in the text names, in that order, and returns an SVG. What the report draws anyway is taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from benchmarks.errors import BenchmarkError
from benchmarks.report import plots
from benchmarks.report.prices import quality_over_price
from benchmarks.report.retrieval import routing
from benchmarks.report.tables import Row, Section, estimate, names
from benchmarks.report.timing import shown
from deploy.evaluation.intervals import Estimate

PAPER = "the paper"
SETS = {
    "musique": "MuSiQue",
    "hotpotqa": "HotpotQA",
    "2wikimultihopqa": "2WikiMultihopQA",
    "multihop_rag": "MultiHop-RAG (news)",
    "podcast": "Podcasts",
}
MATCHED = (1, 5)  # the paper's m: one edge in the domain split, five in the mixed one
LENGTHS = {"plain_share": "without a model", "full_share_at_most": "at the paper’s bounds"}  # of a level's reports, by field
SOURCES = {"graphrag-c0": "C0", "graphrag-c2": "C2", "graphrag-ts": "TS: the texts", "graphrag-ss": "SS: searched passages"}
KETRAG_SET = "ketrag-musique"
AS_PAPER = "keywords=words,weights=plain,order=cosine,fill=false"
DEFAULT_SHARE = 0.8  # the run's own share of core chunks, KET-RAG's beta
CORE = {  # a variant's name -> shares of the passages that a language model would read for it
    "KET-RAG-P": {0.2: "ket-p,beta=0.2", 0.4: "ket-p,beta=0.4", DEFAULT_SHARE: "ket-p", 1.0: "ket-p,beta=1"},
    "Skeleton-RAG": {DEFAULT_SHARE: "skeleton"},
    "Keyword-RAG": {0.0: "keyword"},
}
FAST = {"coverage": "answered by memory", "fast_accuracy": "right of these", "accuracy": "right of all"}
SHOWN = (0.5, 0.6, 0.7, 0.8, 0.9)  # least scores; none is higher
MILLION = 1e6


def quality_for_tokens(results: Sequence[Row]) -> bytes:
    """DGRAG's question: recall of the references over what the cloud's model reads."""
    return _first(quality_over_price(*results))


def subgraph_sizes(results: Sequence[Row]) -> bytes:
    """DGRAG Fig. 10: hits, mismatches, time and storage by how many entities a subgraph has."""
    result = shown(*results)
    return _first(routing({**result, "routing": [row for row in result["routing"] if row["m"] in MATCHED]}))


def _first(section: Section) -> bytes:
    if not section.figures:
        raise BenchmarkError(f"the result has nothing to draw of “{section.title}”", next_step="run the whole of its configuration")
    return section.figures[0].svg


def report_levels(results: Sequence[Row]) -> bytes:
    """GraphRAG Table 3: how long the reports of each level are, against the texts."""
    (result,) = results
    panels = []
    for name, one in result["sets"].items():
        series: dict[str, dict[float, plots.Value]] = {
            label: {level["level"]: level[field] for level in one["levels"]} for field, label in LENGTHS.items()
        }
        series[PAPER] = {level["level"]: level["paper"]["share"] for level in one["levels"]}
        panels.append(plots.Panel(SETS[name], "share of the texts’ tokens", series, share=True, scale="texts"))
    return plots.lines(panels, "level of the communities (0 is the coarsest)")


def levels_for_tokens(results: Sequence[Row]) -> bytes:
    """GraphRAG §3.6: answers over what the model reads for a question, by what is summarised."""
    (result,) = results
    known = [(SOURCES[row["system"]], row["metrics"]) for row in result["systems"] if row["system"] in SOURCES]
    points = {
        label: (read, answered)
        for label, metrics in known
        if (read := estimate(metrics["edge_tokens_in"])) and (answered := estimate(metrics["answered"]))
    }
    return plots.front(points, across="tokens that the model reads for a question", up="questions answered")


def core_shares(results: Sequence[Row]) -> bytes:
    """KET-RAG Fig. 3: Coverage by the share of passages whose entities a language model would find."""
    (result,) = results
    found = {row["system"]: Estimate(**row["coverage"]) for row in result["retrieval"] if row["split"] == KETRAG_SET}
    panels = []
    for title, suffix in (("as in the paper", f",{AS_PAPER}"), ("the default here", "")):
        series: dict[str, dict[float, plots.Value]] = {
            name: {share: value for share, one in shares.items() if (value := found.get(f"centralized:variant={one}{suffix}"))}
            for name, shares in CORE.items()
        }
        series["DGRAG’s walk"] = {1.0: found["centralized:strategy=dgrag"]}
        marks = {"floor": found[f"centralized:variant=text{suffix}"].mean}
        panels.append(plots.Panel(title, "Coverage", series, share=True, marks=marks, scale="Coverage"))
    return plots.lines(panels, "share of the passages that a language model would read (β)")


def growth(results: Sequence[Row]) -> bytes:
    """EraRAG Fig. 2 and 4: tokens read and written in all while the corpus grows; of each set first the default, then Alg. 3."""
    panels = []
    for lazy, always in zip(results[::2], results[1::2], strict=True):
        series = {
            "the whole tree built anew": _summed([step["rebuild"] for step in lazy["steps"]], lazy),
            "touched segments always written again": _summed(always["steps"], always),
            "only where a fifth is new (default)": _summed(lazy["steps"], lazy),
        }
        panels.append(plots.Panel(SETS[lazy["set"]], "million tokens in all", series))
    return plots.lines(panels, "documents")


def _summed(costs: Sequence[Row], result: Row) -> dict[float, plots.Value]:
    sums = accumulate((cost["tokens_in"] + cost["tokens_out"]) / MILLION for cost in costs)
    return dict(zip((step["documents"] for step in result["steps"]), sums, strict=True))


def fast_path(results: Sequence[Row]) -> bytes:
    """FD-RAG §5.3: what memories would answer by score alone, how much of it rightly, and what is left to the model, by the least score."""
    (result,) = results
    rows = [row for row in result["pareto"] if row["name"] == "unguarded" and row["threshold"] in SHOWN]
    panels = [plots.Panel(title, "share of questions", _by_set(rows, field), share=True) for field, title in FAST.items()]
    panels.append(plots.Panel("model calls", "a question", _by_set(rows, "calls")))
    return plots.lines(panels, "least score of a memory that answers (τ)")


def _by_set(rows: Sequence[Row], field: str) -> dict[str, dict[float, plots.Value]]:
    return {
        SETS[split]: {row["threshold"]: value for row in rows if row["split"] == split and (value := estimate(row[field]))}
        for split in names(rows, "split")
    }


HEADLINES: Mapping[str, Callable[[Sequence[Row]], bytes]] = {
    "dgrag-tokens": quality_for_tokens,
    "dgrag-subgraphs": subgraph_sizes,
    "graphrag-levels": report_levels,
    "graphrag-tokens": levels_for_tokens,
    "ketrag-core": core_shares,
    "erarag-growth": growth,
    "fdrag-memory": fast_path,
}
