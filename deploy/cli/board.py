"""Live progress on standard error: bars on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Column
from rich.text import Text

from deploy.cli.sending import EdgeStatus
from shared.plural import counted
from shared.ports import Clock
from shared.text.plain import one_line, plain

QUIET_S = 5.0  # between two lines, and before a wait is explained


class InertConsole(Console):
    """Prints text of other sites as what it is: no control character in it reaches the terminal, and it forges no line.

    A ``str`` is one line. What has several is made of renderables, where ``plain`` is for texts and ``one_line`` for names.
    """

    def print(self, *objects: object, **options: Any) -> None:
        """As rich does."""
        super().print(*(one_line(each) if isinstance(each, str) else each for each in objects), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """As rich does; its own control codes pass."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else plain(text), style, control)


def err() -> Console:
    """Standard error: progress and failures, never results."""
    return InertConsole(stderr=True, highlight=False)


def out() -> Console:
    """Standard output: results."""
    return InertConsole(highlight=False)


class Patience(ProgressColumn):
    """Says after some seconds why it may take longer."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self._why = why

    def render(self, task: Task) -> Text:
        """Nothing at first."""
        return Text(self._why if (task.elapsed or 0.0) >= QUIET_S else "", style="dim")


@contextmanager
def waiting(what: str, why: str = "", *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A line that says on a terminal what goes on, and for how long; gone when it is over. What it yields takes news of it.

    ``why`` it may take long is said after some seconds. ``quiet``: nothing is said.
    """
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn(), Patience(why)
    console = err()
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as bars:
        row = bars.add_task(f"{what} …", total=None)
        yield lambda news: bars.update(row, description=news)


class IndexBoard:
    """One row per edge while documents become a graph."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console = console
        self._clock = clock
        self._rows: dict[str, TaskID] = {}
        self._news: dict[str, str] = {}  # by edge, what no line has told yet
        self._told: dict[str, str] = {}
        self._quiet_until = -math.inf
        self._bars = Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[documents]} documents", table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[step]}", markup=False, style="cyan"),
            TextColumn("{task.fields[counts]}", markup=False, style="dim"),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def show(self, status: EdgeStatus) -> None:
        """Bring one edge's row up to date."""
        documents = f"{status.ended}/{status.total}"
        counts = ", ".join(
            (
                counted(status.chunks, "passage"),
                counted(status.entities, "entity", "entities"),
                counted(status.tokens_in + status.tokens_out, "token"),
            )
        )
        if not self._console.is_terminal:
            self._tell(status.edge, f"{status.edge} {documents} {status.step}")
            return
        if status.edge not in self._rows:
            self._rows[status.edge] = self._bars.add_task(status.edge, total=None, documents="", step="", counts="")
        self._bars.update(
            self._rows[status.edge],
            total=max(1, status.total),
            completed=status.ended,
            documents=documents,
            step=status.step,
            counts=counts,
        )

    def _tell(self, edge: str, state: str) -> None:
        if self._told.get(edge) == state:
            self._news.pop(edge, None)
            return
        self._news[edge] = state
        if (now := self._clock.monotonic()) >= self._quiet_until:
            self._console.print("indexing: " + ", ".join(self._news.values()), markup=False, soft_wrap=True)
            self._told |= self._news
            self._news.clear()
            self._quiet_until = now + QUIET_S


class SendBars:
    """One bar per edge that documents are sent to, gone when they are there."""

    def __init__(self, console: Console) -> None:
        self._rows: dict[str, TaskID] = {}
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            DownloadColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def advance(self, what: str, total: int, more: int) -> None:
        """``more`` bytes of ``total`` have gone."""
        if what not in self._rows:
            self._rows[what] = self._bars.add_task(what, total=total)
        self._bars.advance(self._rows[what], more)
