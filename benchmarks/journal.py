"""What a run has finished, one line a unit, so that a killed run goes on where it was."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from benchmarks.errors import BenchmarkError


class Journal:
    """``journal.jsonl``: each line a finished unit, ``{"stage", "key", "row"}``. A last line that was torn is dropped."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._rows: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
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
                self._rows[unit["stage"]][unit["key"]] = unit["row"]
            except (orjson.JSONDecodeError, KeyError, TypeError) as error:
                raise BenchmarkError(
                    f"{path}, line {number}, cannot be read", next_step="delete that line, or the file to begin anew"
                ) from error
            whole += len(line)
        return whole

    def done(self, stage: str, key: str) -> bool:
        """Whether a unit is finished."""
        return key in self._rows[stage]

    def add(self, stage: str, key: str, row: Mapping[str, Any]) -> None:
        """Note a finished unit, at once on its way to the disk. Raises ValueError for one that is finished already."""
        if self.done(stage, key):
            raise ValueError(f"{stage} {key} is in the journal already")
        line = orjson.dumps({"stage": stage, "key": key, "row": row})
        self._file.write(line + b"\n")
        self._file.flush()
        self._rows[stage][key] = orjson.loads(line)["row"]

    def rows(self, stage: str) -> list[dict[str, Any]]:
        """The rows of a stage, in the order in which they came."""
        return list(self._rows[stage].values())
