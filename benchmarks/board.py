"""What a person sees: progress on stderr, the headline figures at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from benchmarks.evidence import Plan

COLUMNS = {
    "rouge_l_recall": "ROUGE-L recall",
    "f1": "F1",
    "escalated": "escalated",
    "cloud_tokens_in": "cloud tokens in",
    "seconds": "seconds",
}


class Board:
    """A bar for the stage that runs, with what is left of it; where nobody watches, a line a stage."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=self._console)
        self._task: TaskID | None = None

    def __enter__(self) -> Board:
        if self._console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._console.is_terminal:  # a display that was never started prints an empty line
            self._progress.stop()

    def begin(self, what: str, total: int) -> None:
        """A stage of ``total`` units starts; the one before has ended."""
        if self._task is not None:
            self._progress.update(self._task, completed=self._progress.tasks[self._task].total)
        self._task = self._progress.add_task(what, total=total)
        if not self._console.is_terminal:
            self.say(f"{what} ({total})")

    def at(self, done: int) -> None:
        """So many of its units are done."""
        if self._task is not None:
            self._progress.update(self._task, completed=done)

    def say(self, text: str) -> None:
        """One line that stays."""
        self._console.print(text, markup=False, soft_wrap=True)


def headline(figures: Mapping[str, Any]) -> Iterable[Table]:
    """The figures that one looks for first."""
    if figures["systems"]:
        yield _systems(figures["systems"])
    if figures["routing"]:
        yield _table("summary matching", ("split", "entities", "m", "hit", "any mismatch"), map(_routing, figures["routing"]))
    if figures["storage"]:
        yield _table("storage", ("split", "cloud MB", "centralised MB", "ratio"), map(_storage, figures["storage"]))
    if figures["tokens"]:
        names = ("split", "scenario", "system", "cloud tokens of centralised's")
        yield _table("tokens", names, map(_tokens, figures["tokens"]))
    if figures["retrieval"]:
        measures = ("recall@2", "recall@5", "recall@10", "coverage", "edges_asked")
        rows = ([row["split"], row["system"], *(_mean(row.get(name)) for name in measures)] for row in figures["retrieval"])
        yield _table("retrieval", ("split", "system", *measures), rows)


def plan_table(plans: Sequence[Plan]) -> Table:
    """What would run, and what it took last time; below, all of it together."""
    rows = [(one.config.name, one.config.models.generator, one.shares or "its own", *_hours(one)) for one in plans]
    known = [one.hours for one in plans if one.hours is not None]
    total = ("together", "", "", f"{sum(known):.1f}", f"{len(known)} of {len(plans)} have run before")
    return _table("the evidence", ("configuration", "model", "index of", "hours", "when"), [*rows, total])


def _hours(plan: Plan) -> tuple[str, str]:
    if plan.hours is None:
        return "–", "no result here"
    return f"{plan.hours:.1f}", f"last time, {plan.limit} questions of each kind" if plan.limit else "last time"


def _systems(rows: Iterable[Mapping[str, Any]]) -> Table:
    shown = [
        [row["split"], row["scenario"], row["system"], str(row["errors"]), *(_mean(row["metrics"].get(name)) for name in COLUMNS)]
        for row in rows
    ]
    return _table("answers", ("split", "scenario", "system", "errors", *COLUMNS.values()), shown)


def _routing(row: Mapping[str, Any]) -> list[str]:
    m = f"{row['m']}, by cosine alone" if row.get("plain") else str(row["m"])
    return [row["split"], str(row["subgraph_entities"]), m, _mean(row["hit"]), _mean(row["any_mismatch"])]


def _storage(row: Mapping[str, Any]) -> list[str]:
    return [row["split"], f"{row['cloud_bytes'] / 1e6:.2f}", f"{row['centralised_bytes'] / 1e6:.1f}", f"{row['ratio']:.0f} ×"]


def _tokens(row: Mapping[str, Any]) -> list[str]:
    return [row["split"], row["scenario"], row["system"], _mean(row["cloud_tokens_share_of_centralised"])]


def _mean(found: Mapping[str, Any] | None) -> str:
    """A mean with its interval and sample size.

    >>> _mean({"mean": 0.5, "low": 0.25, "high": 0.75, "n": 8}), _mean(None)
    ('0.500 (0.250–0.750, n=8)', '–')
    """
    if found is None:
        return "–"
    digits = 3 if abs(found["mean"]) < 10 else 1
    return f"{found['mean']:.{digits}f} ({found['low']:.{digits}f}–{found['high']:.{digits}f}, n={found['n']})"


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*row)
    return table
