"""From what a run wrote down to its result: means with intervals by split, scenario and system. Figures only, no text of the data.

An answer that failed counts as an empty one in the metrics of quality, and is left out of time, tokens and bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np

from benchmarks.calibration import calibrate, signals_of
from benchmarks.costs import by_component, costs
from benchmarks.metrics.bootstrap import bootstrap
from benchmarks.metrics.retrieval import all_at, recall_at
from benchmarks.metrics.routing import any_mismatch, hit, right_share
from benchmarks.metrics.text import accuracy, exact_match, f1, rouge_l_recall
from benchmarks.metrics.wins import wins
from benchmarks.records import AnswerRow, Estimate, Judgement

Row: TypeAlias = Mapping[str, Any]
BertScore: TypeAlias = Callable[[Sequence[str], Sequence[str]], Sequence[float]]  # answers, references -> recall of each

CLOUD_PAYS = frozenset({"centralized"})  # systems whose whole work is the cloud's
PASSED_ON = ("index", "storage", "peers")  # stages whose rows are figures already
KS = 2, 5, 10
GATED = "dgrag"  # what the others are compared with
GATES = ("gate-signals", GATED)  # whose scores a calibration reads, the first that there is: the one that takes all of them
ALL = "all"  # a split's scenarios together


def summarise(
    rows: Mapping[str, Sequence[Row]],
    provenance: Row,
    *,
    gold: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    bertscore: BertScore | None = None,
) -> dict[str, Any]:
    """Return a run's result.

    ``rows`` are the journal's by stage, ``provenance`` becomes "run", ``gold`` has by split and question the documents that are needed,
    and ``bertscore`` scores all answers at once. Stages that the run had not are empty lists.
    """
    seed = int(provenance.get("seed", 0))
    answers = scored(rows.get("answers", ()), bertscore)
    grouped = by(answers, "split", "scenario", "system") | {
        (split, ALL, system): group
        for (split, system), group in by(answers, "split", "system").items()
        if len({row["scenario"] for row in group}) > 1
    }
    return {
        "run": dict(provenance),
        **{stage: [dict(row) for row in rows.get(stage, ())] for stage in PASSED_ON},
        "routing": _routing(rows.get("routing", ()), seed),
        "systems": [_system(split, scenario, system, group, seed) for (split, scenario, system), group in grouped.items()],
        "differences": _differences(grouped, seed),
        "tokens": _tokens(grouped, seed),
        "components": _components(answers, seed),
        "wins": wins([Judgement(**row) for row in rows.get("judging", ())], seed=seed),
        "retrieval": _retrieval(rows.get("retrieval", ()), gold or {}, seed),
        "calibration": _calibration(rows.get("answers", ())),
        "skipped": [dict(row) for row in rows.get("skipped", ())],
    }


# ------------------------------------------------------------ answers


def scored(answers: Sequence[Row], bertscore: BertScore | None = None) -> list[dict[str, Any]]:
    """Return each answer's row with its ``values``: metric -> number; a metric that does not apply to it is left out."""
    found = [{**row, "values": measured(row)} for row in answers]
    if bertscore and (known := [row for row in found if row["references"]]):
        scores = bertscore([row["answer"] for row in known], [row["references"][0] for row in known])
        for row, score in zip(known, scores, strict=True):
            row["values"]["bertscore_recall"] = 0.0 if row["error"] else float(score)
    return found


def measured(answer: Row) -> dict[str, float]:
    """Return the metrics of one answer. Quality needs a reference; costs need an answer that came."""
    text = "" if answer["error"] else answer["answer"]
    quality = {"answered": float(answer["answered"] and not answer["error"])}
    if references := answer["references"]:
        quality |= {
            "rouge_l_recall": rouge_l_recall(text, references[0]),
            "em": exact_match(text, references),
            "f1": f1(text, references),
            "accuracy": accuracy(text, references),
        }
    return quality if answer["error"] else quality | costs(answer, cloud_pays=answer["system"] in CLOUD_PAYS)


def _system(split: str, scenario: str, system: str, group: Sequence[Row], seed: int) -> dict[str, Any]:
    names = dict.fromkeys(name for row in group for name in row["values"])
    metrics = {name: estimate([row["values"][name] for row in group if name in row["values"]], seed) for name in names}
    return {
        "split": split,
        "scenario": scenario,
        "system": system,
        "errors": sum(1 for row in group if row["error"]),
        "metrics": metrics,
    }


def pairs(ours: Iterable[Row], theirs: Iterable[Row], metric: str) -> list[tuple[float, float]]:
    """Return a metric's values of two systems for each question that both were asked at the same edge."""
    known = {_asked(row): row["values"][metric] for row in theirs if metric in row["values"]}
    return [(row["values"][metric], known[_asked(row)]) for row in ours if metric in row["values"] and _asked(row) in known]


def _asked(row: Row) -> tuple[str, str, str, str]:
    return row["split"], row["scenario"], row["question_id"], row["edge"]


def _differences(grouped: Mapping[tuple[Any, ...], Sequence[Row]], seed: int) -> list[dict[str, Any]]:
    """The gated system's quality less each other one's, on the same questions."""
    found = []
    for (split, scenario, against), theirs in grouped.items():
        ours = grouped.get((split, scenario, GATED), ())
        for metric in ("rouge_l_recall", "bertscore_recall", "f1", "accuracy"):
            if against != GATED and (both := pairs(ours, theirs, metric)):
                difference = estimate([our - their for our, their in both], seed)
                found.append(
                    {"split": split, "scenario": scenario, "system": GATED, "against": against, "metric": metric, "difference": difference}
                )
    return found


def _tokens(grouped: Mapping[tuple[Any, ...], Sequence[Row]], seed: int) -> list[dict[str, Any]]:
    """What each system had the cloud's model read, as a share of what centralised retrieval has it read for the same questions."""
    found = []
    for (split, scenario, system), ours in grouped.items():
        both = pairs(ours, grouped.get((split, scenario, "centralized"), ()), "cloud_tokens_in")
        if both and sum(their for _, their in both):
            share = ratio([our for our, _ in both], [their for _, their in both], seed=seed)
            found.append({"split": split, "scenario": scenario, "system": system, "cloud_tokens_share_of_centralised": asdict(share)})
    return found


def _components(answers: Sequence[Row], seed: int) -> list[dict[str, Any]]:
    found = []
    for (split, system, route), group in by([row for row in answers if not row["error"]], "split", "system", "route").items():
        taken = [by_component(row) for row in group]
        for step in dict.fromkeys(step for one in taken for step in one):
            parts = [one[step] for one in taken if step in one]
            figures = {name: estimate([getattr(part, name) for part in parts], seed) for name in ("ms", "tokens_in", "bytes")}
            found.append({"split": split, "system": system, "route": route, "step": step, **figures})
    return found


def _calibration(answers: Sequence[Row]) -> dict[str, Any]:
    """What other thresholds of the gate would have done; empty without questions of both kinds that passed a gate."""
    recorded = {system: group for (system,), group in by(answers, "system").items() if system in GATES}
    group = next((recorded[name] for name in GATES if name in recorded), [])
    signals = [found for row in group if (found := signals_of(AnswerRow(**row)))]
    return asdict(calibrate(signals)) if {one.within for one in signals} == {True, False} else {}


# ------------------------------------------------------------ retrieval and routing


def _routing(rows: Sequence[Row], seed: int) -> list[dict[str, Any]]:
    found = []
    for (split, size, m), group in by(rows, "split", "subgraph_entities", "m").items():
        asked = [(row["edges"], row["domain"], row["m"]) for row in group]
        found.append(
            {
                "split": split,
                "subgraph_entities": size,
                "m": m,
                "hit": estimate([hit(*one) for one in asked], seed),
                "any_mismatch": estimate([any_mismatch(*one) for one in asked], seed),
                "right_share": estimate([right_share(*one) for one in asked], seed),
                "ms": estimate([row["seconds"] * 1000 for row in group], seed),
            }
        )
    return found


def _retrieval(rows: Sequence[Row], gold: Mapping[str, Mapping[str, Sequence[str]]], seed: int) -> list[dict[str, Any]]:
    found = []
    for (split, system), group in by(rows, "split", "system").items():
        came = [row for row in group if not row["error"]]
        wanted = [
            (() if row["error"] else row["found"], needed) for row in group if (needed := gold.get(str(split), {}).get(row["question_id"]))
        ]
        covered = [bool(row["covered"]) and not row["error"] for row in group if row["covered"] is not None]
        columns: dict[str, Sequence[float]] = {f"recall@{k}": [recall_at(ranked, needed, k) for ranked, needed in wanted] for k in KS}
        columns |= {
            "all@8": [all_at(ranked, needed, 8) for ranked, needed in wanted],
            "coverage": covered,
            "edges_asked": [len(row["asked_edges"]) for row in came],
            "context_tokens": [row["context_tokens"] for row in came],
            "ms": [row["seconds"] * 1000 for row in came],
        }
        measures = {name: estimate(values, seed) for name, values in columns.items() if values}
        found.append({"split": split, "system": system, "errors": len(group) - len(came), **measures})
    return found


# ------------------------------------------------------------ figures


def by(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by some of their fields, in the order of first appearance.

    >>> list(by([{"a": 1, "b": 2}, {"a": 1, "b": 3}], "a"))
    [(1,)]
    """
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return dict(groups)


def estimate(values: Sequence[float], seed: int) -> dict[str, Any]:
    """Return a mean and its 95 % bootstrap interval as JSON has them."""
    return asdict(bootstrap([float(value) for value in values], seed=seed))


def ratio(ours: Sequence[float], theirs: Sequence[float], *, seed: int, resamples: int = 2000) -> Estimate:
    """Return the ratio of two sums over the same questions, which are drawn again together for the interval.

    >>> ratio([1.0, 1.0], [4.0, 4.0], seed=0)
    Estimate(mean=0.25, low=0.25, high=0.25, n=2)
    """
    above, below = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    drawn = np.random.default_rng(seed).integers(len(above), size=(resamples, len(above)))
    sums = below[drawn].sum(axis=1)
    shares = above[drawn].sum(axis=1)[sums > 0] / sums[sums > 0]
    low, high = np.percentile(shares, [2.5, 97.5])
    return Estimate(float(above.sum() / below.sum()), float(low), float(high), len(above))
