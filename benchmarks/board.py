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
        rows = ([_lines(row["system"], row["split"]), *(_mean(row.get(name)) for name in measures)] for row in figures["retrieval"])
        yield _table("retrieval", ("system", *measures), rows)


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
        [_lines(_failed(row), f"{row['split']}, {row['scenario']}"), *(_mean(row["metrics"].get(name)) for name in COLUMNS)] for row in rows
    ]
    return _table("answers", ("system", *COLUMNS.values()), shown)


def _failed(row: Mapping[str, Any]) -> str:
    return f"{row['system']}, {row['errors']} failed" if row["errors"] else str(row["system"])


def _routing(row: Mapping[str, Any]) -> list[str]:
    m = f"{row['m']}, by cosine alone" if row.get("plain") else str(row["m"])
    return [row["split"], str(row["subgraph_entities"]), m, _mean(row["hit"]), _mean(row["any_mismatch"])]


def _storage(row: Mapping[str, Any]) -> list[str]:
    return [row["split"], f"{row['cloud_bytes'] / 1e6:.2f}", f"{row['centralised_bytes'] / 1e6:.1f}", f"{row['ratio']:.0f} ×"]


def _tokens(row: Mapping[str, Any]) -> list[str]:
    return [row["split"], row["scenario"], row["system"], _mean(row["cloud_tokens_share_of_centralised"])]


def _lines(*lines: str) -> str:
    """The lines of a cell: what a row is of, and with each mean its interval below, so that a row of five means has 80 columns."""
    return "\n".join(lines)


def _mean(found: Mapping[str, Any] | None) -> str:
    r"""A mean with its sample's size and, below, its interval.

    >>> _mean({"mean": 0.5, "low": 0.25, "high": 0.75, "n": 8}), _mean(None)
    ('0.500 n=8\n0.250–0.750', '–')
    """
    if found is None:
        return "–"
    digits = 3 if abs(found["mean"]) < 10 else 1
    return _lines(f"{found['mean']:.{digits}f} n={found['n']}", f"{found['low']:.{digits}f}–{found['high']:.{digits}f}")


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    table = Table(title=f"\n{title}", title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
