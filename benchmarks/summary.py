"""From what a run wrote down to its result: means with intervals by split, scenario and system. Figures only, no text of the data.

An answer that failed counts as an empty one in the metrics of quality, and is left out of time, tokens and bytes. Systems are compared on
the askings that all of them had; only the share that a gate escalates is that of all askings on which it has decided, failed ones too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np

from benchmarks.calibration import calibrate, matching, signals_of
from benchmarks.comparing import Groups, Row, by, common, grouped_answers, pairs
from benchmarks.costs import LINK_MBIT, by_component, costs
from benchmarks.metrics.bootstrap import bootstrap
from benchmarks.metrics.retrieval import all_at, recall_at
from benchmarks.metrics.routing import any_mismatch, hit, right_share
from benchmarks.metrics.text import accuracy, exact_match, f1, rouge_l_recall
from benchmarks.metrics.wins import wins
from benchmarks.records import AnswerRow, Estimate, Judgement, RoutingRow

BertScore: TypeAlias = Callable[[Sequence[str], Sequence[str]], Sequence[float]]  # answers, references -> recall of each

CLOUD_PAYS = frozenset({"centralized"})  # systems whose whole work is the cloud's
PASSED_ON = ("index", "storage", "peers", "link")  # stages whose rows are figures already
KS = 2, 5, 10
COSINES = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6)  # thresholds of summary matching, beside each other
CENTRAL = "centralized"  # the way to retrieve that has everything in one index
GATED = "dgrag"  # what the others are compared with
GATES = ("gate-signals", GATED)  # whose scores a calibration reads, the first that there is: the one that takes all of them
ON_ALL = frozenset({"escalated"})  # measured on all askings of a system, not only on those that the others had too
RATIOS = ("recall@10",)  # of retrieval, as a share of what one index of everything finds


def summarise(
    rows: Mapping[str, Sequence[Row]],
    provenance: Row,
    *,
    gold: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> dict[str, Any]:
    """Return a run's result.

    ``rows`` are the journal's by stage, ``provenance`` becomes "run", and ``gold`` has by split and question the documents that are
    needed. Stages that the run had not are empty lists.
    """
    seed = int(provenance.get("seed", 0))
    answers = scored(rows.get("answers", ()))
    asked = grouped_answers(answers)
    grouped = common(asked)
    found = retrieved(rows.get("retrieval", ()), gold or {})
    return {
        "run": dict(provenance),
        **{stage: [dict(row) for row in rows.get(stage, ())] for stage in PASSED_ON},
        "routing": _routing(rows.get("routing", ()), seed),
        "systems": [_system(place, group, grouped[place], seed) for place, group in asked.items()],
        "differences": _differences(grouped, seed),
        "tokens": _tokens(grouped, seed),
        "components": _components(answers, seed, link_mbit=(provenance.get("link") or {}).get("mbit", LINK_MBIT)),
        "wins": wins([Judgement(**row) for row in rows.get("judging", ())], seed=seed),
        "retrieval": [_retrieval(split, system, group, seed) for (split, system), group in by(found, "split", "system").items()],
        "retrieval_ratios": _ratios(found, seed),
        "calibration": _calibration(rows.get("answers", ())),
        "matching": _matching(rows.get("routing", ())),
        "skipped": [dict(row) for row in rows.get("skipped", ())],
    }


# ------------------------------------------------------------ answers


def with_bertscore(answers: Sequence[Row], bertscore: BertScore) -> list[dict[str, Any]]:
    """Return the answers with their BERTScore recall where they have a reference; all are scored at once, and a failed one is 0."""
    found = [dict(row) for row in answers]
    if known := [row for row in found if row["references"]]:
        scores = bertscore([row["answer"] for row in known], [row["references"][0] for row in known])
        for row, score in zip(known, scores, strict=True):
            row["bertscore_recall"] = 0.0 if row["error"] else float(score)
    return found


def scored(answers: Sequence[Row]) -> list[dict[str, Any]]:
    """Return each answer's row with its ``values``: metric -> number; a metric that does not apply to it is left out."""
    return [{**row, "values": measured(row)} for row in answers]


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
    if (recall := answer.get("bertscore_recall")) is not None:
        quality["bertscore_recall"] = recall
    if answer["error"]:  # a gate has decided before a call to the cloud fails
        return quality | ({"escalated": float(answer["escalated"])} if answer["gate"] else {})
    return quality | costs(answer, cloud_pays=answer["system"] in CLOUD_PAYS)


def _system(place: tuple[Any, ...], asked: Sequence[Row], compared: Sequence[Row], seed: int) -> dict[str, Any]:
    """One system's metrics on the askings that it is ``compared`` on, and what it was ``asked`` in all."""
    metrics = {}
    for name in dict.fromkeys(name for row in asked for name in row["values"]):
        group = asked if name in ON_ALL else compared
        if values := [row["values"][name] for row in group if name in row["values"]]:
            metrics[name] = estimate(values, seed)
    split, scenario, system = place
    return {
        "split": split,
        "scenario": scenario,
        "system": system,
        "asked": len(asked),
        "compared": len(compared),
        "errors": sum(1 for row in asked if row["error"]),
        "asked_again": sum(1 for row in asked if row.get("tries", 1) > 1),
        "metrics": metrics,
    }


def _differences(grouped: Groups, seed: int) -> list[dict[str, Any]]:
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


def _tokens(grouped: Groups, seed: int) -> list[dict[str, Any]]:
    """What each system had the cloud's model read, as a share of what centralised retrieval has it read for the same questions."""
    found = []
    for (split, scenario, system), ours in grouped.items():
        both = pairs(ours, grouped.get((split, scenario, CENTRAL), ()), "cloud_tokens_in")
        if both and sum(their for _, their in both):
            share = ratio([our for our, _ in both], [their for _, their in both], seed=seed)
            found.append({"split": split, "scenario": scenario, "system": system, "cloud_tokens_share_of_centralised": asdict(share)})
    return found


def _components(answers: Sequence[Row], seed: int, *, link_mbit: float) -> list[dict[str, Any]]:
    found = []
    for (split, system, route), group in by([row for row in answers if not row["error"]], "split", "system", "route").items():
        taken = [by_component(row, link_mbit=link_mbit) for row in group]
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
    for (split, size, m, plain), group in by(rows, "split", "subgraph_entities", "m", "plain").items():
        asked = [(row["edges"], row["domain"], row["m"]) for row in group]
        found.append(
            {
                "split": split,
                "subgraph_entities": size,
                "m": m,
                "plain": plain,
                "hit": estimate([hit(*one) for one in asked], seed),
                "any_mismatch": estimate([any_mismatch(*one) for one in asked], seed),
                "right_share": estimate([right_share(*one) for one in asked], seed),
                "ms": estimate([row["seconds"] * 1000 for row in group], seed),
            }
        )
    return found


def _matching(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Hits and mismatches by m and threshold, of every other question and of the rest: chosen on the one half, checked on the other."""
    found = []
    for (split,), group in by([row for row in rows if not row["plain"]], "split").items():
        first = [row for row in group if row["subgraph_entities"] == group[0]["subgraph_entities"]]  # the size that answers
        place = {question: number for number, question in enumerate(dict.fromkeys(row["question_id"] for row in first))}
        for half in (0, 1):
            part = [RoutingRow(**row) for row in first if place[row["question_id"]] % 2 == half]
            found += [{"split": split, "half": half, **asdict(one)} for one in matching(part, cosines=COSINES)]
    return found


def retrieved(rows: Sequence[Row], gold: Mapping[str, Mapping[str, Sequence[str]]]) -> list[dict[str, Any]]:
    """Return each retrieval's row with its ``values``. A failed one found nothing, and has no costs."""
    return [{**row, "values": _found(row, gold.get(str(row["split"]), {}).get(row["question_id"], ()))} for row in rows]


def _found(row: Row, needed: Sequence[str]) -> dict[str, float]:
    ranked, values = (() if row["error"] else row["found"]), dict[str, float]()
    if needed:
        values |= {f"recall@{k}": recall_at(ranked, needed, k) for k in KS} | {"all@8": all_at(ranked, needed, 8)}
    if row["covered"] is not None:
        values["coverage"] = float(row["covered"] and not row["error"])
    if not row["error"]:
        values |= {"edges_asked": len(row["asked_edges"]), "context_tokens": row["context_tokens"], "ms": row["seconds"] * 1000}
    return values


def _retrieval(split: str, system: str, group: Sequence[Row], seed: int) -> dict[str, Any]:
    names = dict.fromkeys(name for row in group for name in row["values"])
    errors, again = sum(1 for row in group if row["error"]), sum(1 for row in group if row.get("tries", 1) > 1)
    measures = {name: estimate([row["values"][name] for row in group if name in row["values"]], seed) for name in names}
    return {"split": split, "system": system, "errors": errors, "asked_again": again, **measures}


def _ratios(rows: Sequence[Row], seed: int) -> list[dict[str, Any]]:
    """What each way to retrieve finds, as a share of what one index of everything finds for the same questions."""
    grouped, found = by(rows, "split", "system"), []
    for (split, system), ours in grouped.items():
        for measure in RATIOS:
            both = pairs(ours, grouped.get((split, CENTRAL), ()), measure) if system != CENTRAL else []
            if sum(their for _, their in both):
                share = asdict(ratio([our for our, _ in both], [their for _, their in both], seed=seed))
                found.append({"split": split, "system": system, "against": CENTRAL, "measure": measure, "share": share})
    return found


# ------------------------------------------------------------ figures


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
