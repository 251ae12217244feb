"""CPU, wall and memory of a step, with the time inside stand-in models counted apart."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

PAGE_BYTES = resource.getpagesize()


@dataclass(slots=True)
class Stopwatch:
    """Time inside a ``with`` block that never waits, added up; it may be entered from any one thread at a time."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    _began: tuple[float, float] = (0.0, 0.0)

    def __enter__(self) -> None:
        self._began = time.thread_time(), time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.cpu_s += time.thread_time() - self._began[0]
        self.wall_s += time.perf_counter() - self._began[1]


@dataclass(slots=True)
class Meter:
    """What the process spends inside a ``with`` block; ``models`` is what of it the stand-ins took.

    >>> with Meter(Stopwatch()) as meter:
    ...     pass
    >>> sorted(meter.row())
    ['cpu_s', 'models_cpu_s', 'wall_s']
    """

    models: Stopwatch
    cpu_s: float = 0.0
    wall_s: float = 0.0
    models_cpu_s: float = 0.0
    _began: tuple[float, ...] = field(default=())

    def __enter__(self) -> Meter:
        self._began = time.process_time(), time.perf_counter(), self.models.cpu_s, self.models.wall_s
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        cpu, wall, models_cpu, models_wall = self._began
        self.models_cpu_s = self.models.cpu_s - models_cpu
        self.cpu_s = time.process_time() - cpu - self.models_cpu_s
        self.wall_s = time.perf_counter() - wall - (self.models.wall_s - models_wall)

    def row(self) -> dict[str, float]:
        """Seconds, without the models but for ``models_cpu_s``."""
        return {"cpu_s": round(self.cpu_s, 4), "wall_s": round(self.wall_s, 4), "models_cpu_s": round(self.models_cpu_s, 4)}


def percentile_ms(seconds: Sequence[float], q: float) -> float:
    """A percentile of seconds, in ms.

    >>> percentile_ms([0.001, 0.002, 0.003], 50)
    2.0
    """
    return round(float(np.percentile(np.array(seconds), q)) * 1000, 2)


def rss_mb() -> float:
    """Memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * PAGE_BYTES / 2**20, 1)


def spent(work: Callable[[], Any]) -> float:
    """CPU seconds of a call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def peak_mb() -> float:
    """Memory that this process has held at most; ``getrusage`` would begin with what the process held that started this one."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(round(int(line.split()[1]) / 1024, 1) for line in lines if line.startswith("VmHWM"))
