"""Goals of cost held against a run's own rows: each a row with the goal, what was measured and whether it is met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Row = Mapping[str, Any]
OURS, RIVAL = "dgrag", "lightrag"
OWN_SPACY = "dgrag-spacy"  # finds its entities itself, as the product does; those of OURS come from the model server
PER = 100_000  # tokens
EXTRACTION = frozenset({"extract", "glean", "loop"})
# retrieval: 3 ms at the median and 6 at the 95th percentile; where it was set LightRAG took 96 and 120
RETRIEVAL = (("p50", 3, 96), ("p95", 6, 120))
SCALED = frozenset({"one more document", "retrieval"})  # at an index of SCALE entities: a smaller one can miss these, and not meet them
SCALE = 10_000


@dataclass(frozen=True, slots=True)
class Run:
    """Rows of a run by system and step, smallest size first."""

    rows: tuple[Row, ...]
    ours: str = OURS

    def of(self, system: str, step: str) -> list[Row]:
        """Those rows."""
        return sorted((row for row in self.rows if (row["system"], row["step"]) == (system, step)), key=lambda row: row["tokens"])


def goal_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """One row a goal that the run can judge; the ratio to a peer only where the peer ran too."""
    known = tuple(rows)
    run, alone = Run(known), Run(known, OWN_SPACY)
    judged = [*_indexing(run), *_growth(run), *_one_more(run), *_calls(run), *_tokens(run), *_retrieval(run)]
    by_itself = [_row(OWN_SPACY, *one) for one in (*_indexing(alone), *_growth(alone), *_one_more(alone))]
    return [_row(OURS, *one) for one in judged] + [row | {"what": f"{row['what']}, entities found by itself"} for row in by_itself]


Judged = Iterator[tuple[str, str, float, float, int]]


def _row(system: str, name: str, what: str, most: float, found: float, entities: int) -> dict[str, Any]:
    is_small = name in SCALED and entities < SCALE
    said: dict[str, Any] = {"goal": name, "what": what, "most": most, "measured": round(found, 3), "entities": entities}
    return {"system": system, "step": "goal", **said, "below_scale": is_small, "met": found <= most and not is_small}


def _indexing(run: Run) -> Judged:
    for row in run.of(run.ours, "index"):
        yield "indexing", f"CPU s to index 100k tokens, of {row['size']:,}", 0.5, index_s(row) * PER / row["tokens"], row["entities"]
    for ours, theirs in _both(run, "index"):
        what = f"indexing CPU, share of {RIVAL}'s, {ours['size']:,} tokens"
        yield "indexing", what, 1 / 15, index_s(ours) / index_s(theirs), ours["entities"]


def _growth(run: Run) -> Judged:
    for small, large in pairwise(run.of(run.ours, "index")):
        doublings = large["tokens"] / small["tokens"] / 2  # a corpus is cut between two documents, so sizes are about double
        what = f"indexing CPU, {large['size']:,} against {small['size']:,} tokens (for a doubling)"
        yield "growth", what, 2.4, index_s(large) / index_s(small) / doublings, large["entities"]
    if len(added := run.of(run.ours, "use")) > 1:
        small, large = added[0], added[-1]
        what = f"one more document, {large['size']:,} against {small['size']:,} tokens"
        yield "growth", what, 1.3, add_s(large) / add_s(small), large["entities"]


def _one_more(run: Run) -> Judged:
    for row in run.of(run.ours, "use"):
        yield "one more document", f"CPU ms to add {row['new_tokens']:,} tokens to {row['size']:,}", 30, add_s(row) * 1000, row["entities"]
    for ours, theirs in _both(run, "use"):
        what = f"CPU to add a document, share of {RIVAL}'s, {ours['size']:,} tokens"
        yield "one more document", what, 1 / 10, add_s(ours) / add_s(theirs), ours["entities"]


def _calls(run: Run) -> Judged:
    for row in run.of(run.ours, "use"):
        others = sum(calls for kind, calls in row["add_calls"].items() if kind not in EXTRACTION)
        yield "calls", f"model calls beyond one a chunk for one more document at {row['size']:,} tokens", 8, others, row["entities"]


def _tokens(run: Run) -> Judged:
    for row in run.of(run.ours, "index"):
        asked = row["prompt_tokens"]
        extraction = sum(tokens for kind, tokens in asked.items() if kind in EXTRACTION)
        times = f"times the corpus, {row['size']:,} tokens"
        yield "tokens", f"prompt tokens of extraction, {times}", 2.0, extraction / row["tokens"], row["entities"]
        yield "tokens", f"prompt tokens with those of summaries, {times}", 2.5, sum(asked.values()) / row["tokens"], row["entities"]


def _retrieval(run: Run) -> Judged:
    for row in run.of(run.ours, "use"):
        for at, most_ms, _ in RETRIEVAL:
            yield "retrieval", f"retrieval CPU ms, {at}, at {row['size']:,} tokens", most_ms, row[f"ask_own_cpu_{at}_ms"], row["entities"]
    for ours, theirs in _both(run, "use"):
        for at, most_ms, rival_ms in RETRIEVAL:
            share = ours[f"ask_own_cpu_{at}_ms"] / theirs[f"ask_own_cpu_{at}_ms"]
            what = f"retrieval CPU, {at}, share of {RIVAL}'s, {ours['size']:,} tokens"
            yield "retrieval", what, most_ms / rival_ms, share, ours["entities"]


def index_s(row: Row) -> float:
    """CPU seconds of a system's own to index, with what it does afterwards by itself: our model-written summaries come then."""
    return float(row["own_cpu_s"] + row["later_own_cpu_s"])


def add_s(row: Row) -> float:
    """The same for one more document."""
    return float(row["add_own_cpu_s"] + row["add_later_own_cpu_s"])


def _both(run: Run, step: str) -> list[tuple[Row, Row]]:
    """Our row and the rival's of each size that both have."""
    theirs = {row["size"]: row for row in run.of(RIVAL, step)}
    return [(row, theirs[row["size"]]) for row in run.of(run.ours, step) if row["size"] in theirs]
