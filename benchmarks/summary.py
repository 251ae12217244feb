"""From what a run wrote down to its result: means with intervals by split, scenario and system. Figures only, no text of the data.

An answer that failed counts as an empty one in the metrics of quality, and is left out of time, tokens and bytes. Systems are compared on
the askings that all of them had; only the share that a gate escalates is that of all askings on which it has decided, failed ones too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from benchmarks.calibration import Calibration, calibrate, looked, matching, signals_of, swept, thresholds
from benchmarks.comparing import Groups, Row, by, common, grouped_answers, pairs
from benchmarks.costs import LINK_MBIT, by_component, costs
from benchmarks.metrics.bootstrap import bootstrap, ratio
from benchmarks.metrics.fast_path import fast_path
from benchmarks.metrics.overviews import overview_values
from benchmarks.metrics.retrieval import all_at, recall_at
from benchmarks.metrics.routing import any_mismatch, hit, right_share
from benchmarks.metrics.text import claims_told, exact_match, f1, rouge_l_recall
from benchmarks.metrics.wins import wins
from benchmarks.records import AnswerRow, RoutingRow
from deploy.evaluation.intervals import wilson
from deploy.evaluation.text import accuracy
from shared.text.short_answers import short_answer

BertScore: TypeAlias = Callable[[Sequence[str], Sequence[str]], Sequence[float]]  # answers, references -> recall of each

CLOUD_PAYS = frozenset({"centralized"})  # systems whose whole work is the cloud's
PASSED_ON = ("index", "storage", "memories", "peers", "link")  # stages whose rows are figures already
KS = 2, 5, 10
COSINES = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6)  # thresholds of summary matching, beside each other
CENTRAL = "centralized"  # the way to retrieve that has everything in one index
GATED = "dgrag"  # what the others are compared with
GATES = ("gate-signals", GATED)  # whose scores a calibration reads, the first that there is: the one that takes all of them
ON_ALL = frozenset({"escalated"})  # measured on all askings of a system, not only on those that the others had too
# 0 or 1 for each asking
SHARES = frozenset({"answered", "escalated", "em", "accuracy", "all@8", "coverage", "hit", "any_mismatch"})
OF_ANSWERS = ("systems", "differences", "tokens", "components", "coverage", "memory", "pareto", "thresholds", "wins", "calibration")
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
        "coverage": [_covered(row) for row in answers if row.get("overview")],
        "memory": fast_path(answers, seed=seed),
        "pareto": _pareto(answers, seed),
        "thresholds": [asdict(one) for one in thresholds(list(looked(answers)))],
        "wins": wins(grouped, gated=GATED, seed=seed),
        "retrieval": [_retrieval(split, system, group, seed) for (split, system), group in by(found, "split", "system").items()],
        "retrieval_ratios": _ratios(found, seed),
        "calibration": [{"split": split, **asdict(one)} for split, one in calibrations(rows.get("answers", ()))],
        "matching": _matching(rows.get("routing", ())),
        "skipped": [dict(row) for row in rows.get("skipped", ())],
    }


# ------------------------------------------------------------ answers


def rescored(figures: Row, answers: Sequence[Row], **said: str) -> dict[str, Any]:
    """Return a result with all that follows from its answers made anew; ``said`` goes into its run. What else it holds stays."""
    made = summarise({"answers": answers}, figures["run"])
    return {**figures, "run": {**figures["run"], **said}, **{name: made[name] for name in OF_ANSWERS}}


def with_bertscore(answers: Sequence[Row], bertscore: BertScore) -> list[dict[str, Any]]:
    """Return the answers with their BERTScore recall where they have a reference; all are scored at once, and what is no answer is 0."""
    found = [dict(row) for row in answers]
    if known := [row for row in found if row["references"]]:
        scores = bertscore([_said(row) for row in known], [row["references"][0] for row in known])
        for row, score in zip(known, scores, strict=True):
            row["bertscore_recall"] = float(score)
    return found


def _said(answer: Row) -> str:
    """The text of an answer; none of one that failed or that says that it cannot: a refusal's wording is worth nothing."""
    return answer["answer"] if answer["answered"] and not answer["error"] else ""


def scored(answers: Sequence[Row]) -> list[dict[str, Any]]:
    """Return each answer's row with its ``values``: metric -> number; a metric that does not apply to it is left out."""
    return [{**row, "values": measured(row)} for row in answers]


def measured(answer: Row) -> dict[str, float]:
    """Return the metrics of one answer. Quality needs a reference; costs need an answer that came."""
    text = _said(answer)
    quality = {"answered": float(answer["answered"] and not answer["error"])}
    if references := answer["references"]:
        quality |= {
            "rouge_l_recall": rouge_l_recall(text, references[0]),
            "em": exact_match(short_answer(text), references),
            "f1": f1(short_answer(text), references),
            "accuracy": accuracy(text, references),
            "claims": claims_told(answer["question"], text, references[0]),
        }
    if (recall := answer.get("bertscore_recall")) is not None:
        quality["bertscore_recall"] = recall
    if answer["error"]:  # a gate has decided before a call to the cloud fails
        return quality | ({"escalated": float(answer["escalated"])} if answer["gate"] else {})
    return quality | costs(answer, cloud_pays=answer["system"] in CLOUD_PAYS) | overview_values(answer)


def _system(place: tuple[Any, ...], asked: Sequence[Row], compared: Sequence[Row], seed: int) -> dict[str, Any]:
    """One system's metrics on the askings that it is ``compared`` on, and what it was ``asked`` in all."""
    metrics = {}
    for name in dict.fromkeys(name for row in asked for name in row["values"]):
        group = asked if name in ON_ALL else compared
        if known := [row for row in group if name in row["values"]]:
            metrics[name] = estimate(name, known, seed)
    split, scenario, system = place
    return {
        "split": split,
        "scenario": scenario,
        "system": system,
        "asked": len(asked),
        "compared": len(compared),
        "code": sorted({row.get("code", "") for row in asked}),
        "errors": sum(1 for row in asked if row["error"]),
        "asked_again": sum(1 for row in asked if row.get("tries", 1) > 1),
        "metrics": metrics,
    }


def _covered(row: Row) -> dict[str, Any]:
    """Which sites a global answer tells of, and each fault of its references once."""
    faults = sorted({one["fault"] for one in row["overview"]["cited"] if one["fault"]})
    named = {name: row[name] for name in ("split", "system", "edge", "question_id")}
    return {**named, "coverage": row["overview"]["coverage"], "faults": faults}


def _differences(grouped: Groups, seed: int) -> list[dict[str, Any]]:
    """The gated system's quality less each other one's, on the same questions."""
    found = []
    for (split, scenario, against), theirs in grouped.items():
        ours = grouped.get((split, scenario, GATED), ())
        for metric in ("rouge_l_recall", "bertscore_recall", "f1", "accuracy", "claims"):
            if against != GATED and (both := pairs(ours, theirs, metric)).of:
                difference = asdict(bootstrap(both.differences, seed=seed, of=both.of))
                found.append(
                    {"split": split, "scenario": scenario, "system": GATED, "against": against, "metric": metric, "difference": difference}
                )
    return found


def _tokens(grouped: Groups, seed: int) -> list[dict[str, Any]]:
    """What each system had the cloud's model read, as a share of what centralised retrieval has it read for the same questions."""
    found = []
    for (split, scenario, system), ours in grouped.items():
        both = pairs(ours, grouped.get((split, scenario, CENTRAL), ()), "cloud_tokens_in")
        if sum(both.theirs):
            share = ratio(both.ours, both.theirs, seed=seed, of=both.of)
            found.append({"split": split, "scenario": scenario, "system": system, "cloud_tokens_share_of_centralised": asdict(share)})
    return found


def _components(answers: Sequence[Row], seed: int, *, link_mbit: float) -> list[dict[str, Any]]:
    found = []
    for (split, system, route), group in by([row for row in answers if not row["error"]], "split", "system", "route").items():
        taken = [(row["question_id"], by_component(row, link_mbit=link_mbit)) for row in group]
        for step in dict.fromkeys(step for _, one in taken for step in one):
            parts = [{"question_id": question, "values": asdict(one[step])} for question, one in taken if step in one]
            figures = {name: estimate(name, parts, seed) for name in ("ms", "tokens_in", "bytes")}
            found.append({"split": split, "system": system, "route": route, "step": step, "answers": len(parts), **figures})
    return found


def calibrations(answers: Sequence[Row]) -> Iterator[tuple[str, Calibration]]:
    """What other thresholds of the gate would have done, by split; none of one without questions of both kinds that passed a gate."""
    for (split,), rows in by(answers, "split").items():
        recorded = {system: group for (system,), group in by(rows, "system").items() if system in GATES}
        group = next((recorded[name] for name in GATES if name in recorded), [])
        signals = [found for row in group if (found := signals_of(AnswerRow(**row)))]
        if {one.within for one in signals} == {True, False}:
            yield split, calibrate(signals)


def _pareto(answers: Sequence[Row], seed: int) -> list[dict[str, Any]]:
    """What each threshold of the fast path would have done, by split and system."""
    groups = by(answers, "split", "system").items()
    return [
        {"split": split, "system": system, **asdict(one)}
        for (split, system), rows in groups
        for one in swept(list(looked(rows)), seed=seed)
    ]


# ------------------------------------------------------------ retrieval and routing


def _routing(rows: Sequence[Row], seed: int) -> list[dict[str, Any]]:
    found = []
    for (split, size, m, plain), group in by(rows, "split", "subgraph_entities", "m", "plain").items():
        asked = [{"question_id": row["question_id"], "values": _routed(row)} for row in group]
        found.append(
            {
                "split": split,
                "subgraph_entities": size,
                "m": m,
                "plain": plain,
                "code": sorted({row.get("code", "") for row in group}),
                **{name: estimate(name, asked, seed) for name in asked[0]["values"]},
            }
        )
    return found


def _routed(row: Row) -> dict[str, float]:
    one = row["edges"], row["owners"], row["m"]
    measures = {"hit": hit(*one), "any_mismatch": any_mismatch(*one), "right_share": right_share(*one)}
    return measures | {"ms": row["seconds"] * 1000}


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
    if (owners := row.get("owners_asked")) is not None and not row["error"]:
        values["owners_asked"] = owners
    if not row["error"]:
        values |= {"edges_asked": len(row["asked_edges"]), "context_tokens": row["context_tokens"], "ms": row["seconds"] * 1000}
    return values


def _retrieval(split: str, system: str, group: Sequence[Row], seed: int) -> dict[str, Any]:
    names = dict.fromkeys(name for row in group for name in row["values"])
    errors, again = sum(1 for row in group if row["error"]), sum(1 for row in group if row.get("tries", 1) > 1)
    measures = {name: estimate(name, [row for row in group if name in row["values"]], seed) for name in names}
    return {"split": split, "system": system, "errors": errors, "asked_again": again, **measures}


def _ratios(rows: Sequence[Row], seed: int) -> list[dict[str, Any]]:
    """What each way to retrieve finds, as a share of what one index of everything finds for the same questions."""
    grouped, found = by(rows, "split", "system"), []
    for (split, system), ours in grouped.items():
        for measure in RATIOS:
            both = pairs(ours, grouped.get((split, CENTRAL), ()), measure)
            if system != CENTRAL and sum(both.theirs):
                share = asdict(ratio(both.ours, both.theirs, seed=seed, of=both.of))
                found.append({"split": split, "system": system, "against": CENTRAL, "measure": measure, "share": share})
    return found


# ------------------------------------------------------------ figures


def estimate(name: str, rows: Sequence[Row], seed: int) -> dict[str, Any]:
    """Return the mean of a metric that all the rows have and its 95 % interval as JSON has them: a share's by Wilson, else bootstrap."""
    values, of = [float(row["values"][name]) for row in rows], [row["question_id"] for row in rows]
    return asdict(wilson(values, of=of) if name in SHARES else bootstrap(values, seed=seed, of=of))
