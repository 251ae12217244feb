"""What a run has finished, one line a unit, so that a killed run goes on where it was and asks again what failed."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from benchmarks.errors import BenchmarkError

TRIES = 3  # of a unit that fails, each in another session; then its error counts
START, END = "start", "end"  # of a session


@dataclass(frozen=True, slots=True)
class Session:
    """One start of a run. A killed one lasts until its last finished unit."""

    started: str  # ISO 8601, UTC
    seconds: float
    ended: bool  # by itself


class Journal:
    """``journal.jsonl``: each line a finished unit, ``{"stage", "key", "row", "at"}``. A last line that was torn is dropped.

    A row with an ``error`` is a try that failed: its unit is finished when it has failed ``TRIES`` times. ``clock``: seconds of the epoch.
    """

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = file.parent
        self.folder.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        self._rows: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self._tries: Counter[tuple[str, str]] = Counter()
        self._marks: list[tuple[str, float]] = []  # (stage, at) of every line
        whole = self._read(file) if file.exists() else 0
        self._file = file.open("ab")
        self._file.truncate(whole)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def _read(self, path: Path) -> int:
        """Take every whole line; returns the bytes that they have. Raises BenchmarkError for one that is not ours."""
        whole = 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
            if not line.endswith(b"\n"):
                break  # torn by a kill: its unit is done again
            try:
                unit = orjson.loads(line)
                self._take(unit)
            except (orjson.JSONDecodeError, KeyError, TypeError) as error:
                raise BenchmarkError(
                    f"{path}, line {number}, cannot be read", next_step="delete that line, or the file to begin anew"
                ) from error
            whole += len(line)
        return whole

    def _take(self, unit: Mapping[str, Any]) -> None:
        if not isinstance(unit["row"], dict):
            raise TypeError("a row is an object")
        self._rows[unit["stage"]][unit["key"]] = unit["row"]
        self._tries[unit["stage"], unit["key"]] += 1
        self._marks.append((unit["stage"], unit["at"]))

    def done(self, stage: str, key: str) -> bool:
        """Whether a unit is finished: it came, or failed as often as it may."""
        row = self._rows[stage].get(key)
        return row is not None and (not row.get("error") or self.tries(stage, key) >= TRIES)

    def tries(self, stage: str, key: str) -> int:
        """How often a unit was tried."""
        return self._tries[stage, key]

    def row(self, stage: str, key: str) -> dict[str, Any]:
        """The row of a unit that was tried. Raises KeyError for another one."""
        return self._rows[stage][key]

    def add(self, stage: str, key: str, row: Mapping[str, Any]) -> None:
        """Note a finished unit, at once on its way to the disk. Raises ValueError for one that is finished already."""
        if self.done(stage, key):
            raise ValueError(f"{stage} {key} is in the journal already")
        line = orjson.dumps({"stage": stage, "key": key, "row": row, "at": round(self._clock(), 1)})
        self._file.write(line + b"\n")
        self._file.flush()
        self._take(orjson.loads(line))

    def rows(self, stage: str) -> list[dict[str, Any]]:
        """The rows of a stage, in the order in which their units were first tried; of each unit the last one."""
        return list(self._rows[stage].values())

    def sessions(self) -> list[Session]:
        """All starts of the run, the one that goes on among them."""
        starts = [place for place, (stage, _) in enumerate(self._marks) if stage == START]
        parts = [self._marks[begin:end] for begin, end in zip(starts, [*starts[1:], None], strict=True)]
        return [
            Session(
                datetime.fromtimestamp(part[0][1], UTC).isoformat(timespec="seconds"),
                round(part[-1][1] - part[0][1], 1),
                part[-1][0] == END,
            )
            for part in parts
        ]
