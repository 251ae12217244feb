"""What each reader finds in real files, and what it costs: ``python -m benchmarks.files.readers FOLDER``.

``FOLDER`` holds ``facts.jsonl`` (what a person reads in each file), ``files/`` and ``score.py``, which says whether a text has a fact.
Each format is read by one process of each reader, in its own environment; the peers need their packages from the index.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from benchmarks.errors import BenchmarkError
from benchmarks.files import reading_process
from benchmarks.machine import code, machine
from benchmarks.peers.environments import ONE_THREAD, python_of
from edge_node.documents.text import suffix
from shared.intervals import wilson_interval

RESULT = Path(__file__).parent.parent / "results" / "readers.json"
READ_S = 1_800.0  # of one format by one reader
ONLY = {"pdfium": {".pdf"}}  # what a reader is for, where it is not for all

Facts = Mapping[str, Sequence[dict[str, Any]]]  # by file


def facts_of(folder: Path) -> Facts:
    """The facts by file."""
    by_file = defaultdict[str, list[dict[str, Any]]](list)
    for line in (folder / "facts.jsonl").read_text(encoding="utf-8").splitlines():
        fact = json.loads(line)
        by_file[fact["file"]].append(fact)
    return by_file


def scorer(folder: Path) -> ModuleType:
    """The module that says whether a text has a fact. Raises BenchmarkError."""
    spec = importlib.util.spec_from_file_location("fixture_score", folder / "score.py")
    if spec is None or spec.loader is None:
        raise BenchmarkError(f"{folder} has no score.py", next_step="give the folder of the files with facts")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def right(module: ModuleType, facts: Sequence[dict[str, Any]], text: str) -> int:
    """How many facts a text has."""
    plain, units = module.plain(module.html.unescape(text)), module.units(text)
    return sum(bool(text) and module.is_right(fact, plain, units) for fact in facts)


def read_all(system: str, python: Path, files: Sequence[Path], out: Path) -> dict[str, Any]:
    """One process over the files of one format, and what it told. Raises BenchmarkError."""
    command = [str(python), "-P", reading_process.__file__, system, str(out), *map(str, files)]
    done = subprocess.run(  # noqa: S603 - our own script
        command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD}, timeout=READ_S, check=False
    )
    if done.returncode:
        raise BenchmarkError(f"{system} ended: {done.stderr[-300:]}", next_step="leave it out with --systems, or mend its environment")
    return json.loads(done.stdout)


def measured(folder: Path, systems: Sequence[str], work: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Of each format and reader: facts, those that are right, CPU seconds and the largest memory in MB."""
    facts, module = facts_of(folder), scorer(folder)
    by_kind = defaultdict[str, list[Path]](list)
    for name in sorted(facts):
        by_kind[suffix(name)].append(folder / "files" / name)
    rows = defaultdict[str, dict[str, dict[str, Any]]](dict)
    for system in systems:
        python = python_of(system, work)
        for kind, files in by_kind.items():
            if kind not in ONLY.get(system, {kind}):
                continue
            out = work / "texts" / system
            out.mkdir(parents=True, exist_ok=True)
            told = read_all(system, python, files, out)
            texts = {path.name: out / f"{path.name}.txt" for path in files if path.name not in told["errors"]}
            rows[kind][system] = {
                "files": len(files),
                "unread": len(told["errors"]),
                "facts": sum(len(facts[path.name]) for path in files),
                "right": sum(right(module, facts[name], text.read_text(encoding="utf-8")) for name, text in texts.items()),
                "cpu_s": round(sum(told["cpu_s"].values()), 2),
                "loaded_mb": told["loaded_mb"],
                "peak_mb": told["peak_mb"],
            }
    return dict(rows)


def table(rows: Mapping[str, Mapping[str, Mapping[str, Any]]], systems: Sequence[str]) -> str:
    """Facts that are right, by format and reader; then CPU seconds and peak memory."""
    lines = ["| format | facts | " + " | ".join(systems) + " |", "| --- " * (2 + len(systems)) + "|"]
    for kind in sorted(rows):
        of = rows[kind]
        cells = (f"{of[one]['right']} ({of[one]['cpu_s']} s, {of[one]['peak_mb']} MB)" if one in of else "–" for one in systems)
        lines.append(f"| {kind[1:]} | {max(one['facts'] for one in of.values())} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(
    folder: Annotated[Path, typer.Argument(help="Files with facts: facts.jsonl, files/ and score.py.", exists=True, file_okay=False)],
    systems: Annotated[str, typer.Option(help="Readers, with commas between them.")] = ",".join(reading_process.SYSTEMS),
    work: Annotated[Path | None, typer.Option(help="Where environments and texts are kept; default: a temporary folder.")] = None,
    out: Annotated[Path, typer.Option(help="Where the result is written.")] = RESULT,
) -> None:
    """Read all files with each reader; print and write what it found and what it cost."""
    chosen = [one for one in systems.split(",") if one]
    if strange := [one for one in chosen if one not in reading_process.SYSTEMS]:
        raise typer.BadParameter(f"there is no reader {strange[0]}; there are {', '.join(reading_process.SYSTEMS)}")
    with tempfile.TemporaryDirectory() as temporary:
        rows = measured(folder, chosen, work or Path(temporary))
    every = {one: [of[one] for of in rows.values() if one in of] for one in chosen}
    totals = {one: (sum(row["right"] for row in of), sum(row["facts"] for row in of)) for one, of in every.items()}
    result = {
        **code(),
        "machine": machine(),
        "by_format": rows,
        "all": {one: {"right": good, "facts": n, "interval": wilson_interval(good / max(n, 1), n)} for one, (good, n) in totals.items()},
    }
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    typer.echo(table(rows, chosen))
    for one, (good, n) in totals.items():
        typer.echo(f"{one}: {good} of {n} ({good / max(n, 1):.1%})")


if __name__ == "__main__":
    sys.exit(typer.run(main))
